/** How failures of keys are logged: the first in full, equal ones less and less often, echoes not at all. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TerminalError } from '../../lib/core/errors.ts'
import type { WriteRecord } from '../../lib/client/client.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { FailureLog, foldFailures } from '../../lib/controller/failures.ts'
import type { Disposition } from '../../lib/controller/result.ts'
import type { Log, LogFields } from '../../lib/observe/log.ts'
import { keptLog, pod } from '../cache/scripted_server.ts'
import { controlling } from './fixture.ts'

const status = (result: WriteRecord['result']): WriteRecord => ({
  verb: 'status',
  group: '',
  kind: 'Pod',
  key: 'default/a',
  result,
})
const ended = (disposition: Disposition, retryInMs?: number, writes: WriteRecord[] = []) => ({
  disposition,
  retryInMs,
  writes,
})
const retry = (message = 'no', retryInMs = 5, writes: WriteRecord[] = []) =>
  ended({ kind: 'retry', error: new Error(message), priority: undefined, label: 'error' }, retryInMs, writes)
const drop = (message = 'no', writes: WriteRecord[] = []) =>
  ended({ kind: 'drop', error: new TerminalError(message), label: 'error' }, undefined, writes)
const done = ended({ kind: 'forget', label: 'success' })

test('equal failures of a key are logged again when their number has doubled', () => {
  const fold = foldFailures()
  const all = Array.from({ length: 20 }, () => fold('a', retry()))
  assert.equal(all[0], 'new')
  assert.deepEqual(all.flatMap((each, index) => (each === 'again' ? [index] : [])), [1, 2, 4, 8, 16])
  assert.ok(all.slice(1).every((each) => each !== 'new'))
})

test('each failure is logged if the next try is 10 s or more away', () => {
  const fold = foldFailures()
  for (let i = 0; i < 10; i++) fold('a', retry())
  assert.deepEqual(
    [9999, 10_000, 1_000_000, 9999].map((ms) => fold('a', retry('no', ms))),
    [undefined, 'again', 'again', undefined],
  )
})

test('another message, another key, and a failure after a success are new', () => {
  const fold = foldFailures()
  let failures = 2
  assert.deepEqual([fold('a', retry()), fold('a', retry('never')), fold('b', retry('never'))], ['new', 'new', 'new'])
  for (
    const success of [
      done,
      ended({ kind: 'later', ms: 5, priority: undefined, label: 'requeue_after' }),
      ended({ kind: 'requeue', priority: undefined, label: 'requeue' }, 5),
    ]
  ) {
    assert.deepEqual(fold('a', success), { failures })
    assert.equal(fold('a', success), undefined)
    assert.equal(fold('a', retry('never')), 'new')
    failures = 1
  }
  assert.equal(fold('b', retry('never')), 'again', 'the success was of another key')
})

test('a failure without retry is not logged again for the run caused by its own status write', () => {
  const fold = foldFailures()
  assert.equal(fold('a', drop('no', [status('changed')])), 'new')
  assert.equal(fold('a', drop('no', [status('unchanged')])), undefined)
  assert.equal(
    fold('a', drop('no', [status('unchanged')])),
    'again',
    'that run wrote nothing, so something else has changed',
  )
  assert.equal(fold('b', drop()), 'new')
  assert.equal(fold('b', drop()), 'again', 'nothing was written')
  assert.equal(fold('b', drop('no', [status('changed')])), 'again')
  assert.equal(fold('e', drop('no', [status('changed')])), 'new')
  assert.equal(fold('e', drop('no', [status('changed')])), 'again', 'a run that writes is no echo')
  assert.equal(fold('c', drop('no', [status('changed')])), 'new')
  assert.equal(fold('c', drop('other', [status('unchanged')])), 'new')
  assert.equal(fold('d', retry('no', 5, [status('changed')])), 'new')
  assert.equal(fold('d', retry()), 'again', 'a retry is logged with its next try')
})

test('a limited number of failing keys is stored, those that ran last', () => {
  const fold = foldFailures()
  for (let i = 0; i < 10_000; i++) fold(`${i}`, retry())
  assert.equal(fold('0', retry()), 'again')
  assert.equal(fold('more', retry()), 'new')
  assert.equal(fold('1', retry()), 'new', 'it was forgotten')
  assert.equal(fold('0', retry()), 'again')
})

test('a success after failures is logged once, with their number, if the key is stored and its object exists', () => {
  const fold = foldFailures()
  for (let i = 0; i < 3; i++) fold('a', retry())
  fold('a', retry('other'))
  assert.deepEqual(
    [fold('a', done), fold('a', done), fold('never failed', done)],
    [{ failures: 4 }, undefined, undefined],
  )
  fold('a', drop('no', [status('changed')]))
  fold('a', drop('no', [status('unchanged')]))
  assert.deepEqual(fold('a', done), { failures: 1 }, 'the second was an echo')
  fold('a', retry())
  assert.equal(fold('a', ended({ kind: 'forget', label: 'success', isGone: true })), undefined)
  assert.equal(fold('a', done), undefined)
  for (let i = 0; i < 10_001; i++) fold(`${i}`, retry())
  assert.deepEqual([fold('0', done), fold('1', done)], [undefined, { failures: 1 }])
})

test('the recovery of a key without logged failures is not logged; its first logged failure is new', () => {
  let isOpen = false
  const fold = foldFailures(() => isOpen)
  for (let i = 0; i < 3; i++) assert.equal(fold('a', retry()), undefined)
  isOpen = true
  assert.equal(fold('a', done), undefined)
  isOpen = false
  for (let i = 0; i < 2; i++) fold('a', retry())
  isOpen = true
  assert.equal(fold('a', retry()), 'new')
  isOpen = false
  assert.equal(fold('a', retry('other')), undefined)
  isOpen = true
  assert.deepEqual(fold('a', done), { failures: 4 })
})

interface Line {
  readonly message: string
  readonly fields: LogFields
}

function keptErrors(): { lines: Line[]; log: Log } {
  const lines: Line[] = []
  return {
    lines,
    log: { debug() {}, info() {}, warn() {}, error: (message, fields = {}) => void lines.push({ message, fields }) },
  }
}

test('the log has the error with its stack once, then one line per failure with the next try', async () => {
  const { lines, log } = keptErrors()
  await using c = controlling({ pods: [pod('a', '1')], log, reconcile: () => Promise.reject(new Error('mine')) })
  await c.start()
  await c.clock.advance(5000)
  assert.deepEqual(lines.map(({ message }) => message), [
    'Cannot reconcile Pod "default/a": mine (retry 1 in 5 ms)',
    'Cannot reconcile Pod "default/a": mine (retry 2 in 10 ms)',
    'Cannot reconcile Pod "default/a": mine (retry 3 in 20 ms)',
    'Cannot reconcile Pod "default/a": mine (retry 5 in 80 ms)',
    'Cannot reconcile Pod "default/a": mine (retry 9 in 1.3 s)',
  ])
  assert.deepEqual(
    lines.map(({ fields }) => [fields['attempt'], 'error' in fields]),
    [[1, true], [2, false], [3, false], [5, false], [9, false]],
  )
  for (const { fields } of lines) {
    assert.deepEqual(
      [fields['controller'], fields['kind'], fields['namespace'], fields['name']],
      ['test', 'Pod', 'default', 'a'],
    )
  }
  lines.length = 0
  await c.clock.advance(60_000)
  assert.deepEqual(lines.map(({ fields }) => fields['attempt']), [12, 13, 14], 'waits of 10 s and more')
})

/** Returns a controller of `count` pods, which fail with the result of `fail` until it is undefined. */
function failing(count: number, fail: (name: string) => string | undefined) {
  const { lines, log } = keptLog()
  const names = Array.from({ length: count }, (_, at) => `p${at}`)
  const c = controlling({
    pods: names.map((name) => pod(name, '1')),
    log,
    concurrency: count,
    backoff: { baseMs: 20_000, maxMs: 20_000 },
    reconcile: ({ key }) => {
      const message = fail(key.name)
      return message === undefined ? Promise.resolve() : Promise.reject(new Error(message))
    },
  })
  return { ...c, took: () => lines.splice(0).filter((line) => !line.startsWith('debug')) }
}

