import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../lib/core/objects.ts'
import { OwnWritesState, type Unclear } from '../../lib/cache/own_writes_state.ts'
import { isNewerVersion } from '../../lib/core/objects.ts'
import { pod } from './scripted_server.ts'

const KEY = 'default/a'
const MINUTE = 60_000

/** A store with one key and its own writes: `a@5` is uid-a at version 5. */
function knowing(stored?: string, seen?: string) {
  const store = new Map<string, KubeObject>()
  const own = new OwnWritesState<KubeObject>((key) => store.get(key))
  const put = (text: string | undefined): void =>
    void (text === undefined ? store.delete(KEY) : store.set(KEY, at(text)))
  put(stored)
  if (seen !== undefined) own.listed(seen, 0, 0)
  return {
    own,
    get shown() {
      const shown = own.shown(KEY, store.get(KEY))?.metadata
      return shown && `${shown.uid}@${shown.resourceVersion}`
    },
    answered: (text: string, nowMs = 0) => own.answered(KEY, at(text), at(text), nowMs),
    hidden: (uid: string, version?: string) =>
      own.hidden(own.begin(KEY), KEY, { uid, ...(version !== undefined && { version }) }, 0),
    applied: (text: string) => {
      put(text)
      own.seen(KEY, at(text).metadata.resourceVersion)
    },
    deleted: (text: string) => {
      put(undefined)
      const { uid, resourceVersion } = at(text).metadata
      own.deleted(KEY, uid, resourceVersion)
    },
    listed: (version: string, text?: string, beganMs = 0) => {
      put(text)
      own.listed(version, beganMs, beganMs)
    },
  }
}

function at(text: string): KubeObject {
  const [uid, version] = text.split('@')
  return pod('a', version!, { uid: uid! })
}

type Known = ReturnType<typeof knowing>

/** The store has a@5 at version 8, and an own write was answered with a@10. Then: */
const AFTER_ANSWER: readonly (readonly [string, (k: Known) => void, string | undefined, number])[] = [
  ['nothing', () => {}, 'a@10', 1],
  ['an older event of it', (k) => k.applied('a@9'), 'a@10', 1],
  ['the event', (k) => k.applied('a@10'), 'a@10', 0],
  ['a later change by another', (k) => k.applied('a@12'), 'a@12', 0],
  ["another's deletion", (k) => k.deleted('a@11'), undefined, 0],
  ['an event of another object, older', (k) => k.own.seen('default/b', '9'), 'a@10', 1],
  ['an event of another object, newer', (k) => k.own.seen('default/b', '11'), 'a@5', 0],
  ['an older bookmark', (k) => k.own.bookmark('9', 0), 'a@10', 1],
  ['a bookmark at it', (k) => k.own.bookmark('10', 0), 'a@5', 0],
  ['an older list', (k) => k.listed('9', 'a@5'), 'a@10', 1],
  ['an older list without it', (k) => k.listed('9'), 'a@10', 1],
  ['a newer list', (k) => k.listed('14', 'a@13'), 'a@13', 0],
  ['a newer list without it', (k) => k.listed('14'), undefined, 0],
  ['an answer that is older', (k) => k.answered('a@9'), 'a@10', 1],
  ['an answer that is newer', (k) => k.answered('a@13'), 'a@13', 1],
  ['an answer about a successor', (k) => k.answered('b@13'), 'b@13', 1],
  ['its deletion', (k) => k.own.gone(k.own.begin(KEY), 'a', 0), undefined, 2],
  ['its deletion, answered without a uid', (k) => k.own.gone(k.own.begin(KEY), undefined, 0), undefined, 2],
  [
    'its deletion and an older list of its predecessor',
    (k) => (k.own.gone(k.own.begin(KEY), 'a', 0), k.listed('9', 'z@9')),
    undefined,
    2,
  ],
  ['the end of the informer', (k) => k.own.clear(), 'a@5', 0],
]

for (const [what, does, shown, size] of AFTER_ANSWER) {
  test(`an answer above what was seen, then ${what}: ${shown ?? 'nothing'} is read`, () => {
    const k = knowing('a@5', '8')
    k.answered('a@10')
    does(k)
    assert.deepEqual([k.shown, k.own.size], [shown, size])
  })
}

