/** Options of controllers in an operator file: their defaults, how keys are queued, and their log lines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ControllerDefaults, type ControllerOptions, operator, type QueueOptions, TerminalError } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'
import type { KubeObject } from '../../lib/core/objects.ts'
import { type Log, LOG_LEVELS, type LogLevel } from '../../lib/observe/log.ts'
import { create, failures, ours, ref, starting } from './starting.ts'

const own = { name: 'own', concurrency: 4, timeout: '4s', backoff: { max: '4s' }, holdEvents: false } as const
const common = { concurrency: 2, timeout: '2s', backoff: { base: '2s' }, holdEvents: true, logLevel: 'warn' } as const
const limiter = () => ({ when: () => 1, failures: () => 0, forget: () => {} })
const MERGED: Readonly<Record<string, [ControllerOptions<KubeObject>, ControllerDefaults | undefined, object]>> = {
  'the defaults': [{}, common, common],
  'its own options, and the other defaults': [own, common, { ...own, logLevel: 'warn' }],
  'the defaults instead of undefined': [{ concurrency: undefined } as object, common, common],
  'its limiter instead of the default back-off': [{ limiter }, { backoff: common.backoff }, { limiter }],
  'its own options without defaults': [own, undefined, own],
}
for (const [what, [options, controllers, merged]] of Object.entries(MERGED)) {
  test(`a controller has ${what}`, () => {
    const app = operator({ name: 'x', ...(controllers && { controllers }) })
    app.controllerFor(ConfigMap, options).reconcile(async () => {})
    assert.deepEqual(app.description.controllers[0]!.options, merged)
  })
}

test('an interval must be more than 0', () => {
  const controller = operator({ name: 'x' }).controllerFor(ConfigMap)
  for (const none of [0, '0s'] as const) {
    assert.throws(() => controller.every(none), /^RangeError: Cannot reconcile every 0/)
  }
})

test('the defaults of all controllers apply: concurrency, when, timeout, back-off and held events', async () => {
  const app = operator({
    name: 'x',
    controllers: { concurrency: 2, when: ours as never, timeout: '10s', backoff: { base: '1m' }, holdEvents: true },
  })
  const runs: string[] = []
  let beganMs = 0
  app.controllerFor(ConfigMap).reconcile(async ({ metadata }, { signal, clock }) => {
    beganMs ||= clock.now()
    runs.push(`${metadata.name} ${clock.now() - beganMs}`)
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
  })
  await using s = await starting(app, {
    before: async (client) => (await create(client, 'a'), await create(client, 'b'), await create(client, 'kube-c')),
  })
  assert.deepEqual(runs.map((run) => run.split(' ')[0]), ['a', 'b'])
  await s.clock.advance(20_000)
  await s.client.patch(ConfigMap, ref('a'), { merge: { data: { n: '1' } } })
  await s.clock.advance(49_000)
  assert.equal(runs.length, 2, 'the event waits for the retry')
  await s.clock.advance(1_000)
  assert.deepEqual(runs.slice(2), ['a 70000', 'b 70000'])
})

test('an invalid default is refused, as it is for one controller', () => {
  const describe = (controllers: object) => () => operator({ name: 'x', controllers }).controllerFor(ConfigMap)
  assert.throws(
    describe({ concurency: 1 }),
    /no option "controllers.concurency"; did you mean "controllers.concurrency"/,
  )
  assert.throws(describe({ logLevel: 'loud' }), /controllers.logLevel is "loud"; it must be "debug" or "info" or/)
})

/** What `queue` returns for the object `b`, and the runs by their time in seconds. */
const QUEUED: Readonly<Record<string, [returns: () => QueueOptions | undefined, runs: string[]]>> = {
  'a priority': [() => ({ priority: 5 }), ['b 0', 'a 0', 'c 0']],
  'a low priority': [() => ({ priority: -200 }), ['a 0', 'c 0', 'b 0']],
  'a delay': [() => ({ after: '5s' }), ['a 0', 'c 0', 'b 5']],
  'the delay of the back-off': [() => ({ rateLimited: true }), ['a 0', 'c 0', 'b 60']],
  'nothing': [() => undefined, ['a 0', 'b 0', 'c 0']],
  'an invalid priority': [() => ({ priority: NaN }), ['a 0', 'b 0', 'c 0']],
  'an invalid delay': [() => ({ after: 'soon' as '1s' }), ['a 0', 'b 0', 'c 0']],
  'an error': [() => assert.fail('mine'), ['a 0', 'b 0', 'c 0']],
}
for (const [what, [returns, expected]] of Object.entries(QUEUED)) {
  for (const source of ['own', 'watches', 'owns'] as const) {
    test(`keys of ${source} are queued with ${what}`, async () => {
      const app = operator({ name: 'x' })
      const runs: string[] = []
      const events: string[] = []
      let beganMs = NaN
      const queue: NonNullable<ControllerOptions<KubeObject>['queue']> = ({ metadata: { name } }, event) => {
        events.push(`${event.kind}${event.kind === 'added' && event.initial ? ' initial' : ''}`)
        return name === 'b' ? returns() : undefined
      }
      const builder = app.controllerFor(source === 'own' ? ConfigMap : Secret, {
        backoff: { base: '1m' },
        ...(source === 'own' && { when: ours as never, queue: queue as never }),
      })
      if (source === 'watches') builder.watches(ConfigMap, ({ metadata }) => [metadata], { when: ours, queue })
      if (source === 'owns') builder.owns(ConfigMap, { when: ours, queue })
      builder.reconcileKey(async ({ name }, { clock }) => {
        if (Number.isNaN(beganMs)) beganMs = clock.now()
        runs.push(`${name} ${(clock.now() - beganMs) / 1000}`)
      })
      await using s = await starting(app, {
        async before(client) {
          for (const name of ['a', 'b', 'c']) {
            const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name, uid: name, controller: true }]
            await client.create(ConfigMap, { metadata: { ...ref(name), ownerReferences } })
          }
        },
      })
      await s.clock.advance(120_000)
      assert.deepEqual([runs, events], [expected, Array.from({ length: 3 }, () => 'added initial')])
      const errors = failures(s)
      const isWrong = what.includes('invalid') || what.includes('error')
      assert.match(errors.join(), isWrong ? /^Cannot use what queue returned for ConfigMap "default\/b": / : /^$/)
    })
  }
}