test('many keys that fail for one reason cause five lines, and one for the others after 10 s', async () => {
  let isDown = true
  const c = failing(25, (name) => isDown ? `Cannot apply ConfigMap "default/${name}-data": no way\nto go` : undefined)
  await c.start()
  assert.deepEqual(
    c.took(),
    [0, 1, 2, 3, 4].map((at) =>
      `error Cannot reconcile Pod "default/p${at}": Cannot apply ConfigMap "default/p${at}-data": no way\nto go (retry 1 in 20 s)`
    ),
  )
  await c.clock.advance(9999)
  assert.deepEqual(c.took(), [])
  await c.clock.advance(1)
  const more = 'error 20 more keys of Pod failed for the same reason, the last one "default/p24": '
  assert.deepEqual(c.took(), [`${more}Cannot apply ConfigMap "default/p24-data": no way …`])
  // A new period: first the keys that had a line before, in short.
  await c.clock.advance(10_000)
  assert.deepEqual(
    c.took(),
    [0, 1, 2, 3, 4].map((at) =>
      `error Cannot reconcile Pod "default/p${at}": Cannot apply ConfigMap "default/p${at}-data": no way … (retry 2 in 20 s)`
    ),
  )
  isDown = false
  await c.clock.advance(10_000)
  assert.equal(c.took().length, 1)
  await c.clock.advance(10_000)
  // Nothing was logged for the others.
  assert.deepEqual(c.took(), [0, 1, 2, 3, 4].map((at) => `info Pod "default/p${at}" works again after 2 failures`))
  await c.end()
})