/** The store has a@5 at version 8, and an own delete was answered with the end of a. Then: */
const AFTER_DELETION: readonly (readonly [string, (k: Known) => void, string | undefined, number])[] = [
  ['nothing', () => {}, undefined, 1],
  ['an older change of it', (k) => k.applied('a@9'), undefined, 1],
  ['its DELETED event', (k) => k.deleted('a@10'), undefined, 0],
  ['its DELETED event and a successor', (k) => (k.deleted('a@10'), k.applied('b@11')), 'b@11', 0],
  ['a late answer about it', (k) => k.answered('a@9'), undefined, 2],
  ['an answer about a successor', (k) => k.answered('b@12'), 'b@12', 2],
  ['a list with it', (k) => k.listed('9', 'a@9'), undefined, 1],
  ['a list with it that began after the answer, as etcd was restored', (k) => k.listed('12', 'a@5', 1), 'a@5', 0],
  ['a list without it', (k) => k.listed('12'), undefined, 0],
  ['a list with a successor', (k) => k.listed('12', 'b@11'), 'b@11', 0],
  ['a bookmark', (k) => k.own.bookmark('9', 4 * MINUTE), undefined, 1],
  ['a bookmark much later', (k) => k.own.bookmark('9', 6 * MINUTE), 'a@5', 0],
]

for (const [what, does, shown, size] of AFTER_DELETION) {
  test(`a deletion, then ${what}: ${shown ?? 'nothing'} is read`, () => {
    const k = knowing('a@5', '8')
    k.own.gone(k.own.begin(KEY), 'a', 0)
    does(k)
    assert.deepEqual([k.shown, k.own.size], [shown, size])
  })
}

/** The store has a@5 at version 8, and an own write was answered without the object: of a at 10, or of an unknown state. Then: */
const AFTER_HIDDEN: readonly (readonly [string, (k: Known) => void, whenKnown: boolean, whenUnknown: boolean])[] = [
  ['nothing', () => {}, true, true],
  ['an older event of it', (k) => k.applied('a@9'), true, true],
  ['the event', (k) => k.applied('a@10'), false, true],
  ['its DELETED event', (k) => k.deleted('a@9'), false, false],
  ['the DELETED event of a predecessor', (k) => k.deleted('z@9'), true, true],
  ['a newer event of another object', (k) => k.own.seen('default/b', '10'), false, true],
  ['a bookmark', (k) => k.own.bookmark('9', 4 * MINUTE), true, true],
  ['a bookmark much later', (k) => k.own.bookmark('9', 6 * MINUTE), false, false],
  ['an older list', (k) => k.listed('9', 'a@9'), true, true],
  ['two older lists', (k) => (k.listed('9', 'a@9'), k.listed('9', 'a@9')), true, true],
  ['a list that began after the answer', (k) => k.listed('9', 'a@9', 1), false, false],
  ['a newer list', (k) => k.listed('10', 'a@10'), false, true],
  ['an older answer', (k) => k.answered('a@9'), true, true],
  ['a newer answer', (k) => k.answered('a@11'), false, true],
  ['another such answer of an older version', (k) => k.hidden('a', '9'), true, true],
  [
    'another such answer of a newer version, and the first event',
    (k) => (k.hidden('a', '12'), k.applied('a@10')),
    true,
    true,
  ],
  [
    'such answers of a successor and late of it, and its DELETED event',
    (k) => (k.hidden('b', '12'), k.hidden('a', '9'), k.deleted('a@9')),
    true,
    true,
  ],
  ['the end of the informer', (k) => k.own.clear(), false, false],
]

for (const [what, does, whenKnown, whenUnknown] of AFTER_HIDDEN) {
  test(`an answer without the object, then ${what}: it is read from the server ${whenKnown}, without a version ${whenUnknown}`, () => {
    for (const [version, unclear] of [['10', whenKnown], [undefined, whenUnknown]] as const) {
      const k = knowing('a@5', '8')
      k.hidden('a', version)
      does(k)
      assert.equal(k.own.unclear({ key: KEY }) !== undefined, unclear, `version ${version}`)
    }
  })
}

