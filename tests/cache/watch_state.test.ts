import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError, NetworkError } from '../../lib/core/errors.ts'
import { initialWatchState, step, type WatchInput, type WatchState } from '../../lib/cache/watch_state.ts'

const api = (code: number, reason: string, retryAfterMs?: number): ApiError => new ApiError(reason, { reason, code }, { code, retryAfterMs })
const network = new NetworkError('cut', { phase: 'body' })
const listing = (failures = 0): WatchState => ({ kind: 'listing', failures })
const watching = (failures = 0, resourceVersion = '7'): WatchState => ({ kind: 'watching', resourceVersion, failures })
const gone = (state: WatchState): WatchState => ({ ...state, afterGone: true }) as WatchState
const failed = (error: unknown, accepted = false, lastedMs = 10): WatchInput => ({ kind: 'failed', error, accepted, lastedMs })
const closed = (lastedMs: number, advanced: boolean): WatchInput => ({ kind: 'closed', lastedMs, advanced })
const wait = (ms: number, next: WatchState): WatchState => ({ kind: 'waiting', ms, next: next as Exclude<WatchState, { kind: 'waiting' }> })

const transitions: readonly [string, WatchState, WatchInput, WatchState][] = [
  ['a list leads to a watch from its version', listing(), { kind: 'listed', resourceVersion: '5' }, watching(0, '5')],
  ['a list after failures does not end their series: the watch may fail as before', listing(3), { kind: 'listed', resourceVersion: '5' }, watching(3, '5')],
  ['a list that fails is tried again after a wait', listing(), failed(api(500, 'InternalError')), wait(800, listing(1))],
  ['the wait doubles', listing(2), failed(api(500, 'InternalError')), wait(3200, listing(3))],
  ['the wait ends at 30 s', listing(20), failed(network), wait(30_000, listing(21))],
  ['a list that fails after long minutes is no good time', listing(2), failed(network, false, 600_000), wait(3200, listing(3))],
  ['an event advances the version', watching(), { kind: 'seen', resourceVersion: '8' }, watching(0, '8')],
  ['an event does not end a series of failures', watching(2), { kind: 'seen', resourceVersion: '8' }, watching(2, '8')],
  ['a watch that ends normally is opened again at once, from where it stopped', watching(), closed(300_000, false), watching()],
  ['a short watch that brought something is a normal one', watching(2), closed(5, true), watching(0)],
  ['a watch that ends at once with nothing is opened again after a wait', watching(), closed(999, false), wait(800, watching(1))],
  ['a server that goes on like that is listed', watching(1), closed(10, false), wait(1600, listing(2))],
  ['a version that expired is listed anew (HTTP)', watching(), failed(api(410, 'Expired')), wait(800, gone(listing(1)))],
  ['a version that expired is listed anew (ERROR event)', watching(), failed(api(410, 'Gone'), true), wait(800, gone(listing(1)))],
  ['a 410 ends what failed before: the server works', watching(6), failed(api(410, 'Expired')), wait(800, gone(listing(1)))],
  ['a list after a 410 leads to a watch that knows it', gone(listing(1)), { kind: 'listed', resourceVersion: '5' }, gone(watching(1, '5'))],
  ['one 410 after the other is a series', gone(watching(1)), failed(api(410, 'Expired')), wait(1600, gone(listing(2)))],
  ['an event after a 410 ends its series', gone(watching(1)), { kind: 'seen', resourceVersion: '8' }, watching(1, '8')],
  ['too many requests: later, without a list', watching(), failed(api(429, 'TooManyRequests')), wait(800, watching(1))],
  ['too many requests within a watch: later, without a list', watching(), failed(api(429, 'TooManyRequests'), true), wait(800, watching(1))],
  ['Retry-After is honoured', watching(), failed(api(429, 'TooManyRequests', 20_000)), wait(20_000, watching(1))],
  ['Retry-After does not shorten the wait', watching(3), failed(api(429, 'TooManyRequests', 1000)), wait(6400, watching(4))],
  ['a Retry-After of a day is not believed', watching(), failed(api(503, 'ServiceUnavailable', 86_400_000)), wait(300_000, watching(1))],
  ['connection refused: later, without a list', watching(4), failed(new NetworkError('refused', { phase: 'connect' })), wait(12_800, watching(5))],
  ['a connection that broke soon counts', watching(1), failed(network, true, 9999), wait(1600, watching(2))],
  ['a connection that is cut every minute does not add up', watching(3), failed(network, true, 50_000), wait(800, watching(1))],
  ['a server that is not ready: later, without a list', watching(), failed(api(503, 'ServiceUnavailable')), wait(800, watching(1))],
  ['a watch that is forbidden: later, without a list', watching(), failed(api(403, 'Forbidden')), wait(800, watching(1))],
  ['a watch that the server cannot do at all: a list', watching(), failed(api(500, 'InternalError')), wait(800, listing(1))],
  ['an ERROR within the watch, of a kind that would come again: a list', watching(), failed(api(500, 'InternalError'), true), wait(800, listing(1))],
  ['a 504 within the watch too', watching(), failed(api(504, 'Timeout'), true), wait(800, listing(1))],
  ['a kind that is gone: a list, which says so', watching(), failed(api(404, 'NotFound')), wait(800, listing(1))],
  ['a line that is not an event: a list', watching(), failed(new SyntaxError('garbled'), true), wait(800, listing(1))],
  ['lines garbled again and again wait ever longer, whatever came between', watching(4), failed(new SyntaxError('garbled'), true, 60_000), wait(12_800, listing(5))],
  ['a watch that was good for minutes ends the series', watching(4), failed(new SyntaxError('garbled'), true, 120_000), wait(800, listing(1))],
  ['the wait over, what was to be done is done', wait(800, watching(1)), { kind: 'waited' }, watching(1)],
  ['who waits hears of nothing else', wait(800, listing(1)), failed(network), wait(800, listing(1))],
  ['a late close changes nothing', listing(1), closed(5, false), listing(1)],
  ['a late event changes nothing', listing(1), { kind: 'seen', resourceVersion: '9' }, listing(1)],
]

