import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from 'kubeloop/testing'
import { changedFiles, MissedChanges, type FileTimes } from '../../lib/cli/missed_changes.ts'

interface Watcher {
  readonly clock: FakeClock
  readonly changes: MissedChanges
  save(file: string): void
  /** How often a run was to be started. */
  readonly told: () => number
  end(): Promise<void>
}

/** Asks on and on, as the runner does with each process that it starts. */
function watcher(): Watcher {
  const clock = new FakeClock()
  const files = new Map<string, number>([['operator.ts', 1], ['greeting.ts', 1]])
  const changes = new MissedChanges({ clock, look: () => Promise.resolve(new Map(files)) })
  const scope = new AbortController()
  let told = 0
  const asking = (async () => {
    for (;;) {
      await changes.next(scope.signal)
      told++
    }
  })()
  const reason = new Error('the end')
  return {
    clock, changes,
    save: (file) => void files.set(file, (files.get(file) ?? 0) + 1),
    told: () => told,
    async end() {
      scope.abort(reason)
      await assert.rejects(asking, reason)
      assert.equal(clock.pending, 0)
    },
  }
}

test('a file that changed while a run loaded starts another, once', async () => {
  const { clock, changes, save, told, end } = watcher()
  await changes.loading()
  save('greeting.ts')
  await clock.advance(3999)
  assert.equal(told(), 0)
  await clock.advance(1)
  assert.equal(told(), 1)
  await clock.advance(60_000)
  assert.equal(told(), 1)
  await end()
})

test('a run that its watcher starts in time is not started twice', async () => {
  const { clock, changes, save, told, end } = watcher()
  await changes.loading()
  save('operator.ts')
  await clock.advance(3900)
  await changes.loading()
  await clock.advance(60_000)
  assert.equal(told(), 0)
  await end()
})

test('what changes after a run has started is for its watcher to see', async () => {
  const { clock, changes, save, told, end } = watcher()
  await changes.loading()
  await clock.advance(300)
  changes.watched()
  await clock.advance(0)
  save('operator.ts')
  await clock.advance(60_000)
  assert.equal(told(), 0)
  await end()
})

test('what changed just before a run had started is noticed then', async () => {
  const { clock, changes, save, told, end } = watcher()
  await changes.loading()
  save('operator.ts')
  await clock.advance(300)
  changes.watched()
  await clock.advance(3000)
  assert.equal(told(), 1)
  await end()
})

test('a run that never starts an operator is watched after five seconds', async () => {
  const { clock, changes, save, told, end } = watcher()
  await changes.loading()
  await clock.advance(4500)
  save('operator.ts')
  await clock.advance(3500)
  assert.equal(told(), 1)
  await changes.loading()
  await clock.advance(5000)
  save('operator.ts')
  await clock.advance(60_000)
  assert.equal(told(), 1)
  await end()
})

test('an operator that writes a module at each start is not started for ever', async () => {
  const { clock, changes, save, told, end } = watcher()
  for (let start = 1; start <= 4; start++) {
    await changes.loading()
    save('generated.ts')
    await clock.advance(60_000)
  }
  assert.equal(told(), 1)
  await changes.loading()
  save('generated.ts')
  save('operator.ts')
  await clock.advance(60_000)
  assert.equal(told(), 2)
  await end()
})

test('a runtime that says nothing of its loading is left alone', async () => {
  const { clock, changes, save, told, end } = watcher()
  changes.watched()
  save('operator.ts')
  await clock.advance(60_000)
  assert.equal(told(), 0)
  await end()
})

test('new files and new times are changes, removed files are none', () => {
  const before: FileTimes = new Map([['a', 1], ['b', 1], ['c', 1]])
  assert.deepEqual(changedFiles(before, new Map([['a', 1], ['b', 2], ['d', 1]])), ['b', 'd'])
  assert.deepEqual(changedFiles(before, before), [])
})
