import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError, NetworkError } from '../../lib/core/errors.ts'
import {
  doubtedVersion,
  initialWatchState,
  step,
  type WatchInput,
  type WatchState,
} from '../../lib/cache/watch_state.ts'

const http = (code: number, retryAfterMs?: number): ApiError =>
  new ApiError('no', { code, reason: code === 410 ? 'Expired' : 'Some' }, { code, retryAfterMs })
const tooLarge = new ApiError('later', {
  reason: 'Timeout',
  details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
}, { code: 504 })
const initializing = (code: number, retryAfterMs?: number): ApiError =>
  new ApiError('Cannot watch pods: storage is (re)initializing', { code }, { code, retryAfterMs })
const young = (state: WatchState): WatchState => ({ ...state, initializing: true }) as WatchState
const invalid = new SyntaxError('garbled')
const network = new NetworkError('cut', { phase: 'body' })
const connectionRefused = new NetworkError('refused', { phase: 'connect' })
const unanswered = new NetworkError('no answer', { phase: 'response' })
const streaming = (failures = 0): WatchState => ({ kind: 'streaming', failures })
const listing = (failures = 0): WatchState => ({ kind: 'listing', failures })
const watching = (failures = 0, resourceVersion = '7'): WatchState => ({ kind: 'watching', resourceVersion, failures })
const gone = (state: WatchState): WatchState => ({ ...state, afterGone: true }) as WatchState
const lists = (state: WatchState): WatchState => ({ ...state, lists: true }) as WatchState
const marked = (state: WatchState): WatchState => ({ ...state, bookmarks: true }) as WatchState
const quiet = (state: WatchState): WatchState => ({ ...state, quiet: true }) as WatchState
const blind = (state: WatchState, blindAt = '7'): WatchState => ({ ...state, blindAt }) as WatchState
const silent = (state: WatchState): WatchState => ({ ...state, silent: true }) as WatchState
const failed = (error: unknown, accepted = false, lastedMs = 10, silent?: boolean): WatchInput => ({
  kind: 'failed',
  error,
  accepted,
  lastedMs,
  ...(silent && { silent }),
})
const fellSilent = (accepted = true): WatchInput => failed(network, accepted, 150_000, true)
const closed = (lastedMs: number, advanced: boolean): WatchInput => ({ kind: 'closed', lastedMs, advanced })
const bookmark: WatchInput = { kind: 'seen', resourceVersion: '8', bookmark: true }
const listedAt = (resourceVersion: string): WatchInput => ({ kind: 'listed', resourceVersion })
const listed: WatchInput = { kind: 'listed', resourceVersion: '5' }
const event: WatchInput = { kind: 'seen', resourceVersion: '8' }
const wait = (ms: number, next: WatchState): WatchState => ({ kind: 'waiting', ms, next: next as never })

test('the version of a watch that failed is doubted, but not for silence', () => {
  const doubted = (state: WatchState): unknown => doubtedVersion(wait(800, state) as never)
  const states = [watching(1), young(watching(1)), silent(watching(1)), streaming(2), listing(2)]
  assert.deepEqual(states.map(doubted), ['7', '7', undefined, undefined, undefined])
})

