import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError, NetworkError } from '../../lib/core/errors.ts'
import { initialWatchState, step, type WatchInput, type WatchState } from '../../lib/cache/watch_state.ts'

const api = (code: number, reason: string, retryAfterMs?: number): ApiError =>
  new ApiError(reason, { reason, code }, { code, retryAfterMs })
const tooLarge = new ApiError('later', {
  reason: 'Timeout',
  details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
}, { code: 504 })
const initializing = (code: number, retryAfterMs?: number): ApiError =>
  new ApiError('Cannot watch pods: storage is (re)initializing', { reason: 'ServiceUnavailable', code }, {
    code,
    retryAfterMs,
  })
const young = (state: WatchState): WatchState => ({ ...state, initializing: true }) as WatchState
const network = new NetworkError('cut', { phase: 'body' })
const refused = new NetworkError('refused', { phase: 'connect' })
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
const failed = (error: unknown, accepted = false, lastedMs = 10): WatchInput => ({
  kind: 'failed',
  error,
  accepted,
  lastedMs,
})
const fellSilent = (accepted = true): WatchInput => ({
  kind: 'failed',
  error: network,
  accepted,
  lastedMs: 150_000,
  silent: true,
})
const closed = (lastedMs: number, advanced: boolean): WatchInput => ({ kind: 'closed', lastedMs, advanced })
const bookmark: WatchInput = { kind: 'seen', resourceVersion: '8', bookmark: true }
const listedAt = (resourceVersion: string): WatchInput => ({ kind: 'listed', resourceVersion })
const listed: WatchInput = { kind: 'listed', resourceVersion: '5' }
const wait = (ms: number, next: WatchState): WatchState => ({
  kind: 'waiting',
  ms,
  next: next as Exclude<WatchState, { kind: 'waiting' }>,
})

