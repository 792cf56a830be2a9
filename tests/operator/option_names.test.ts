import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource, operator } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { startEnvtest, world } from 'kubeloop/testing'
import * as z from 'zod'
import { Api } from '../../lib/client/api.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { nearestName } from '../../lib/core/option_names.ts'

/** Accepts any options, as plain JavaScript does. */
// deno-lint-ignore no-explicit-any -- that is the subject
const describe = operator as any
/** One operator for all tests, as an unused one is reported. */
const app = describe({ name: 'x' })
assert.ok(app.description)
const controller = (options?: unknown) => app.controllerFor(ConfigMap, options)
const of = (options: object) => () => describe({ name: 'x', ...options })
const [DESCRIBE, CONTROL, CACHE] = ['Cannot describe operator "x"', 'Cannot control ConfigMap', 'Cannot cache secrets']
const ELECT = 'Cannot elect a leader'

const DURATION = 'write a number and ms, s, m, h or d, such as "30s"; durationMs of kubeloop/schema reads "1h30m"'
const NAME = 'it must be at most 63 lower-case letters, digits and dashes'
const ADDRESS = 'write a port as a number, ":8080" for all interfaces, "host:8080" or "[::1]:8080"'

/** Returns options with a value at a path. */
function at(path: string, value: unknown): object {
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object
}

/** `hint`: the nearest option, or all of them. */
const REFUSED:
  readonly (readonly [what: string, describe: () => unknown, cannot: string, name: string, hint: string])[] = [
    ['of the operator', of({ leaderElecton: true }), DESCRIBE, 'leaderElecton', 'leaderElection'],
    [
      'of the operator, with undefined',
      of({ leaderelection: undefined }),
      DESCRIBE,
      'leaderelection',
      'leaderElection',
    ],
    [
      'of the election',
      of({ leaderElection: { retryPeriods: '1s' } }),
      DESCRIBE,
      'leaderElection.retryPeriods',
      'leaderElection.retryPeriod',
    ],
    [
      'of all caches',
      of({ cache: { namespaces: { a: { label: 'b' } } } }),
      DESCRIBE,
      'cache.namespaces.a.label',
      'cache.namespaces.a.labels',
    ],
    ['of the metrics', of({ metrics: { port: 1 } }), DESCRIBE, 'metrics.port', 'address, registry, tls, auth'],
    ['of a controller', () => controller({ concurency: 2 }), CONTROL, 'concurency', 'concurrency'],
    ['of a back-off', () => controller({ backoff: { first: '1s' } }), CONTROL, 'backoff.first', 'base, max'],
    ['of owns', () => controller().owns(Secret, { anyOwners: true }), 'Cannot own Secret', 'anyOwners', 'anyOwner'],
    [
      'of watches',
      () => controller().watches(Secret, () => [], { filter: () => true }),
      'Cannot watch Secret',
      'filter',
      'when, queue, cluster, optional',
    ],
    [
      'of finalize',
      () => controller().finalize(async () => {}, { finaliser: 'a/b' }),
      'Cannot finalize ConfigMap',
      'finaliser',
      'finalizer',
    ],
    ['of a cache', () => app.cache(Secret, { label: 'a' }), CACHE, 'label', 'labels'],
    [
      'of a task',
      () => app.add('t', async () => {}, { everyreplica: 1 }),
      'Cannot add "t"',
      'everyreplica',
      'everyReplica',
    ],
    [
      'of a cluster',
      () => app.cluster('west', {}, { optionl: true }),
      'Cannot name the cluster "west"',
      'optionl',
      'optional',
    ],
  ]

for (const [what, call, cannot, name, hint] of REFUSED) {
  const meant = hint.includes(', ') ? `the options are ${hint}` : `did you mean "${hint}"?`
  test(`an unknown option ${what} is refused, with the nearest one and the place`, () =>
    refuses(call, `${cannot}: there is no option "${name}"; ${meant}`))
}

const OWN = 'Cannot own Secret'