/** Returns a log of lines `level message` from this level on. */
function keptLog(lowest: LogLevel | undefined): { readonly lines: string[]; readonly log: Log } {
  const lines: string[] = []
  const at = (level: LogLevel | undefined): Log => ({
    ...Object.fromEntries(LOG_LEVELS.map((each, i) => [each, (message: string) => {
      if (i >= LOG_LEVELS.indexOf(level ?? 'debug')) lines.push(`${each} ${message}`)
    }])) as unknown as Log,
    ...(level && { level, withLevel: at }),
  })
  return { lines, log: at(lowest) }
}

const LEVELS: Readonly<
  Record<string, [log: LogLevel | undefined, controller: LogLevel | undefined, debug: boolean, info: boolean]>
> = {
  'at debug each run has a line': ['debug', undefined, true, true],
  'at info there is none': ['info', undefined, false, true],
  'a log that says no level gets none': [undefined, undefined, false, true],
  'a controller may log more than the others': ['info', 'debug', true, true],
  'a controller may log less than the others': ['debug', 'warn', false, false],
  'a log without levels is filtered': [undefined, 'warn', false, false],
  'a log without levels gets the lines that were asked for': [undefined, 'debug', true, true],
}
for (const [what, [level, logLevel, debug, info]] of Object.entries(LEVELS)) {
  test(`the log of a controller: ${what}`, async () => {
    const app = operator({ name: 'x' })
    const west = app.cluster('west', { server: 'http://127.0.0.1:1' })
    for (const cluster of [undefined, west]) {
      app.controllerFor(ConfigMap, {
        when: ours,
        name: cluster ? 'far' : 'near',
        ...(cluster && { cluster }),
        ...(logLevel && { logLevel }),
      }).reconcile(async ({ metadata, data }, { client, log }) => {
        log.info(`the user's of ${metadata.name}`)
        if (data?.['password']) throw new TerminalError('no')
        await client.apply(Secret, { metadata: ref('made') })
      })
    }
    const { lines, log } = keptLog(level)
    await using s = await starting(app, { log })
    for (const client of [s.client, s.clientOf(west)]) {
      await client.create(ConfigMap, { metadata: ref('a'), data: { password: '' } })
      await s.clock.advance(0)
      await client.patch(ConfigMap, ref('a'), { merge: { data: { password: 'hunter2' } } })
      await s.clock.advance(0)
    }
    const runs = lines.filter((line) => line.includes('Reconciled'))
    assert.equal(runs.length, debug ? 4 : 0)
    if (debug) {
      assert.match(runs[0]!, /^debug Reconciled for added in \S+ .?s: success, apply Secret "default\/made"$/)
      assert.match(runs[1]!, /^debug Reconciled for data\.password changed in \S+ .?s: error, nothing to write$/)
      assert.ok(!lines.join().includes('hunter2'))
    }
    assert.equal(lines.includes("info the user's of a"), info)
    assert.equal(lines.some((line) => /^error Cannot reconcile ConfigMap "default\/a": no/.test(line)), true)
  })
}

test("every function knows the operator's own namespace: that of the configuration, or default", async () => {
  const seen = new Set<string>()
  const app = operator({ name: 'x' })
  const note = (place: string) => (context: { readonly ownNamespace: string }): void =>
    void seen.add(`${place} ${context.ownNamespace}`)
  app.controllerFor(ConfigMap, { when: ours })
    .watches(Secret, (_, context) => (note('map')(context), []))
    .every('1s', (context) => (note('every')(context), []))
    .finalize(async (_, context) => note('cleanup')(context))
    .reconcile(async (_, context) => note('reconcile')(context))
  app.add('task', async (context) => note('task')(context))
  for (const cluster of [undefined, { server: 'http://127.0.0.1:1', namespace: 'mine' }]) {
    await using s = await starting(app, {
      ...(cluster && { cluster }),
      before: async (client) => (await create(client, 'a'), await client.create(Secret, { metadata: ref('s') })),
    })
    await s.clock.advance(1000)
    await s.client.delete(ConfigMap, ref('a'))
    await s.clock.advance(1000)
  }
  const places = ['cleanup', 'every', 'map', 'reconcile', 'task']
  assert.deepEqual([...seen].sort(), places.flatMap((place) => [`${place} default`, `${place} mine`]))
})