const transitions: readonly [string, WatchState, WatchInput, WatchState][] = [
  ['a list leads to a watch from its version', listing(), { kind: 'listed', resourceVersion: '5' }, watching(0, '5')],
  ['a list after failures does not end their series: the watch may fail as before', listing(3), {
    kind: 'listed',
    resourceVersion: '5',
  }, watching(3, '5')],
  [
    'a list that fails is tried again after a wait',
    listing(),
    failed(api(500, 'InternalError')),
    wait(800, listing(1)),
  ],
  ['the wait doubles', listing(2), failed(api(500, 'InternalError')), wait(3200, listing(3))],
  ['the wait ends at 30 s', listing(20), failed(network), wait(30_000, listing(21))],
  [
    'a list that fails after long minutes is no good time',
    listing(2),
    failed(network, false, 600_000),
    wait(3200, listing(3)),
  ],
  ['an event advances the version', watching(), { kind: 'seen', resourceVersion: '8' }, watching(0, '8')],
  ['an event does not end a series of failures', watching(2), { kind: 'seen', resourceVersion: '8' }, watching(2, '8')],
  [
    'a watch that ends normally is opened again at once, from where it stopped',
    watching(),
    closed(300_000, false),
    watching(),
  ],
  ['a short watch that brought something is a normal one', watching(2), closed(5, true), watching(0)],
  [
    'a watch that ends at once with nothing is opened again after a wait',
    watching(),
    closed(999, false),
    wait(800, watching(1)),
  ],
  ['a server that goes on like that is listed', watching(1), closed(10, false), wait(1600, listing(2))],
  [
    'a version that expired brings the whole anew (HTTP)',
    watching(),
    failed(api(410, 'Expired')),
    wait(800, gone(streaming(1))),
  ],
  [
    'a version that expired brings the whole anew (ERROR event)',
    watching(),
    failed(api(410, 'Gone'), true),
    wait(800, gone(streaming(1))),
  ],
  [
    'a 410 ends what failed before: the server works',
    watching(6),
    failed(api(410, 'Expired')),
    wait(800, gone(streaming(1))),
  ],
  [
    'a list after a 410 leads to a watch that knows it',
    gone(listing(1)),
    { kind: 'listed', resourceVersion: '5' },
    gone(watching(1, '5')),
  ],
  [
    'one 410 after the other is a series',
    gone(watching(1)),
    failed(api(410, 'Expired')),
    wait(1600, gone(streaming(2))),
  ],
  ['an event after a 410 ends its series', gone(watching(1)), { kind: 'seen', resourceVersion: '8' }, watching(1, '8')],
  ['too many requests: later, without a list', watching(), failed(api(429, 'TooManyRequests')), wait(800, watching(1))],
  [
    'too many requests within a watch: later, without a list',
    watching(),
    failed(api(429, 'TooManyRequests'), true),
    wait(800, watching(1)),
  ],
  ['Retry-After is honoured', watching(), failed(api(429, 'TooManyRequests', 20_000)), wait(20_000, watching(1))],
  [
    'Retry-After does not shorten the wait',
    watching(3),
    failed(api(429, 'TooManyRequests', 1000)),
    wait(6400, watching(4)),
  ],
  [
    'a Retry-After of a day is not believed',
    watching(),
    failed(api(503, 'ServiceUnavailable', 86_400_000)),
    wait(300_000, watching(1)),
  ],
  [
    'connection refused: later, without a list',
    watching(4),
    failed(new NetworkError('refused', { phase: 'connect' })),
    wait(12_800, watching(5)),
  ],
  ['a connection that broke soon counts', watching(1), failed(network, true, 9999), wait(1600, watching(2))],
  [
    'a connection that is cut every minute does not add up',
    watching(3),
    failed(network, true, 50_000),
    wait(800, watching(1)),
  ],
  [
    'a server that is not ready: later, without a list',
    watching(),
    failed(api(503, 'ServiceUnavailable')),
    wait(800, watching(1)),
  ],
  [
    'a server that has come up and reads its storage: what failed while it was down is over',
    watching(4),
    failed(initializing(503)),
    wait(800, young(watching(1))),
  ],
  [
    'the same in the words of newer servers, which say when to come back',
    watching(4),
    failed(initializing(429, 3000)),
    wait(3000, young(watching(1))),
  ],
  ['the same for a stream', streaming(4), failed(initializing(503)), wait(800, young(streaming(1)))],
  ['the same for a list', listing(4), failed(initializing(503)), wait(800, young(listing(1)))],
  [
    'one that goes on reading its storage is asked less and less',
    young(watching(1)),
    failed(initializing(503)),
    wait(1600, young(watching(2))),
  ],
  ['one that goes down again goes on with its series', young(watching(1)), failed(refused), wait(1600, watching(2))],
  [
    'a server that is not ready for another reason goes on with its series',
    watching(4),
    failed(api(503, 'ServiceUnavailable')),
    wait(12_800, watching(5)),
  ],
  ['words of the sort in a refusal mean nothing', watching(4), failed(initializing(403)), wait(12_800, watching(5))],
  [
    'a watch that is forbidden: later, without a list',
    watching(),
    failed(api(403, 'Forbidden')),
    wait(800, watching(1)),
  ],
  [
    'a watch that is refused for who we are: later, without a list',
    watching(),
    failed(api(401, 'Unauthorized')),
    wait(800, watching(1)),
  ],
  [
    'a watch that the server cannot do at all: the whole',
    watching(),
    failed(api(500, 'InternalError')),
    wait(800, streaming(1)),
  ],
  [
    'an ERROR within the watch, of a kind that would come again: the whole',
    watching(),
    failed(api(500, 'InternalError'), true),
    wait(800, streaming(1)),
  ],
  ['a 504 within the watch too', watching(), failed(api(504, 'Timeout'), true), wait(800, streaming(1))],
  ['a kind that is gone: the whole, which says so', watching(), failed(api(404, 'NotFound')), wait(800, streaming(1))],
  [
    'a line that is not an event: the whole',
    watching(),
    failed(new SyntaxError('garbled'), true),
    wait(800, streaming(1)),
  ],
  [
    'lines garbled again and again wait ever longer, whatever came between',
    watching(4),
    failed(new SyntaxError('garbled'), true, 60_000),
    wait(12_800, streaming(5)),
  ],
  [
    'a watch that was good for minutes ends the series',
    watching(4),
    failed(new SyntaxError('garbled'), true, 120_000),
    wait(800, streaming(1)),
  ],
  ['a stream leads to a watch from its mark', streaming(2), listed, watching(2, '5')],
  [
    'a stream that the server closes before its mark begins anew after a wait',
    streaming(),
    closed(300_000, true),
    wait(800, streaming(1)),
  ],
  ['one that it closes again is a list', streaming(1), closed(10, false), wait(1600, listing(2))],
  ['a stream that breaks off begins anew after a wait', streaming(), failed(network, true), wait(800, streaming(1))],
  [
    'one that breaks off again is a list, however long it lasted',
    streaming(1),
    failed(network, true, 60_000),
    wait(1600, listing(2)),
  ],
  [
    'a stream that is not answered in time begins anew after a wait',
    streaming(),
    failed(unanswered),
    wait(800, streaming(1)),
  ],
  [
    'a stream whose answer does not begin within its time too: it may be the connection',
    streaming(),
    fellSilent(false),
    wait(800, streaming(1)),
  ],
  [
    'a stream that falls silent before its mark is a list at once: the server does not send one',
    streaming(1),
    fellSilent(),
    lists(listing(1)),
  ],
  [
    'a stream that is refused as something unknown is a list at once',
    streaming(),
    failed(api(422, 'Invalid')),
    lists(listing()),
  ],
  ['by an older server too', streaming(3), failed(api(400, 'BadRequest')), lists(listing(3))],
  [
    'a stream that is refused in another way is a list at once, this time',
    streaming(),
    failed(api(403, 'Forbidden')),
    listing(),
  ],
  [
    'a stream in which an error comes is a list at once, this time',
    gone(streaming(1)),
    failed(api(410, 'Expired'), true),
    gone(listing(1)),
  ],
  ['a stream with a line that is not an event too', streaming(), failed(new SyntaxError('garbled'), true), listing()],
  [
    'a stream that the server has no time for comes later, without a list',
    streaming(2),
    failed(api(429, 'TooManyRequests')),
    wait(3200, streaming(3)),
  ],
  ['when the server says so', streaming(), failed(api(503, 'ServiceUnavailable', 5000)), wait(5000, streaming(1))],
  [
    'connection refused: the stream comes later, without a list',
    streaming(4),
    failed(refused),
    wait(12_800, streaming(5)),
  ],
  ['what a list was good for is watched, and streamed the next time', listing(1), listed, watching(1, '5')],
  ['a list that fails is a list the next time', listing(1), failed(api(403, 'Forbidden')), wait(1600, listing(2))],
  [
    'a server that does not stream is not asked to again: from the list',
    lists(listing()),
    listed,
    lists(watching(0, '5')),
  ],
  ['through an event', lists(watching()), { kind: 'seen', resourceVersion: '8' }, lists(watching(0, '8'))],
  ['to the next time', lists(watching()), failed(api(410, 'Expired')), wait(800, gone(lists(listing(1))))],
  [
    'a version that is too large is one that the server had before it was set back: the whole',
    watching(),
    failed(tooLarge),
    wait(800, streaming(1)),
  ],
  ['a watch that falls silent is opened again', watching(), fellSilent(), wait(800, silent(watching(1)))],
  ['an event ends that', silent(watching(1)), { kind: 'seen', resourceVersion: '8' }, watching(1, '8')],
  [
    'one that brings nothing at all again is blind: the whole',
    silent(watching(1)),
    fellSilent(),
    wait(800, blind(streaming(1))),
  ],
  [
    'where the whole is listed, and bookmarks came before, it is listed',
    silent(marked(lists(watching(1)))),
    fellSilent(),
    wait(800, blind(lists(listing(1)))),
  ],
  [
    'where it is listed and no bookmark ever came, the server sends none: no list',
    silent(lists(watching(1))),
    fellSilent(),
    wait(800, quiet(silent(lists(watching(1))))),
  ],
  ['a bookmark is remembered', watching(2), bookmark, marked(watching(2, '8'))],
  ['it ends a 410, too', gone(watching(2)), bookmark, marked(watching(2, '8'))],
  ['and stays', silent(marked(watching(1))), bookmark, marked(watching(1, '8'))],
  ['an event is no bookmark', watching(), { kind: 'seen', resourceVersion: '8', bookmark: false }, watching(0, '8')],
  [
    'a bookmark ends what was learned of a server without them',
    silent(quiet(lists(watching(1)))),
    bookmark,
    marked(lists(watching(1, '8'))),
  ],
  [
    'an event does not',
    silent(quiet(lists(watching(1)))),
    { kind: 'seen', resourceVersion: '8' },
    quiet(lists(watching(1, '8'))),
  ],
  [
    'in a server without bookmarks a silent watch is opened again, as often as it is',
    silent(quiet(watching(1))),
    fellSilent(),
    wait(800, silent(quiet(watching(1)))),
  ],
  ['when it ends one, too', quiet(watching(1)), closed(300_000, false), quiet(watching(0))],
  [
    'a 410 does not end what was learned',
    quiet(lists(watching())),
    failed(api(410, 'Expired')),
    wait(800, gone(quiet(lists(listing(1))))),
  ],
  [
    'the whole at the same version after blind watches: the server sends no bookmarks',
    blind(streaming(1)),
    listedAt('7'),
    quiet(watching(1, '7')),
  ],
  ['at a later one, too', blind(lists(listing(1))), listedAt('10'), quiet(lists(watching(1, '10')))],
  ['at an earlier one: the server was set back', blind(streaming(1), '1000'), listedAt('999'), watching(1, '999')],
  ['at one that cannot be compared: no bookmarks', blind(streaming(1), 'a'), listedAt('b'), quiet(watching(1, 'b'))],
  [
    'tries at the whole that fail keep the question: the stream',
    blind(streaming(1)),
    failed(network, true),
    wait(1600, blind(listing(2))),
  ],
  ['the stream that is refused', blind(streaming(1)), failed(api(422, 'Invalid')), blind(lists(listing(1)))],
  ['the list', blind(listing(1)), failed(api(500, 'InternalError')), wait(1600, blind(listing(2)))],
  [
    'a server that once sent bookmarks and stopped is asked for the whole once',
    marked(silent(watching(1))),
    fellSilent(),
    wait(800, blind(streaming(1))),
  ],
  ['but not when it was not even accepted', silent(watching(1)), fellSilent(false), wait(1600, silent(watching(2)))],
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
  const error = fc.constantFrom<unknown>(
    network,
    api(410, 'Expired'),
    api(429, 'TooManyRequests', 5000),
    api(500, ''),
    api(403, 'Forbidden'),
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
    fc.record({ kind: fc.constant('waited' as const) }),
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
          const version = (
            at: WatchState,
          ):
            | string
            | undefined => (at.kind === 'waiting'
              ? version(at.next)
              : at.kind === 'watching'
              ? at.resourceVersion
              : undefined)
          if (version(state) !== version(before) && version(state) !== undefined) {
            assert.ok(input.kind === 'listed' || input.kind === 'seen')
          }
        }
      },
    ),
  )
})
