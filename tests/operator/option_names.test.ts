import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operator } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import { nearestName } from '../../lib/core/option_names.ts'

/** Accepts any options, as plain JavaScript does. */
// deno-lint-ignore no-explicit-any -- that is the subject
const describe = operator as any
/** One operator for all tests, as an unused one is reported. */
const app = describe({ name: 'x' })
assert.ok(app.description)
const controller = (options?: unknown) => app.controllerFor(ConfigMap, options)

const REFUSED: readonly (readonly [what: string, describe: () => unknown, message: string])[] = [
  [
    'of the operator',
    () => describe({ name: 'x', leaderElecton: true }),
    'Cannot describe operator "x": there is no option "leaderElecton"; did you mean "leaderElection"?',
  ],
  [
    'of the operator, with undefined',
    () => describe({ name: 'x', leaderelection: undefined }),
    'Cannot describe operator "x": there is no option "leaderelection"; did you mean "leaderElection"?',
  ],
  [
    'of the election',
    () => describe({ name: 'x', leaderElection: { retryPeriods: '1s' } }),
    'Cannot describe operator "x": there is no option "leaderElection.retryPeriods"; did you mean "leaderElection.retryPeriod"?',
  ],
  [
    'of all caches',
    () => describe({ name: 'x', cache: { namespaces: { a: { label: 'b' } } } }),
    'Cannot describe operator "x": there is no option "cache.namespaces.a.label"; did you mean "cache.namespaces.a.labels"?',
  ],
  [
    'of the metrics',
    () => describe({ name: 'x', metrics: { port: 1 } }),
    'Cannot describe operator "x": there is no option "metrics.port"; the options are address, registry, tls, auth',
  ],
  [
    'of a controller',
    () => controller({ concurency: 2 }),
    'Cannot control ConfigMap: there is no option "concurency"; did you mean "concurrency"?',
  ],
  [
    'of a back-off',
    () => controller({ backoff: { first: '1s' } }),
    'Cannot control ConfigMap: there is no option "backoff.first"; the options are base, max',
  ],
  [
    'of owns',
    () => controller().owns(Secret, { anyOwners: true }),
    'Cannot own Secret: there is no option "anyOwners"; did you mean "anyOwner"?',
  ],
  [
    'of watches',
    () => controller().watches(Secret, () => [], { filter: () => true }),
    'Cannot watch Secret: there is no option "filter"; the options are when, queue, cluster, optional',
  ],
  [
    'of finalize',
    () => controller().finalize(async () => {}, { finaliser: 'a/b' }),
    'Cannot finalize ConfigMap: there is no option "finaliser"; did you mean "finalizer"?',
  ],
  [
    'of a cache',
    () => app.cache(Secret, { label: 'a' }),
    'Cannot cache secrets: there is no option "label"; did you mean "labels"?',
  ],
  [
    'of a task',
    () => app.add('t', async () => {}, { everyreplica: true }),
    'Cannot add "t": there is no option "everyreplica"; did you mean "everyReplica"?',
  ],
  [
    'of a cluster',
    () => app.cluster('west', {}, { optionl: true }),
    'Cannot name the cluster "west": there is no option "optionl"; did you mean "optional"?',
  ],
]

for (const [what, call, message] of REFUSED) {
  test(`an unknown option ${what} is refused, with the nearest one and the place`, () => refuses(call, message))
}

const VALUES: readonly (readonly [describe: () => unknown, message: string])[] = [
  [
    () => describe({ name: 'x', metrics: { address: 8443, auth: true } }),
    'Cannot describe operator "x": metrics.auth needs metrics.tls: true or { certs }, as tokens must not be sent in ' +
    'plain text',
  ],
  [
    () => describe({ name: 'x', metrics: { tls: true } }),
    'Cannot describe operator "x": metrics.tls needs metrics.address, such as \':8443\'',
  ],
  [
    () => describe({ name: 'x', metrics: { address: 8443, tls: { certs: '' } } }),
    'Cannot describe operator "x": metrics.tls.certs must be a folder with tls.crt and tls.key',
  ],
  [
    () => describe({ name: 'x', metrics: { address: 8443, tls: 'yes' } }),
    'Cannot describe operator "x": metrics.tls is "yes"; it must be true or false or an object',
  ],
  [
    () => describe({ name: 'x', crds: 'verfy' }),
    'Cannot describe operator "x": crds is "verfy"; did you mean "verify"?',
  ],
  [
    () => describe({ name: 'x', crds: 'always' }),
    'Cannot describe operator "x": crds is "always"; it must be "install" or "verify" or "ignore" or an object',
  ],
  [
    () => describe({ name: 'x', crds: { mode: 'verify' } }),
    'Cannot describe operator "x": crds.mode is "verify"; it must be "install"',
  ],
  [
    () => describe({ name: 'x', leaderElection: 'false' }),
    'Cannot describe operator "x": leaderElection is "false"; it must be true or false or an object',
  ],
  [
    () => describe({ name: 'x', namespaces: 'prod' }),
    'Cannot describe operator "x": namespaces is "prod"; it must be a list',
  ],
  [
    () => app.cache(Secret, { namespaces: 'prod' }),
    'Cannot cache secrets: namespaces is "prod"; it must be a list or an object',
  ],
  [() => app.cache(Secret, { read: 'cached' }), 'Cannot cache secrets: read is "cached"; it must be "live"'],
  [() => controller({ warmup: 1 }), 'Cannot control ConfigMap: warmup is 1; it must be true or false'],
  [() => controller('maps'), 'Cannot control ConfigMap: its options are "maps", and must be an object'],
]

for (const [call, message] of VALUES) test(`refused: ${message}`, () => refuses(call, message))

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
    .owns(Secret, { anyOwner: true })
    .reconcile(async () => {})
  assert.equal(app.description.controllers.length, 1)
})

test('the nearest name differs by at most a quarter of its letters, in any case', () => {
  const names = ['concurrency', 'name', 'when']
  assert.deepEqual(
    ['concurency', 'CONCURRENCY', 'cocnurrency', 'concurrencies', 'concurren', 'conc', 'nmae', 'then', 'xyz', '']
      .map((word) => nearestName(word, names)),
    [
      'concurrency',
      'concurrency',
      'concurrency',
      undefined,
      'concurrency',
      undefined,
      'name',
      'when',
      undefined,
      undefined,
    ],
  )
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