test('a read of an unclear key is shown until the watch has reached it, also if there is no object', () => {
  for (const found of ['a@10', undefined]) {
    const k = knowing('a@5', '8')
    k.hidden('a')
    const [[, unclear]] = k.own.unclear({})! as unknown as [[string, Unclear]]
    k.hidden('a')
    k.own.settled(KEY, unclear, { version: '12' }, 0)
    assert.ok(k.own.unclear({}), 'it was written again since the read began')
    const object = found === undefined ? {} : { object: at(found), kept: at(found) }
    k.own.settled(KEY, k.own.unclear({})!.get(KEY)!, { version: '12', ...object }, 0)
    assert.deepEqual([k.shown, k.own.unclear({})], [found, undefined])
    k.applied('a@9')
    assert.equal(k.shown, found)
    k.own.gone(k.own.begin('default/b'), 'b', 0)
    const before = k.own.size
    k.own.gone(k.own.begin(KEY), 'a', 0)
    assert.equal(k.own.size, before + 1, 'a read that found nothing is no object that can be gone')
    k.own.seen('default/b', '12')
    assert.equal(k.own.shown(KEY, at('z@9'))?.metadata.uid, 'z')
  }
})

test('an answer without the object marks nothing if the watch was faster', () => {
  const k = knowing('a@5', '8')
  const write = k.own.begin(undefined)
  k.deleted('a@10')
  k.own.hidden(write, KEY, { uid: 'a' }, 0)
  k.own.hidden(write, KEY, { uid: 'b', version: '9' }, 0)
  assert.equal(k.own.unclear({}), undefined)
})

test('a list that is older than what was seen, as after a restore of etcd, ends all own writes', () => {
  const k = knowing('a@50', '80')
  k.answered('a@100')
  k.own.gone(k.own.begin('default/b'), 'b', 0)
  k.hidden('a')
  k.listed('80', 'a@50')
  assert.equal(k.own.size, 2)
  k.listed('79', 'a@50')
  assert.deepEqual([k.shown, k.own.size, k.own.unclear({})], ['a@50', 0, undefined])
})

