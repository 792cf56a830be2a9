import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, NetworkError } from '../../lib/core/errors.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { outageLogOf, WatchHealth } from '../../lib/cache/watch_health.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { keptLog, POD } from './scripted_server.ts'

const api = (code: number, reason: string): ApiError =>
  new ApiError(`Cannot list pods: ${reason}`, { reason, code }, { code })
const cut = new NetworkError('cut', { phase: 'body' })
const forbidden = api(403, 'Forbidden')
const missing = api(404, 'NotFound')
const OWN: AnyResource = {
  ...POD,
  group: 'example.dev',
  definition: { crd: {} as never, hasRefinements: false, validate: () => [] },
}
const GONE = 'warn Cannot watch pods.example.dev: the server no longer serves v1 of it, so its ' +
  'CustomResourceDefinition was deleted, with its objects, or changed; install it again'
const untrusted = new NetworkError('untrusted', { phase: 'connect', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
const DENIED = 'warn Cannot list pods: Forbidden; next try in 800 ms'
const rule = (verbs: string): string =>
  `Cannot list pods: pods is forbidden; its role lacks { apiGroups: [""], resources: ["pods"], verbs: [${verbs}] }`

/** A failure before or after the first list, or a recovery. */
type Step = { readonly error: unknown; readonly synced: boolean } | 'recovered'
const early = (error: unknown): Step => ({ error, synced: false })
const late = (error: unknown): Step => ({ error, synced: true })

interface Options {
  readonly resource?: AnyResource
  readonly optional?: boolean
  readonly cluster?: string
}

/** Returns the lines of these steps. */
function lines(steps: readonly Step[], { resource = POD, ...options }: Options = {}): string[] {
  const { lines, log } = keptLog()
  const health = new WatchHealth(resource, log, options)
  for (const step of steps) {
    if (step === 'recovered') health.recovered()
    else health.failed(step.error, 800, step.synced)
  }
  return lines
}

const next = '; next try in 800 ms'

const CASES: readonly (readonly [string, readonly Step[], readonly string[], Options?])[] = [
  [
    'a failure that needs a person is logged as a warning at once, only once, with a remedy',
    [late(forbidden), late(forbidden)],
    [DENIED, `debug${DENIED.slice('warn'.length)}`],
  ],
  [
    'a kind that is not served',
    [early(missing)],
    [`warn Cannot watch pods: the server does not serve v1 of it (is its API enabled there?)${next}`],
  ],
  [
    'a kind of ours that is not served',
    [early(missing)],
    [
      'warn Cannot watch pods.example.dev: the server does not serve v1 of it ' +
      `(install its CustomResourceDefinition, or set crds: 'install')${next}`,
    ],
    { resource: OWN },
  ],
  [
    'an optional kind that is not served: the operator does not install it',
    [early(missing)],
    [
      'warn Cannot watch pods.example.dev: the server does not serve v1 of it ' +
      `(install its CustomResourceDefinition)${next}`,
    ],
    { resource: OWN, optional: true },
  ],
  [
    'a kind of ours that is no longer served after a list',
    [late(missing)],
    [`${GONE}, or restart the operator with crds: 'install'${next}`],
    { resource: OWN },
  ],
  [
    'a kind of ours that is no longer served after a watch',
    ['recovered', early(missing)],
    [`${GONE}, or restart the operator with crds: 'install'${next}`],
    { resource: OWN },
  ],
  ['an optional kind that is no longer served', [late(missing)], [`${GONE}${next}`], {
    resource: OWN,
    optional: true,
  }],
  ['a temporary failure once', [late(cut), 'recovered'], [`debug Cannot watch pods: cut${next}`]],
  [
    'a temporary failure that repeats',
    [late(cut), late(cut), 'recovered'],
    [`debug Cannot watch pods: cut${next}`, `warn Cannot watch pods: cut${next}`, 'info Watching pods again'],
  ],
  [
    'a server that was down comes back with another certificate',
    [late(cut), late(cut), late(untrusted), late(untrusted)],
    [
      `debug Cannot watch pods: cut${next}`,
      `warn Cannot watch pods: cut${next}`,
      `warn Cannot watch pods: untrusted${next}`,
      `debug Cannot watch pods: untrusted${next}`,
    ],
  ],
  ['a temporary failure before the first list', [early(api(503, 'Busy'))], [`warn Cannot list pods: Busy${next}`]],
  ...['Expired', 'Gone'].flatMap((reason) =>
    [early, late].map((when) =>
      [
        `an expired version is never a warning: ${reason}, ${when.name}`,
        [when(api(410, reason)), 'recovered'],
        [`debug Cannot list pods: ${reason}${next}`],
      ] as const
    )
  ),
  ...[[429, 'debug'], [500, 'debug'], [504, 'debug'], [400, 'warn'], [401, 'warn'], [409, 'warn'], [499, 'warn']].map((
    [code, level],
  ) =>
    [
      `only the errors of a busy server are temporary: ${code}`,
      [late(api(Number(code), 'Some'))],
      [`${level} Cannot list pods: Some${next}`],
    ] as const
  ),
  [
    'answers with different codes are each logged as warnings',
    [late(forbidden), late(api(401, 'Unauthorized')), late(forbidden)],
    [DENIED, `warn Cannot list pods: Unauthorized${next}`, DENIED],
  ],
  [
    'another kind of failure is a warning, also after an earlier warning',
    [early(cut), early(api(401, 'Unauthorized'))],
    [`warn Cannot watch pods: cut${next}`, `warn Cannot list pods: Unauthorized${next}`],
  ],
  [
    'a recovery is logged once, the first one is not "again", and the next failure is a warning again',
    [early(forbidden), 'recovered', 'recovered', early(forbidden), 'recovered'],
    [DENIED, 'info Watching pods', DENIED, 'info Watching pods again'],
  ],
  [
    'any thrown value is handled',
    [late(undefined), late('text'), 'recovered'],
    [`warn Cannot watch pods: undefined${next}`, `warn Cannot watch pods: text${next}`, 'info Watching pods again'],
  ],
  [
    'an error that says already what cannot be watched is not said twice',
    [early(new NetworkError('Cannot watch pods: nothing was heard for 30 s', { phase: 'body' }))],
    [`warn Cannot watch pods: nothing was heard for 30 s${next}`],
  ],
  [
    'the warning about missing RBAC rights has the whole rule that a watch needs',
    [early(new ApiError(rule('"list"'), { code: 403 }, { code: 403 }))],
    [`warn ${rule('"list", "watch"')}${next}`],
  ],
  [
    'a kind of another cluster',
    [early(new NetworkError('Cannot connect to cluster "west"', { phase: 'connect' })), 'recovered', early(missing)],
    [
      `warn Cannot watch pods in cluster "west": cannot connect to cluster "west"${next}`,
      'info Watching pods in cluster "west"',
      `warn Cannot watch pods in cluster "west": the server does not serve v1 of it (is its API enabled there?)${next}`,
    ],
    { cluster: 'west' },
  ],
]

for (const [name, steps, expected, options] of CASES) {
  test(name, () => assert.deepEqual(lines(steps, options), expected))
}

test('the cause of a failure is a field of the line, and the last error is the failure', () => {
  const fields: unknown[] = []
  const h = new WatchHealth(POD, { ...keptLog().log, warn: (_, more) => void fields.push(more) })
  const cause = new Error('ECONNRESET')
  h.failed(new TypeError('garbled', { cause }), 800, true)
  h.failed(forbidden, 800, true)
  assert.deepEqual([fields, h.failure], [[{ cause }, {}], forbidden])
})

test('while a server is down, its kinds share five warnings; what was not logged is not said to work again', async () => {
  const { lines, log } = keptLog()
  const clock = new FakeClock()
  const server = {}
  assert.equal(outageLogOf(server, clock), outageLogOf(server, clock))
  assert.notEqual(outageLogOf(server, clock), outageLogOf({}, clock))
  const kinds = Array.from({ length: 8 }, () => new WatchHealth(POD, log, { outages: outageLogOf(server, clock) }))
  const at = (level: string): number => lines.splice(0).filter((line) => line.startsWith(level)).length
  const refused = new NetworkError('refused', { phase: 'connect' })
  for (const kind of kinds) kind.failed(refused, 800, false)
  assert.equal(at('warn'), 5)
  for (const kind of kinds) kind.recovered()
  assert.equal(at('info'), 5)
  for (const kind of kinds) kind.failed(refused, 800, false)
  for (const kind of kinds) kind.recovered()
  assert.deepEqual(lines.splice(0).filter((line) => !line.startsWith('debug')), [], 'what was not named is not over')
  for (const kind of kinds) kind.failed(forbidden, 800, false)
  assert.equal(at('warn'), 8, 'each names its own rule')
  for (const kind of kinds) kind.failed(untrusted, 800, true)
  assert.equal(at('warn'), 0)
  await clock.advance(60_000)
  for (const kind of kinds) kind.failed(untrusted, 1600, true)
  assert.deepEqual(lines.filter((line) => line.startsWith('warn')), [
    'warn Cannot watch pods: untrusted; next try in 1.6 s (and 19 more like it)',
  ])
})
