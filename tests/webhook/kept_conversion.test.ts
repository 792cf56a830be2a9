/** The conversion of a definition: what another writer changes is restored or reported as soon as the watch reports it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import * as z from 'zod'
import { Api } from '../../lib/client/api.ts'
import { LeadershipLost } from '../../lib/core/errors.ts'
import { CRD, type CustomResourceConversion } from '../../lib/core/resource.ts'
import { conversionOf } from '../../lib/webhook/configurations.ts'
import { keepConversion, type KeptConversion } from '../../lib/webhook/kept_conversion.ts'
import { type Recorder, recorder, refusal } from '../client/transports.ts'
import { Seen, TimerClock } from './secret_lab.ts'

const OURS = { url: 'https://ours.example' }
const OTHER = conversionOf({ service: { namespace: 'default', name: 'other' } })
const TITLE = 'CustomResourceDefinition "sites.example.com"'
const NONE =
  `${TITLE}, which had the strategy None: what was written in a version that is not stored may have lost fields`
const ELSEWHERE = `${TITLE}, which calls the Service "default/other", not https://ours.example/convert`
const REMEDY = "apply what kubeloop manifests FILE prints, or set crds: 'install'"

const target = { resource: CRD, name: 'sites.example.com' }
const common = { group: 'example.com', kind: 'Site', spec: z.object({}) } as const
const Site = defineResource({ ...common, version: 'v1' })
const Old = defineResource({ ...common, version: 'v1alpha1' })

interface Lab {
  readonly lines: Seen<string>
  readonly network: Recorder
  readonly clock: TimerClock
  /** Changes the conversion as this field manager. */
  change(conversion: CustomResourceConversion | { strategy: 'None' }, fieldManager?: string): Promise<void>
  stored(): Promise<unknown>
}

async function keeping(
  over: Partial<KeptConversion>,
  work: (lab: Lab) => Promise<void>,
): Promise<void> {
  const server = new ApiServer()
  const network = recorder(server.handle)
  const api = new Api({ transport: server.handle })
  const clock = new TimerClock()
  const lines = new Seen<string>()
  const line = (level: string) => (message: string): void => lines.add(`${level} ${message}`)
  const versions = [Site, Old].map(({ definition }, at) => ({
    ...definition.crd.spec.versions[0]!,
    storage: at === 0,
  }))
  const spec = { ...Site.definition.crd.spec, versions, conversion: conversionOf(OURS, 'ca') }
  await api.create({ resource: CRD }, { ...Site.definition.crd, spec }, { fieldManager: 'sites' })
  const stopping = new AbortController()
  const ended = keepConversion({
    ...{ name: target.name, operator: 'sites', restores: true, clock },
    api: new Api({ transport: network.transport }),
    wanted: () => Promise.resolve(conversionOf(OURS, 'ca')),
    log: { debug() {}, info: line('info'), warn: line('warn'), error: line('error') },
    ...over,
  }, stopping.signal)
  try {
    await Promise.race([ended, clock.waits(60_000)])
    await work({
      ...{ lines, network, clock },
      async change(conversion, fieldManager = 'kubectl') {
        const now = await api.get(target) as { spec?: object }
        await api.update(target, { ...now, spec: { ...now.spec, conversion } } as never, { fieldManager })
      },
      stored: async () => ((await api.get(target)) as { spec?: { conversion?: unknown } }).spec!.conversion,
    })
  } finally {
    stopping.abort()
    await ended
  }
}

const unconverted: Recorder['intercept'] = (request, next) =>
  request.path.startsWith('/apis/example.com/v1alpha1/')
    ? Promise.resolve(refusal(500, '', {}, 'conversion webhook for example.com/v1, Kind=Site failed: no endpoints'))
    : next(request)

const CASES: readonly {
  readonly what: string
  readonly conversion: CustomResourceConversion | { strategy: 'None' }
  readonly manager?: string
  readonly restores?: boolean
  readonly intercept?: Recorder['intercept']
  readonly line: string
  readonly isRestored: boolean
}[] = [
  {
    ...{ what: 'the strategy None of another writer is replaced at once', conversion: { strategy: 'None' } },
    ...{ isRestored: true, line: `error Restored the conversion of ${NONE}` },
  },
  {
    ...{ what: 'the strategy None of a newer release of the operator stays', conversion: { strategy: 'None' } },
    ...{ manager: 'sites', isRestored: false },
    line: `error Another writer changed the conversion of ${NONE}: ${REMEDY}`,
  },
  {
    ...{ what: 'where others install, the strategy None is reported', conversion: { strategy: 'None' } },
    ...{ restores: false, isRestored: false },
    line: `error Another writer changed the conversion of ${NONE}: ${REMEDY}`,
  },
  {
    ...{ what: 'another server that converts stays', conversion: OTHER, isRestored: false },
    line: `error Another writer changed the conversion of ${ELSEWHERE}: ${REMEDY}`,
  },
  {
    ...{ what: 'another server that does not convert is replaced', conversion: OTHER, isRestored: true },
    ...{ intercept: unconverted, line: `error Restored the conversion of ${ELSEWHERE}` },
  },
  {
    ...{ what: 'where others install, another server is reported', conversion: OTHER, isRestored: false },
    ...{ restores: false, intercept: unconverted },
    line: `error Another writer changed the conversion of ${ELSEWHERE}: ${REMEDY}`,
  },
]

for (const { what, conversion, manager, restores = true, intercept, line, isRestored } of CASES) {
  test(what, () =>
    keeping({ restores }, async ({ lines, network, clock, change, stored }) => {
      network.intercept = intercept
      await change(conversion, manager)
      assert.equal(await lines.is(() => true), line)
      assert.deepEqual(await stored(), isRestored ? conversionOf(OURS, 'ca') : conversion)
      // It is read again, and reported once.
      const next = clock.waits(60_000)
      await clock.advance(60_000)
      await next
      assert.deepEqual(lines.all, [line])
    }))
}

test('a writer that insists is answered once in a minute', () =>
  keeping({}, async ({ lines, clock, network, change }) => {
    await change({ strategy: 'None' })
    await lines.is(() => true)
    const waits = clock.waits(60_000)
    network.take()
    await change({ strategy: 'None' })
    await waits
    assert.ok(!network.take().some((each) => each.startsWith('PUT')))
    const restored = lines.is(() => true, 1)
    await clock.advance(60_000)
    await restored
  }))

test('a failure is reported and tried again, and a lost lease ends it', async () => {
  const lost = new LeadershipLost('the lease is lost')
  const failing = keeping({ wanted: () => Promise.reject(new Error('no certificate')) }, async ({ lines, clock }) => {
    const line = `warn Cannot keep the conversion of ${TITLE}; trying again in 60 s: no certificate`
    assert.equal(await lines.is(() => true), line)
    await clock.advance(60_000)
    assert.equal(await lines.is(() => true, 1), line)
  })
  await failing
  await assert.rejects(keeping({ wanted: () => Promise.reject(lost) }, () => Promise.resolve()), lost)
})