const transitions: readonly [string, WatchState, WatchInput, WatchState][] = [
  ['a list is followed by a watch from its version', listing(), listed, watching(0, '5')],
  ['a list after failures does not reset them: the watch may still fail', listing(3), listed, watching(3, '5')],
  ['a failed list is retried after a back-off', listing(), failed(http(500)), wait(800, listing(1))],
  ['the back-off doubles', listing(2), failed(http(500)), wait(3200, listing(3))],
  ['the back-off is at most 30 s', listing(20), failed(network), wait(30_000, listing(21))],
  [
    'a list that fails after minutes does not reset the failures',
    listing(2),
    failed(network, false, 600_000),
    wait(3200, listing(3)),
  ],
  ['an event advances the version', watching(), event, watching(0, '8')],
  ['an event does not reset the failures', watching(2), event, watching(2, '8')],
  [
    'a watch that ends normally is reopened at once at its last version',
    watching(),
    closed(300_000, false),
    watching(),
  ],
  ['a short watch with events is normal', watching(2), closed(5, true), watching(0)],
  ['a short watch without events is reopened after a back-off', watching(), closed(999, false), wait(800, watching(1))],
  ['a second short watch leads to a list', watching(1), closed(10, false), wait(1600, listing(2))],
  ['an expired version leads to a full read (HTTP)', watching(), failed(http(410)), wait(800, gone(streaming(1)))],
  [
    'an expired version leads to a full read (ERROR event)',
    watching(),
    failed(http(410), true),
    wait(800, gone(streaming(1))),
  ],
  ['a 410 ends what failed before: the server works', watching(6), failed(http(410)), wait(800, gone(streaming(1)))],
  ['the watch after a 410 and a list remembers the 410', gone(listing(1)), listed, gone(watching(1, '5'))],
  ['one 410 after the other is a series', gone(watching(1)), failed(http(410)), wait(1600, gone(streaming(2)))],
  ['an event after a 410 ends the series', gone(watching(1)), event, watching(1, '8')],
  ['429: back-off without a list', watching(), failed(http(429)), wait(800, watching(1))],
  ['429 within a watch: back-off without a list', watching(), failed(http(429), true), wait(800, watching(1))],
  ['Retry-After is honoured', watching(), failed(http(429, 20_000)), wait(20_000, watching(1))],
  ['Retry-After does not shorten the wait', watching(3), failed(http(429, 1000)), wait(6400, watching(4))],
  ['a Retry-After of a day is not believed', watching(), failed(http(503, 86_400_000)), wait(300_000, watching(1))],
  ['connection refused: later, without a list', watching(4), failed(connectionRefused), wait(12_800, watching(5))],
  ['a connection that breaks early counts', watching(1), failed(network, true, 9999), wait(1600, watching(2))],
  [
    'a connection that is cut every minute does not increase the failures',
    watching(3),
    failed(network, true, 50_000),
    wait(800, watching(1)),
  ],
  ...[502, 503, 504].map((
    status,
  ): (typeof transitions)[number] => [
    `a server that is not ready (${status}): back-off without a list`,
    watching(),
    failed(http(status)),
    wait(800, watching(1)),
  ]),
  [
    'a server that loads its storage: earlier failures are reset',
    watching(4),
    failed(initializing(503)),
    wait(800, young(watching(1))),
  ],
  [
    'the same in the words of newer servers, with Retry-After',
    watching(4),
    failed(initializing(429, 3000)),
    wait(3000, young(watching(1))),
  ],
  ['the same for a stream', streaming(4), failed(initializing(503)), wait(800, young(streaming(1)))],
  ['the same for a list', listing(4), failed(initializing(503)), wait(800, young(listing(1)))],
  [
    'a server that keeps loading its storage gets a growing back-off',
    young(watching(1)),
    failed(initializing(503)),
    wait(1600, young(watching(2))),
  ],
  [
    'a server that stops again continues the series',
    young(watching(1)),
    failed(connectionRefused),
    wait(1600, watching(2)),
  ],
  [
    'a server that is not ready for another reason continues the series',
    watching(4),
    failed(http(503)),
    wait(12_800, watching(5)),
  ],
  [
    'the same for one that refuses, as it does until it has loaded the roles',
    watching(4),
    failed(http(403)),
    wait(800, young(watching(1))),
  ],
  [
    'a refusal that lasts gets a growing back-off, without a list',
    young(watching(1)),
    failed(http(403)),
    wait(1600, young(watching(2))),
  ],
  ['an unauthorized watch: back-off without a list', watching(), failed(http(401)), wait(800, watching(1))],
  ['a watch that the server does not support: full read', watching(), failed(http(500)), wait(800, streaming(1))],
  [
    'an ERROR within the watch, of a kind that would come again: the whole',
    watching(),
    failed(http(500), true),
    wait(800, streaming(1)),
  ],
  ['a 504 within the watch too', watching(), failed(http(504), true), wait(800, streaming(1))],
  ['a kind that is gone: full read, which reports it', watching(), failed(http(404)), wait(800, streaming(1))],
  ['an invalid line: full read', watching(), failed(invalid, true), wait(800, streaming(1))],
  [
    'repeated invalid lines increase the back-off, whatever came between',
    watching(4),
    failed(invalid, true, 60_000),
    wait(12_800, streaming(5)),
  ],
  [
    'a watch that lasted for minutes resets the failures',
    watching(4),
    failed(invalid, true, 120_000),
    wait(800, streaming(1)),
  ],
  ['a stream is followed by a watch from its end bookmark', streaming(2), listed, watching(2, '5')],
  [
    'a stream that is closed before its end bookmark is restarted after a back-off',
    streaming(),
    closed(300_000, true),
    wait(800, streaming(1)),
  ],
  ['a second closed stream leads to a list', streaming(1), closed(10, false), wait(1600, listing(2))],
  ['a stream that breaks is restarted after a back-off', streaming(), failed(network, true), wait(800, streaming(1))],
  [
    'a second broken stream leads to a list, no matter how long it lasted',
    streaming(1),
    failed(network, true, 60_000),
    wait(1600, listing(2)),
  ],
  [
    'a stream without an answer in time is restarted after a back-off',
    streaming(),
    failed(unanswered),
    wait(800, streaming(1)),
  ],
  [
    'so is a stream whose body does not begin in time: the connection may be the cause',
    streaming(),
    fellSilent(false),
    wait(800, streaming(1)),
  ],
  [
    'a stream that is silent before its end bookmark leads to a list at once: the server sends none',
    streaming(1),
    fellSilent(),
    lists(listing(1)),
  ],
  ['a stream that is refused as unknown leads to a list at once', streaming(), failed(http(422)), lists(listing())],
  ['so does the refusal of an older server', streaming(3), failed(http(400)), lists(listing(3))],
  [
    'a stream that is refused for another reason leads to a list at once, this time',
    streaming(),
    failed(http(403)),
    listing(),
  ],
  [
    'an error in a stream leads to a list at once, this time',
    gone(streaming(1)),
    failed(http(410), true),
    gone(listing(1)),
  ],
  ['so does an invalid line in a stream', streaming(), failed(invalid, true), listing()],
  [
    'a stream that a busy server refuses is retried later, without a list',
    streaming(2),
    failed(http(429)),
    wait(3200, streaming(3)),
  ],
  ['with the Retry-After of the server', streaming(), failed(http(503, 5000)), wait(5000, streaming(1))],
  [
    'connection refused: the stream comes later, without a list',
    streaming(4),
    failed(connectionRefused),
    wait(12_800, streaming(5)),
  ],
  ['the watch after such a list streams the next full read', listing(1), listed, watching(1, '5')],
  ['a failed list is retried as a list', listing(1), failed(http(401)), wait(1600, listing(2))],
  ['a server that does not stream stays marked: after the list', lists(listing()), listed, lists(watching(0, '5'))],
  ['after an event', lists(watching()), event, lists(watching(0, '8'))],
  ['at the next full read', lists(watching()), failed(http(410)), wait(800, gone(lists(listing(1))))],
  [
    'a version that is too large means that the server was restored: full read',
    watching(),
    failed(tooLarge),
    wait(800, streaming(1)),
  ],
  ['a silent watch is reopened', watching(), fellSilent(), wait(800, silent(watching(1)))],
  ['an event ends the silence', silent(watching(1)), event, watching(1, '8')],
  ['a second watch without any data: full read', silent(watching(1)), fellSilent(), wait(800, blind(streaming(1)))],
  [
    'the full read is a list if the server does not stream and sent bookmarks before',
    silent(marked(lists(watching(1)))),
    fellSilent(),
    wait(800, blind(lists(listing(1)))),
  ],
  [
    'without any bookmark before, the server sends none: no list',
    silent(lists(watching(1))),
    fellSilent(),
    wait(800, quiet(silent(lists(watching(1))))),
  ],
  ['a bookmark marks the server', watching(2), bookmark, marked(watching(2, '8'))],
  ['a bookmark also ends a 410', gone(watching(2)), bookmark, marked(watching(2, '8'))],
  ['the mark stays', silent(marked(watching(1))), bookmark, marked(watching(1, '8'))],
  [
    'an event does not count as a bookmark',
    watching(),
    { kind: 'seen', resourceVersion: '8', bookmark: false },
    watching(0, '8'),
  ],
  [
    'a bookmark clears the mark of a server without bookmarks',
    silent(quiet(lists(watching(1)))),
    bookmark,
    marked(lists(watching(1, '8'))),
  ],
  ['an event does not clear it', silent(quiet(lists(watching(1)))), event, quiet(lists(watching(1, '8')))],
  [
    'for a server without bookmarks a silent watch is always reopened',
    silent(quiet(watching(1))),
    fellSilent(),
    wait(800, silent(quiet(watching(1)))),
  ],
  ['also after the server ends it', quiet(watching(1)), closed(300_000, false), quiet(watching(0))],
  [
    'a 410 does not end what was learned',
    quiet(lists(watching())),
    failed(http(410)),
    wait(800, gone(quiet(lists(listing(1))))),
  ],
  [
    'a full read with the same version after silent watches: the server sends no bookmarks',
    blind(streaming(1)),
    listedAt('7'),
    quiet(watching(1, '7')),
  ],
  ['also with a later version', blind(lists(listing(1))), listedAt('10'), quiet(lists(watching(1, '10')))],
  [
    'with an earlier version: the server was restored',
    blind(streaming(1), '1000'),
    listedAt('999'),
    watching(1, '999'),
  ],
  [
    'with a version that cannot be compared: no bookmarks',
    blind(streaming(1), 'a'),
    listedAt('b'),
    quiet(watching(1, 'b')),
  ],
  [
    'a failed full read keeps the reason: a stream',
    blind(streaming(1)),
    failed(network, true),
    wait(1600, blind(listing(2))),
  ],
  ['a refused stream', blind(streaming(1)), failed(http(422)), blind(lists(listing(1)))],
  ['a list', blind(listing(1)), failed(http(500)), wait(1600, blind(listing(2)))],
  [
    'a server that stops sending bookmarks gets one full read',
    marked(silent(watching(1))),
    fellSilent(),
    wait(800, blind(streaming(1))),
  ],
  ['but not if the watch was not accepted', silent(watching(1)), fellSilent(false), wait(1600, silent(watching(2)))],
  ['after the back-off the next state follows', wait(800, watching(1)), { kind: 'waited' }, watching(1)],
  [
    'a server that was restored: full read',
    wait(800, marked(watching(2))),
    { kind: 'waited', restored: true },
    marked(streaming(2)),
  ],
  [
    'as a list, if it does not stream',
    wait(800, lists(watching(2))),
    { kind: 'waited', restored: true },
    lists(listing(2)),
  ],
  ['other inputs are ignored during the back-off', wait(800, listing(1)), failed(network), wait(800, listing(1))],
  ['a late close changes nothing', listing(1), closed(5, false), listing(1)],
  ['a late event changes nothing', listing(1), { kind: 'seen', resourceVersion: '9' }, listing(1)],
]