const VALUES: readonly (readonly [describe: () => unknown, problem: string, cannot?: string])[] = [
  [
    of({ metrics: { address: 8443, auth: true } }),
    'metrics.auth needs metrics.tls: true or { certs }, as tokens must not be sent in plain text',
  ],
  [of({ metrics: { tls: true } }), "metrics.tls needs metrics.address, such as ':8443'"],
  [
    of({ metrics: { address: 8443, tls: { certs: '' } } }),
    'metrics.tls.certs must be a folder with tls.crt and tls.key',
  ],
  [of({ metrics: { address: 8443, tls: 'yes' } }), 'metrics.tls is "yes"; it must be true or false or an object'],
  [of({ crds: 'verfy' }), 'crds is "verfy"; did you mean "verify"?'],
  [of({ crds: 'always' }), 'crds is "always"; it must be "install" or "verify" or "ignore" or an object'],
  [of({ crds: { mode: 'verify' } }), 'crds.mode is "verify"; it must be "install"'],
  [of({ leaderElection: 'false' }), 'leaderElection is "false"; it must be true or false or an object'],
  [of({ namespaces: 'prod' }), 'namespaces is "prod"; it must be a list or an object'],
  [() => app.cache(Secret, { namespaces: 'prod' }), 'namespaces is "prod"; it must be a list or an object', CACHE],
  [() => app.cache(Secret, { read: 'cached' }), 'read is "cached"; it must be "live"', CACHE],
  [() => controller().owns(Secret, { rights: 'update' }), 'rights is "update"; it must be a list', OWN],
  [() => controller().owns(Secret, { rights: ['delete', 'updte'] }), 'rights is "updte"; did you mean "update"?', OWN],
  [
    () => controller().owns(Secret, { rights: ['patch'] }),
    'rights is "patch"; it must be "update" or "delete" or "deletecollection"',
    OWN,
  ],
  ...['syncTimeout', 'grace', 'controllers.timeout', 'controllers.backoff.base', 'controllers.backoff.max'].map(
    (path) => [of(at(path, 'soon')), `${path}: Cannot read duration "soon": ${DURATION}`] as const,
  ),
  ...['leaderElection.duration', 'leaderElection.renewDeadline', 'leaderElection.retryPeriod'].map(
    (path) => [of(at(path, 'soon')), `${path}: Cannot read duration "soon": ${DURATION}`] as const,
  ),
  ...['webhooks.shutdownDelay', 'webhooks.certs.duration', 'webhooks.certs.renewBefore'].map(
    (path) => [of(at(path, 'soon')), `${path}: Cannot read duration "soon": ${DURATION}`] as const,
  ),
  ...['timeout', 'syncTimeout', 'backoff.base', 'backoff.max'].map(
    (path) =>
      [() => controller(at(path, 'soon')), `${path}: Cannot read duration "soon": ${DURATION}`, CONTROL] as const,
  ),
  ...['health', 'metrics', 'metrics.address', 'profiling'].map(
    (path) => [of(at(path, 'eighty')), `${path}: Cannot listen on "eighty": ${ADDRESS}`] as const,
  ),
  [
    of({ leaderElection: { duration: '1500ms' } }),
    'duration is 1500 ms, and must be a whole number of seconds, at least 1',
    ELECT,
  ],
  [
    of({ leaderElection: { duration: '5s' } }),
    'duration (5000 ms) must be longer than renewDeadline (10000 ms)',
    ELECT,
  ],
  [
    of({ leaderElection: { renewDeadline: '2s' } }),
    'renewDeadline (2000 ms) must be longer than 1.2 × retryPeriod (2000 ms)',
    ELECT,
  ],
  ...['leaderElection.lease', 'leaderElection.namespace'].map(
    (path) => [of(at(path, 'A b')), `${path}: Cannot use the name "A b": ${NAME}`] as const,
  ),
  [
    of({ leaderElection: { labels: { team: 'a b' } } }),
    'leaderElection.labels: Cannot set the label "team": a value is text of at most 63 letters, digits, "-", "_" and ' +
    '".", and begins and ends with a letter or digit',
  ],
  [of({ leaderElection: { labels: 'team' } }), 'leaderElection.labels: labels must be an object'],
  [
    of({ webhooks: { port: 65536 } }),
    'webhooks.port: Cannot listen on 65536: a port is a whole number from 0 to 65535',
  ],
  [of({ grace: -1 }), 'grace: Cannot read duration -1: it must be finite and not negative'],
  [
    of({ controllers: { concurrency: 0 } }),
    'controllers.concurrency: its concurrency is 0, and must be an integer of at least 1',
  ],
  [
    () => controller({ concurrency: 1.5 }),
    'concurrency: its concurrency is 1.5, and must be an integer of at least 1',
    CONTROL,
  ],
  [() => controller({ warmup: 1 }), 'warmup is 1; it must be true or false', CONTROL],
  [() => controller('maps'), 'its options are "maps", and must be an object', CONTROL],
]

for (const [call, problem, cannot = DESCRIBE] of VALUES) {
  test(`refused: ${cannot}: ${problem}`, () => refuses(call, `${cannot}: ${problem}`))
}

const base = { group: 'example.com', version: 'v1', kind: 'Foo', spec: z.object({}) }
// deno-lint-ignore no-explicit-any -- as above
const define = (options: object) => (): unknown => defineResource({ ...base, ...options } as any)
const [DEFINE, WORLD] = ['Cannot define resource "Foo"', 'Cannot create a world']
const client = (): Record<string, (...args: unknown[]) => Promise<unknown>> =>
  new KubeClient({ api: new Api({ transport: () => assert.fail('sent') }), fieldManager: 'x' }) as never
const call = (verb: string, ...args: unknown[]) => async (): Promise<unknown> =>
  await client()[verb]!(ConfigMap, ...args)
const REF = { metadata: { namespace: 'a', name: 'b' } }
const [LABEL, DRY] = [
  'there is no option "label"; did you mean "labels"?',
  'there is no option "dryrun"; did you mean "dryRun"?',
]

