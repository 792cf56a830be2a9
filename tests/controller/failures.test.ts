/** How failures of keys are told: the first in full, equal ones ever more rarely, echoes not at all. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TerminalError } from '../../lib/core/errors.ts'
import type { WriteRecord } from '../../lib/client/client.ts'
import { foldFailures } from '../../lib/controller/failures.ts'
import type { Disposition } from '../../lib/controller/result.ts'
import type { Run } from '../../lib/controller/run.ts'
import type { Log, LogFields } from '../../lib/observe/log.ts'
import { keptLog, pod } from '../cache/scripted_server.ts'
import { controlling } from './controlling.ts'

const status = (result: WriteRecord['result']): WriteRecord => ({
  verb: 'status',
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

test('equal failures of a key are told again when their number has doubled', () => {
  const told = foldFailures()
  const all = Array.from({ length: 20 }, () => told('a', retry()))
  assert.equal(all[0], 'new')
  assert.deepEqual(all.flatMap((each, index) => (each === 'again' ? [index] : [])), [1, 2, 4, 8, 16])
  assert.ok(all.slice(1).every((each) => each !== 'new'))
})

test('a failure is told each time when the next try is 10 s or more away', () => {
  const told = foldFailures()
  for (let i = 0; i < 10; i++) told('a', retry())
  assert.deepEqual([9999, 10_000, 1_000_000, 9999].map((ms) => told('a', retry('no', ms))), [
    undefined,
    'again',
    'again',
    undefined,
  ])
})

test('another message, another key, and a failure after a success are new', () => {
  const told = foldFailures()
  let failures = 2
  assert.deepEqual([told('a', retry()), told('a', retry('never')), told('b', retry('never'))], ['new', 'new', 'new'])
  for (
    const success of [
      done,
      ended({ kind: 'later', ms: 5, priority: undefined, label: 'requeue_after' }),
      ended({ kind: 'requeue', priority: undefined, label: 'requeue' }, 5),
    ]
  ) {
    assert.deepEqual(told('a', success), { failures })
    assert.equal(told('a', success), undefined)
    assert.equal(told('a', retry('never')), 'new')
    failures = 1
  }
  assert.equal(told('b', retry('never')), 'again', 'the success was of another key')
})

test('a failure that is not retried is not told again for the run that its own status led to', () => {
  const told = foldFailures()
  assert.equal(told('a', drop('no', [status('changed')])), 'new')
  assert.equal(told('a', drop('no', [status('unchanged')])), undefined)
  assert.equal(
    told('a', drop('no', [status('unchanged')])),
    'again',
    'that run wrote nothing, so something else has changed',
  )
  assert.equal(told('b', drop()), 'new')
  assert.equal(told('b', drop()), 'again', 'nothing was written')
  assert.equal(told('b', drop('no', [status('changed')])), 'again')
  assert.equal(told('e', drop('no', [status('changed')])), 'new')
  assert.equal(told('e', drop('no', [status('changed')])), 'again', 'a run that writes is no echo')
  assert.equal(told('c', drop('no', [status('changed')])), 'new')
  assert.equal(told('c', drop('other', [status('unchanged')])), 'new')
  assert.equal(told('d', retry('no', 5, [status('changed')])), 'new')
  assert.equal(told('d', retry()), 'again', 'a retry is told with its next try')
})

test('a bounded number of failing keys is remembered, those that ran last', () => {
  const told = foldFailures()
  for (let i = 0; i < 10_000; i++) told(`${i}`, retry())
  assert.equal(told('0', retry()), 'again')
  assert.equal(told('more', retry()), 'new')
  assert.equal(told('1', retry()), 'new', 'it was forgotten')
  assert.equal(told('0', retry()), 'again')
})

test('a success is told with the failures before it: of a key that is remembered, whose object exists, and only once', () => {
  const told = foldFailures()
  for (let i = 0; i < 3; i++) told('a', retry())
  told('a', retry('other'))
  assert.deepEqual([told('a', done), told('a', done), told('never failed', done)], [
    { failures: 4 },
    undefined,
    undefined,
  ])
  told('a', drop('no', [status('changed')]))
  told('a', drop('no', [status('unchanged')]))
  assert.deepEqual(told('a', done), { failures: 1 }, 'the second was an echo')
  told('a', retry())
  assert.equal(told('a', ended({ kind: 'forget', label: 'success', isGone: true })), undefined)
  assert.equal(told('a', done), undefined)
  for (let i = 0; i < 10_001; i++) told(`${i}`, retry())
  assert.deepEqual([told('0', done), told('1', done)], [undefined, { failures: 1 }])
})

test('nothing is told of the recovery of a key whose failures were not; a failure that comes through later is new', () => {
  let isOpen = false
  const told = foldFailures(() => isOpen)
  for (let i = 0; i < 3; i++) assert.equal(told('a', retry()), undefined)
  isOpen = true
  assert.equal(told('a', done), undefined)
  isOpen = false
  for (let i = 0; i < 2; i++) told('a', retry())
  isOpen = true
  assert.equal(told('a', retry()), 'new')
  isOpen = false
  assert.equal(told('a', retry('other')), undefined)
  isOpen = true
  assert.deepEqual(told('a', done), { failures: 4 })
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

test('the log has the error with its stack once, then one line each with the next try', async () => {
  const { lines, log } = keptErrors()
  const c = controlling({ pods: [pod('a', '1')], log, reconcile: () => Promise.reject(new Error('mine')) })
  await c.start()
  await c.clock.advance(5000)
  assert.deepEqual(lines.map(({ message }) => message), [
    'Cannot reconcile Pod "default/a": mine (retry 1 in 5 ms)',
    'Cannot reconcile Pod "default/a": mine (retry 2 in 10 ms)',
    'Cannot reconcile Pod "default/a": mine (retry 3 in 20 ms)',
    'Cannot reconcile Pod "default/a": mine (retry 5 in 80 ms)',
    'Cannot reconcile Pod "default/a": mine (retry 9 in 1.3 s)',
  ])
  assert.deepEqual(lines.map(({ fields }) => [fields['attempt'], 'error' in fields]), [
    [1, true],
    [2, false],
    [3, false],
    [5, false],
    [9, false],
  ])
  for (const { fields } of lines) {
    assert.deepEqual([fields['controller'], fields['kind'], fields['namespace'], fields['name']], [
      'test',
      'Pod',
      'default',
      'a',
    ])
  }
  lines.length = 0
  await c.clock.advance(60_000)
  assert.deepEqual(lines.map(({ fields }) => fields['attempt']), [12, 13, 14], 'waits of 10 s and more')
  await c.end()
})

test('a TerminalError after a status write is logged once, though that write leads to a second run; and again when something changes', async () => {
  const { lines, log } = keptErrors()
  let runs = 0
  const c = controlling({
    pods: [pod('a', '1')],
    log,
    reconcile: async ({ onWrite }: Run) => {
      onWrite!(status(runs++ === 0 ? 'changed' : 'unchanged'))
      throw new TerminalError('wrong')
    },
  })
  await c.start()
  c.stream.send('MODIFIED', pod('a', '6'))
  await c.settle()
  assert.equal(runs, 2)
  assert.deepEqual(lines.map(({ message }) => message), ['Cannot reconcile Pod "default/a": wrong (not retried)'])
  c.stream.send('MODIFIED', pod('a', '7'))
  await c.settle()
  assert.equal(runs, 3)
  assert.equal(lines.length, 2)
  await c.end()
})

/** A controller of so many pods, all of which fail as `fail` says for as long as it says something. */
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