test('own objects that neither the store nor a list has are lost, unless the list is older than them', () => {
  const lost = (version: string, then?: string, stored?: string): readonly string[] => {
    const k = knowing(stored, '8')
    k.answered('b@10')
    const list = new Map(then === undefined ? [] : [[KEY, at(then)]])
    const found = k.own.lost(list, version).map(({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`)
    k.listed(version, then)
    assert.deepEqual(k.own.lost(list, String(Number(version) + 1)), [], 'once')
    return found
  }
  assert.deepEqual(lost('12'), ['b@10'])
  assert.deepEqual(lost('10'), ['b@10'])
  // Another object has its name, in the list or in the store.
  assert.deepEqual(lost('12', 'c@11'), ['b@10'])
  assert.deepEqual(lost('12', undefined, 'a@5'), ['b@10'])
  assert.deepEqual(lost('12', 'b@10'), [])
  assert.deepEqual(lost('12', 'b@11'), [])
  // Its deletion is one of the store.
  assert.deepEqual(lost('12', undefined, 'b@5'), [])
  // The server was restored to a state before the write.
  assert.deepEqual(lost('7'), ['b@10'])
  // A read has found that it is gone, or it is no longer selected.
  for (
    const does of [
      (k: Known) => {
        k.hidden('b')
        k.own.settled(KEY, k.own.unclear({})!.get(KEY)!, { version: '12' }, 0)
      },
      (k: Known) => k.own.answered(KEY, at('b@12'), undefined, 0),
    ]
  ) {
    const k = knowing(undefined, '8')
    k.answered('b@10')
    does(k)
    assert.equal(k.shown, undefined)
    assert.deepEqual(k.own.lost(new Map(), '11'), [])
    assert.deepEqual(k.own.lost(new Map(), '12'), [at('b@10')])
  }
  const k = knowing(undefined, '8')
  k.answered('b@10')
  assert.deepEqual(k.own.lost(new Map(), '9'), [])
  // The watch has passed the write.
  k.own.seen('default/b', '11')
  assert.deepEqual(k.own.lost(new Map(), '12'), [])
})

test('unclear keys are found by key and by namespace, and at most 50,000 are kept', () => {
  const own = new OwnWritesState<KubeObject>(() => undefined)
  for (const key of ['one/a', 'one/b', 'onetwo/a', 'a']) own.hidden(own.begin(key), key, {}, 0)
  const keys = (of: Parameters<typeof own.unclear>[0]): string => [...own.unclear(of)?.keys() ?? []].join()
  assert.deepEqual(
    [{ namespace: 'one' }, { key: 'one/b' }, { key: 'one/c' }, {}].map(keys),
    ['one/a,one/b', 'one/b', '', 'one/a,one/b,onetwo/a,a'],
  )
  for (let n = 0; n < 50_010; n++) own.hidden(own.begin('x'), `x/${n}`, {}, 0)
  assert.equal(own.unclear({})!.size, 50_000)
})

test('a deletion whose event came before its answer stores nothing', () => {
  const k = knowing('a@5', '8')
  const write = k.own.begin(KEY)
  k.deleted('a@10')
  k.own.gone(write, 'a', 0)
  k.own.end(write)
  assert.equal(k.own.size, 0)
  // One that has ended is not kept: it learns of no further deletion.
  k.deleted('b@11')
  assert.deepEqual([...write.ended], ['a'])
})

test('a deletion whose list came before its answer stores nothing, unless the list was older than the object', () => {
  const k = knowing('a@5', '8')
  const write = k.own.begin(KEY)
  k.listed('12')
  k.own.gone(write, 'a', 0)
  assert.equal(k.own.size, 0)

  const fresh = knowing(undefined, '8')
  fresh.answered('a@10')
  const later = fresh.own.begin(KEY)
  fresh.listed('9')
  fresh.own.gone(later, 'a', 0)
  assert.deepEqual([fresh.shown, fresh.own.size], [undefined, 2])
  fresh.applied('a@10')
  assert.equal(fresh.shown, undefined, 'its ADDED event does not bring it back')
  fresh.deleted('a@11')
  assert.equal(fresh.own.size, 0)
})

test('an object that is created during the delete does not count as deleted', () => {
  const k = knowing('a@5', '8')
  const write = k.own.begin(KEY)
  k.answered('b@11')
  k.own.gone(write, 'a', 0)
  assert.equal(k.shown, 'b@11')
})

test('an older answer after a newer one also ends', () => {
  const k = knowing('a@5', '8')
  k.own.answered('default/b', pod('b', '20'), pod('b', '20'), 0)
  k.answered('a@10')
  k.own.seen('default/c', '11')
  assert.equal(k.shown, 'a@5')
  k.own.bookmark('12', 0)
  assert.equal(k.own.size, 1, 'only b is ahead')
})

test('versions that are not numbers are never newer: reads equal the store', () => {
  for (const [seen, version] of [['8', 'x10'], ['x8', '10'], ['8', '010'], ['8', '']] as const) {
    const k = knowing(undefined, seen)
    k.answered(`a@${version}`)
    assert.equal(k.own.size, 0, `${version} after ${seen}`)
  }
})

test('versions are compared as numbers of any length', () => {
  assert.ok(isNewerVersion('10', '9'))
  assert.ok(isNewerVersion('100000000000000000000000000000000000002', '100000000000000000000000000000000000001'))
  assert.ok(!isNewerVersion('99999999999999999999', '100000000000000000000'))
  assert.ok(!isNewerVersion('10', '10'))
  assert.ok(isNewerVersion('1', '0'))
  assert.ok(isNewerVersion('1', undefined))
  assert.ok(!isNewerVersion(undefined, undefined))
})

test('without a list, answers are forgotten after five minutes; without any input, the oldest above 50,000 are', () => {
  const never = knowing()
  never.answered('a@10', 0)
  never.own.answered('default/b', pod('b', '11'), pod('b', '11'), 6 * MINUTE)
  assert.equal(never.own.size, 1)

  const blind = knowing(undefined, '1')
  for (let n = 0; n < 50_010; n++) blind.own.answered(`default/${n}`, pod(`${n}`, `${n + 10}`), undefined, 0)
  assert.equal(blind.own.size, 50_000)
})

test('with a label selector, an own deletion stays hidden after a DELETED event, as the object may come back', () => {
  const store = new Map([[KEY, at('a@5')]])
  const own = new OwnWritesState<KubeObject>((key) => store.get(key), true)
  own.listed('8', 0, 0)
  own.gone(own.begin(KEY), 'a', 0)
  store.delete(KEY)
  own.deleted(KEY, 'a', '9')
  assert.equal(own.shown(KEY, at('a@10')), undefined)
  own.bookmark('20', 6 * MINUTE)
  assert.equal(own.size, 0)
})