/** Public options that have no place in a description. */
const ELSEWHERE: readonly (readonly [call: () => unknown, message: string])[] = [
  [of({ namespaces: ['a', 'B_c'] }), 'Cannot cache all kinds in the namespace "B_c": a name has at most 63 '],
  [
    define({ scope: 'Cluster' }),
    `${DEFINE}: there is no option "scope"; the options are group, version, kind, plural, `,
  ],
  [define({ Cluster: true }), `${DEFINE}: there is no option "Cluster"; did you mean "cluster"?`],
  [define({ cluster: 'true' }), `${DEFINE}: cluster is "true"; it must be true or false`],
  [define({ selectableFields: '.spec.a' }), `${DEFINE}: selectableFields is ".spec.a"; it must be a list`],
  [define({ categories: 'all' }), `${DEFINE}: categories is "all"; it must be a list`],
  [define({ served: 'no' }), `${DEFINE}: served is "no"; it must be true or false`],
  [define({ shortNames: 'fo' }), `${DEFINE}: shortNames is "fo"; it must be a list`],
  [
    define({ selectableField: ['.spec.a'] }),
    `${DEFINE}: there is no option "selectableField"; did you mean "selectableFields"?`,
  ],
  [
    define({ columns: { A: { path: '.spec.a', prioritty: 1 } } }),
    `${DEFINE}: there is no option "columns.A.prioritty"; did you mean "columns.A.priority"?`,
  ],
  [
    define({ scale: { labelselector: '' } }),
    `${DEFINE}: there is no option "scale.labelselector"; did you mean "scale.labelSelector"?`,
  ],
  [() => world(app, { replica: 2 } as object), `${WORLD}: there is no option "replica"; did you mean "replicas"?`],
  [() => world(app, { objects: {} } as object), `${WORLD}: objects is [object Object]; it must be a list`],
  [
    () => world(app, { faults: [{ status: 500, time: 2 } as never] }),
    'Cannot add a fault: there is no option "time"; did you mean "times"?',
  ],
  [
    () => startEnvtest({ asset: '/a' } as object),
    'Cannot start a control plane: there is no option "asset"; did you mean "assets"?',
  ],
  [call('list', { label: 'a' }), `Cannot call the client: ${LABEL}`],
  [call('watch', { label: 'a' }), `Cannot call the client: ${LABEL}`],
  [call('pages', { label: 'a' }), `Cannot call the client: ${LABEL}`],
  [call('deleteAll', { namespace: 'a', label: 'a' }), `Cannot call the client: ${LABEL}`],
  [call('delete', REF, { dryrun: true }), `Cannot call the client: ${DRY}`],
  ...['create', 'apply', 'patch', 'setStatus'].map((verb) =>
    [
      call(verb, REF, ...(verb === 'create' || verb === 'apply' ? [] : [{ merge: {} }]), { dryrun: true }),
      `Cannot call the client: ${DRY}`,
    ] as const
  ),
]

for (const [call, message] of ELSEWHERE) {
  test(`refused: ${message}`, async () => {
    await assert.rejects(async () => await call(), (error: Error) => {
      assert.ok(error instanceof TypeError && error.message.startsWith(message), error.message)
      return true
    })
  })
}

test('existing options are accepted, also with undefined', () => {
  const app = describe({
    name: 'y',
    log: undefined,
    leaderElection: { lease: 'x', labels: { own: 'label' } },
    namespaces: ['a'],
    cache: { strip: () => {} },
    crds: { mode: 'install', narrow: true },
    health: 8080,
    metrics: ':8081',
  })
  app.cache(Secret, { namespaces: { a: { labels: 'a=b' }, '*': {} }, read: 'live', optional: undefined })
  app.cache(ConfigMap, { namespaces: ['a'] })
  app.controllerFor(ConfigMap, { backoff: { base: '1s' }, everyReplica: false })
    .owns(Secret, { anyOwner: true, rights: ['delete'] })
    .reconcile(async () => {})
  assert.equal(app.description.controllers.length, 1)
})

test('the nearest name differs by at most a quarter of its letters, in any case', () => {
  const nearest: Readonly<Record<string, string | undefined>> = {
    ...{ concurency: 'concurrency', CONCURRENCY: 'concurrency', cocnurrency: 'concurrency', concurren: 'concurrency' },
    ...{
      nmae: 'name',
      then: 'when',
      wwhen: 'when',
      hen: 'when',
      concurrencies: undefined,
      conc: undefined,
      xyz: undefined,
      '': undefined,
    },
  }
  for (const [word, name] of Object.entries(nearest)) {
    assert.equal(nearestName(word, ['concurrency', 'name', 'when']), name, word)
  }
})

function refuses(call: () => unknown, message: string): void {
  assert.throws(call, (error) => {
    assert.ok(error instanceof TypeError)
    const [, said, place] = /^(.*) \((.*)\)$/.exec(error.message) ?? []
    assert.equal(said, message)
    assert.match(place ?? '', /option_names\.test\.ts:\d+:\d+$/)
    return true
  })
}