for (const [name, state, input, expected] of transitions) {
  test(name, () => assert.deepEqual(step(state, input, () => 0), expected))
}

test('the jitter is up to 100 %, so that many clients do not return at once', () => {
  assert.deepEqual(step(listing(), failed(network), () => 0.5), wait(1200, listing(1)))
})

test('it never loops without a back-off, never waits for ever, and keeps its version except for a full read', () => {
  const error = fc.constantFrom<unknown>(
    network,
    http(410),
    http(429, 5000),
    http(500),
    http(403),
    new SyntaxError('x'),
    undefined,
    'text',
  )
  const input: fc.Arbitrary<WatchInput> = fc.oneof(
    fc.record({ kind: fc.constant('listed' as const), resourceVersion: fc.nat().map(String) }),
    fc.record({ kind: fc.constant('seen' as const), resourceVersion: fc.nat().map(String), bookmark: fc.boolean() }),
    fc.record({ kind: fc.constant('closed' as const), lastedMs: fc.nat(3000), advanced: fc.boolean() }),
    fc.record({
      kind: fc.constant('failed' as const),
      error,
      accepted: fc.boolean(),
      lastedMs: fc.nat(200_000),
      silent: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('waited' as const), restored: fc.boolean() }),
  )
  fc.assert(
    fc.property(
      fc.array(input, { maxLength: 200, size: 'max' }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (inputs, random) => {
        let state: WatchState = initialWatchState
        for (const input of inputs) {
          const before: WatchState = state
          state = step(before, input, () => random)
          if (input.kind === 'failed') {
            assert.ok(
              state.kind === 'waiting' || (before.kind === 'streaming' && state.kind === 'listing'),
              'a failure without a wait',
            )
          }
          if (state.kind === 'waiting') assert.ok(state.ms >= 800 && state.ms <= 60_000, `${state.ms}`)
          const version = (at: WatchState): string | undefined =>
            at.kind === 'waiting' ? version(at.next) : at.kind === 'watching' ? at.resourceVersion : undefined
          if (version(state) !== version(before) && version(state) !== undefined) {
            assert.ok(input.kind === 'listed' || input.kind === 'seen')
          }
        }
      },
    ),
  )
})