test('the keys of a new period have lines of their own, also after one without a count', async () => {
  const broken = new Set(['p0', 'p1', 'p2', 'p3', 'p4'])
  const c = failing(7, (name) => broken.has(name) ? 'broken' : undefined)
  await c.start()
  assert.equal(c.took().length, 5)
  await c.clock.advance(10_000)
  broken.add('p5')
  c.stream.send('MODIFIED', pod('p5', '6'))
  await c.settle()
  assert.deepEqual(c.took(), ['error Cannot reconcile Pod "default/p5": broken (retry 1 in 20 s)'])
  await c.end()
})

test('failures for another reason, and those of a single key, are all logged', async () => {
  const c = failing(12, (name) => `broken ${Number(name.slice(1)) % 3}`)
  await c.start()
  assert.equal(c.took().length, 12, 'four each')
  await c.end()
  const { lines, log } = keptLog()
  let runs = 0
  await using one = controlling({
    pods: [pod('a', '1')],
    log,
    backoff: { baseMs: 1, maxMs: 1 },
    reconcile: () => Promise.reject(new Error(`broken${'!'.repeat(++runs % 2)}`)),
  })
  await one.start()
  await one.clock.advance(20)
  assert.ok(lines.filter((line) => line.startsWith('error')).length > 15, lines.join('\n'))
})

test('keys that fail for one reason have no more than five lines in a period, and 10,000 are counted', () => {
  const { lines, log } = keptLog()
  const failures = new FailureLog('Pod', new FakeClock(), log)
  const disposition = { kind: 'retry', error: new Error('broken'), priority: undefined, label: 'error' } as const
  const fails = (key: string, attempt: number): void => {
    failures.ended({ kind: 'Pod', key, attempt, disposition, retryInMs: 20_000, writes: [] }, log)
  }
  for (let attempt = 1; attempt <= 10; attempt++) for (const key of ['default/a', 'default/b']) fails(key, attempt)
  assert.equal(lines.length, 5, lines.join('\n'))
  for (let at = 0; at < 10_010; at++) fails(`default/more-${at}`, 1)
  fails('default/more-7', 2)
  failures.stop()
  const last = '10000 more keys of Pod failed for the same reason, the last one "default/more-7": broken'
  assert.deepEqual(lines.slice(5), [`error ${last}`])
})

test('recoveries of many keys are counted too, and the count is logged at the stop', async () => {
  const messages = new Map<string, string | undefined>()
  const c = failing(8, (name) => messages.get(name))
  for (let at = 0; at < 8; at++) messages.set(`p${at}`, `broken ${at % 2 === 0 ? 'one way' : 'the other way'}`)
  await c.start()
  assert.equal(c.took().length, 8)
  messages.clear()
  await c.clock.advance(20_000)
  assert.deepEqual(c.took(), [0, 1, 2, 3, 4].map((at) => `info Pod "default/p${at}" works again after 1 failure`))
  await c.end()
  assert.deepEqual(c.took(), ['info 3 more keys of Pod work again'])
})