for (const [name, state, input, expected] of transitions) {
  test(name, () => assert.deepEqual(step(state, input, () => 0), expected))
}

test('jitter is up to as much again, so that many clients do not return at once', () => {
  assert.deepEqual(step(listing(), failed(network), () => 0.5), wait(1200, listing(1)))
})

test('it never goes round without a wait, never waits for ever, and never loses its version but to a list', () => {
  const error = fc.constantFrom<unknown>(network, api(410, 'Expired'), api(429, 'TooManyRequests', 5000), api(500, ''), api(403, 'Forbidden'), new SyntaxError('x'), undefined, 'text')
  const input: fc.Arbitrary<WatchInput> = fc.oneof(
    fc.record({ kind: fc.constant('listed' as const), resourceVersion: fc.nat().map(String) }),
    fc.record({ kind: fc.constant('seen' as const), resourceVersion: fc.nat().map(String) }),
    fc.record({ kind: fc.constant('closed' as const), lastedMs: fc.nat(3000), advanced: fc.boolean() }),
    fc.record({ kind: fc.constant('failed' as const), error, accepted: fc.boolean(), lastedMs: fc.nat(200_000) }),
    fc.record({ kind: fc.constant('waited' as const) }),
  )
  fc.assert(fc.property(fc.array(input, { maxLength: 200, size: 'max' }), fc.double({ min: 0, max: 0.999, noNaN: true }), (inputs, random) => {
    let state: WatchState = initialWatchState
    for (const input of inputs) {
      const before: WatchState = state
      state = step(before, input, () => random)
      if (input.kind === 'failed') assert.equal(state.kind, 'waiting', 'a failure without a wait')
      if (state.kind === 'waiting') assert.ok(state.ms >= 800 && state.ms <= 60_000, `${state.ms}`)
      const version = (at: WatchState): string | undefined => (at.kind === 'waiting' ? version(at.next) : at.kind === 'watching' ? at.resourceVersion : undefined)
      if (version(state) !== version(before) && version(state) !== undefined) assert.ok(input.kind === 'listed' || input.kind === 'seen')
    }
  }))
})
