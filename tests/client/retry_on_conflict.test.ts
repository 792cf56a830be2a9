import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryOnConflict } from '../../lib/client/edit.ts'
import { ApiError } from '../../lib/core/errors.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'

const refused = (reason: string, code = 409): ApiError =>
  new ApiError(reason, { kind: 'Status', reason, code, message: reason }, { code })

/** A clock whose waits end at once and are recorded. */
function clockOf(): { clock: FakeClock; waits: number[] } {
  const clock = new FakeClock()
  const waits: number[] = []
  const after = clock.after.bind(clock)
  clock.after = (ms, fn) => {
    waits.push(ms)
    const cancel = after(ms, fn)
    void clock.advance(ms)
    return cancel
  }
  return { clock, waits }
}

test('a conflicting write is retried after 10 to 11 ms, and its result is returned', async () => {
  const { clock, waits } = clockOf()
  const randoms = [0, 0.5, 1]
  let calls = 0
  const write = async (): Promise<number> => {
    if (++calls < 4) throw refused('Conflict')
    return calls
  }
  assert.equal(await retryOnConflict(write, { clock, random: () => randoms.shift()! }), 4)
  assert.deepEqual(waits, [10, 10.5, 11])
})

test('the fifth Conflict is thrown, and any other error at once', async () => {
  const { clock, waits } = clockOf()
  const errors: unknown[] = []
  const write = (reason: string) => async (): Promise<never> => {
    errors.push(refused(reason))
    throw errors.at(-1)
  }
  await assert.rejects(retryOnConflict(write('Conflict'), { clock, random: () => 0 }), (error) => error === errors[4])
  assert.deepEqual([errors.length, waits], [5, [10, 10, 10, 10]])
  for (const other of ['AlreadyExists', 'Invalid', 'NotFound']) {
    await assert.rejects(retryOnConflict(write(other), { clock }), (error) => error === errors.at(-1))
  }
  assert.deepEqual([errors.length, waits.length], [8, 4])
})

test('an abort ends the wait with its reason, without another try', async () => {
  const stop = new AbortController()
  let calls = 0
  const trying = retryOnConflict(async () => {
    calls++
    throw refused('Conflict')
  }, { clock: new FakeClock(), signal: stop.signal })
  const outcome = assert.rejects(trying, /^Error: enough$/)
  stop.abort(new Error('enough'))
  await outcome
  assert.equal(calls, 1)
})