test('a key that works again says so once, after how many failures', async () => {
  let isDown = true
  const c = failing(1, () => isDown ? 'broken' : undefined)
  await c.start()
  await c.clock.advance(20_000)
  isDown = false
  c.took()
  await c.clock.advance(20_000)
  assert.deepEqual(c.took(), ['info Pod "default/p0" works again after 2 failures'])
  c.stream.send('MODIFIED', pod('p0', '6'))
  await c.settle()
  assert.deepEqual(c.took(), [])
  await c.end()
})

test('many keys that fail for one reason: five lines, and one for the others at the end of 10 s', async () => {
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
  // Each period anew: first those that have a line already, in short.
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
  // Of the others nothing was said.
  assert.deepEqual(c.took(), [0, 1, 2, 3, 4].map((at) => `info Pod "default/p${at}" works again after 2 failures`))
  await c.end()
})

test('failures for another reason, and those of one key alone, are not folded', async () => {
  const c = failing(12, (name) => `broken ${Number(name.slice(1)) % 3}`)
  await c.start()
  assert.equal(c.took().length, 12, 'four each')
  await c.end()
  const { lines, log } = keptLog()
  let runs = 0
  const one = controlling({
    pods: [pod('a', '1')],
    log,
    backoff: { baseMs: 1, maxMs: 1 },
    reconcile: () => Promise.reject(new Error(`broken${'!'.repeat(++runs % 2)}`)),
  })
  await one.start()
  await one.clock.advance(20)
  assert.ok(lines.filter((line) => line.startsWith('error')).length > 15, lines.join('\n'))
  await one.end()
})

test('recoveries of many keys are folded too, and what is counted at the stop is said then', async () => {
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
