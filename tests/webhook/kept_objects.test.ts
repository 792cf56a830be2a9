/** What another writer changes in a definition is restored or reported as soon as the watch reports it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import * as z from 'zod'
import { Api } from '../../lib/client/api.ts'
import { LeadershipLost } from '../../lib/core/errors.ts'
import { CRD, type CustomResourceConversion } from '../../lib/core/resource.ts'
import { conversionOf } from '../../lib/webhook/configurations/configurations.ts'
import { keepDefinition, keepTrusted, type KeptDefinition } from '../../lib/webhook/configurations/kept_objects.ts'
import { VALIDATING } from '../../lib/webhook/common/ownership.ts'
import { type Recorder, recorder, refusal } from '../client/transports.ts'
import { Seen, TimerClock } from './secret_lab.ts'

const OURS = { url: 'https://ours.example' }
const OTHER = conversionOf({ service: { namespace: 'default', name: 'other' } })
const TITLE = 'CustomResourceDefinition "sites.example.com"'
const NONE =
  `${TITLE}, which had the strategy None: what was written in a version that is not stored may have lost fields`
const ELSEWHERE = `${TITLE}, which calls the Service "default/other", not https://ours.example/convert`
const MOVED = conversionOf(OURS, 'ca', '/moved')
const AWAY = `${TITLE}, which calls https://ours.example/moved at another path or port`
const REMEDY = "apply what kubeloop manifests FILE prints, or set crds: 'install'"

const target = { resource: CRD, name: 'sites.example.com' }
const common = { group: 'example.com', kind: 'Site', spec: z.object({}) } as const
const Site = defineResource({ ...common, version: 'v1' })
const Old = defineResource({ ...common, version: 'v1alpha1' })

type Version = { readonly name: string; readonly served: boolean; readonly storage: boolean }

interface Lab {
  readonly lines: Seen<string>
  readonly network: Recorder
  readonly clock: TimerClock
  /** Changes the conversion as this field manager. */
  change(conversion: Conversion, fieldManager?: string): Promise<void>
  /** Changes the versions as kubectl does. */
  changeVersions(versions: readonly Version[]): Promise<void>
  stored(): Promise<unknown>
}

async function keeping(over: Partial<KeptDefinition>, work: (lab: Lab) => Promise<void>): Promise<void> {
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
  const ended = keepDefinition({
    ...{ name: target.name, operator: 'sites', restores: true, clock },
    api: new Api({ transport: network.transport }),
    wanted: () => Promise.resolve(conversionOf(OURS, 'ca')),
    versions,
    reinstall: undefined,
    addCas: () => Promise.resolve(false),
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
      async changeVersions(changes) {
        const now = await api.get(target) as { spec?: { versions: readonly Version[] } }
        const [{ name: _, ...first }] = now.spec!.versions as [Version]
        const next = changes.map((each) => ({ ...first, ...each }))
        await api.update(target, { ...now, spec: { ...now.spec, versions: next } } as never, {
          fieldManager: 'kubectl',
        })
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

/** The first write is refused. */
function contended(): Recorder['intercept'] {
  let writes = 0
  return (request, next) =>
    request.method !== 'GET' && writes++ === 0 ? Promise.resolve(refusal(409, 'Conflict')) : next(request)
}

const none = { strategy: 'None' } as const
type Conversion = CustomResourceConversion | typeof none
interface Circumstances {
  readonly manager?: string
  readonly restores?: boolean
  readonly intercept?: Recorder['intercept']
}

const CASES: readonly (readonly [string, Conversion, Circumstances, isRestored: boolean])[] = [
  ['the strategy None of another writer is replaced at once', none, {}, true],
  ['it is replaced after a conflict', none, { intercept: contended() }, true],
  ['the strategy None of a newer release of the operator stays', none, { manager: 'sites' }, false],
  ['where others install, the strategy None is reported', none, { restores: false }, false],
  ['another server that converts stays', OTHER, {}, false],
  ['another server that does not convert is replaced', OTHER, { intercept: unconverted }, true],
  ['where others install, another server is reported', OTHER, { restores: false, intercept: unconverted }, false],
  ['another path of our server, which does not convert, is replaced', MOVED, { intercept: unconverted }, true],
  ['where others install, it is reported', MOVED, { restores: false, intercept: unconverted }, false],
]

for (const [what, conversion, { manager, restores = true, intercept }, isRestored] of CASES) {
  test(what, () =>
    keeping({ restores }, async ({ lines, network, clock, change, stored }) => {
      const text = `the conversion of ${conversion === none ? NONE : conversion === MOVED ? AWAY : ELSEWHERE}`
      const line = isRestored ? `error Restored ${text}` : `error Another writer changed ${text}: ${REMEDY}`
      network.intercept = intercept
      await change(conversion, manager)
      assert.equal(await lines.is(() => true), line)
      assert.deepEqual(await stored(), isRestored ? conversionOf(OURS, 'ca') : conversion)
      const queriesOf = (method: string, path: string): (string | undefined)[] =>
        network.requests.filter((each) => each.method === method && each.path.startsWith(path))
          .map((each) => each.path.split('?')[1])
      assert.deepEqual(new Set(queriesOf('PUT', '/')), new Set(isRestored ? ['fieldManager=sites'] : []))
      assert.ok(queriesOf('GET', '/apis/example.com/').every((query) => query === 'limit=1'))
      // It is read again, and reported once.
      const next = clock.waits(60_000)
      await clock.advance(60_000)
      await next
      assert.deepEqual(lines.all, [line])
    }))
}

test('another path of our server that converts is another name of ours', () =>
  keeping({}, async ({ lines, network, clock, change }) => {
    const next = clock.waits(60_000)
    await change(MOVED)
    await next
    assert.deepEqual(lines.all, [])
    const asked = network.requests.filter(({ path }) => path.includes('/sites?'))
    const ofOld = { path: '/apis/example.com/v1alpha1/sites?limit=1', quiet: true }
    assert.deepEqual(asked.map(({ path, quiet }) => ({ path, quiet })), [ofOld])
  }))

test('a writer that insists is answered three times in a minute', () =>
  keeping({}, async ({ lines, clock, network, change }) => {
    for (let i = 0; i < 3; i++) {
      await change({ strategy: 'None' })
      await lines.is(() => true, i)
    }
    network.take()
    await change({ strategy: 'None' })
    await clock.advance(59_999)
    assert.deepEqual(network.take(), [])
    const restored = lines.is(() => true, 3)
    const timer = (): Promise<number> => clock.timers.is(() => true, clock.timers.all.length)
    let next = timer()
    await clock.advance(1)
    await restored
    // And three times in the next one.
    for (let i = 4; i < 6; i++) {
      assert.equal(await next, 0)
      next = timer()
      await change({ strategy: 'None' })
      await clock.advance(0)
      await lines.is(() => true, i)
    }
    assert.equal(await next, 60_000)
  }))

test('what was in order in between is reported again, and each watch but the last is closed', () =>
  keeping({ restores: false }, async ({ lines, clock, network, change }) => {
    for (let reports = 1; reports <= 2; reports++) {
      for (const conversion of [none, conversionOf(OURS, 'ca')]) {
        const read = clock.waits(60_000)
        await change(conversion)
        await read
      }
      assert.deepEqual(
        lines.all,
        Array(reports).fill(`error Another writer changed the conversion of ${NONE}: ${REMEDY}`),
      )
    }
    const watches = network.requests.filter(({ path }) => path.includes('watch='))
    assert.deepEqual(watches.map(({ signal }) => signal!.aborted), [true, true, true, true, false])
  }))

const both = { served: true, storage: false }
const v1 = { ...both, name: 'v1' }
const VERSIONS: readonly (readonly [string, readonly Version[], text: string | undefined])[] = [
  ['another stored version', [v1, { ...both, name: 'v1alpha1', storage: true }], 'which stored v1alpha1, not v1'],
  [
    'a version that is not served',
    [{ ...v1, storage: true }, { ...both, name: 'v1alpha1', served: false }],
    'which did not serve v1alpha1',
  ],
  ['a missing version', [{ ...v1, storage: true }], 'which did not serve v1alpha1'],
  [
    'the stored version of a newer release',
    [{ ...v1, served: false }, { ...both, name: 'v2', storage: true }],
    undefined,
  ],
  ['one more version', [{ ...v1, storage: true }, { ...both, name: 'v1alpha1' }, { ...both, name: 'v2' }], undefined],
]

for (const [what, versions, text] of VERSIONS) {
  test(`${what} is ${text ? 'restored by the leader, and reported where others install' : 'left alone'}`, async () => {
    let installs = 0
    const reinstall = async (): Promise<void> => void installs++
    await keeping({ reinstall }, async ({ lines, network, clock, changeVersions }) => {
      const read = clock.waits(60_000)
      await changeVersions(versions)
      // The pretended installation changes nothing, so it is tried three times.
      if (text) await lines.is(() => true, 2)
      await read
      assert.equal(installs, text ? 3 : 0)
      assert.deepEqual(lines.all, Array(installs).fill(`error Restoring the versions of ${TITLE}, ${text}`))
      network.take()
    })
    await keeping({ restores: false }, async ({ lines, clock, changeVersions }) => {
      const read = clock.waits(60_000)
      await changeVersions(versions)
      await read
      assert.deepEqual(
        lines.all,
        text ? [`error Another writer changed the versions of ${TITLE}, ${text}: ${REMEDY}`] : [],
      )
    })
    // Without leader election, releases beside each other would undo each other's.
    await keeping({}, async ({ lines, clock, changeVersions }) => {
      const read = clock.waits(60_000)
      await changeVersions(versions)
      await read
      assert.deepEqual(lines.all, [])
    })
  })
}

test('CAs are added after each change of a definition that calls us, and of a configuration that exists', async () => {
  let calls = 0
  const asked: string[] = []
  const addCas: KeptDefinition['addCas'] = async ({ resource, name }) => {
    calls++
    asked.push(`${resource.kind} ${name}`)
    return false
  }
  await keeping({ addCas, restores: false }, async ({ clock, change }) => {
    assert.equal(calls, 1)
    for (const [conversion, expected] of [[conversionOf(OURS), 2], [OTHER, 2]] as const) {
      const read = clock.waits(60_000)
      await change(conversion)
      await read
      assert.equal(calls, expected)
    }
  })
  const api = new Api({ transport: new ApiServer().handle })
  const clock = new TimerClock()
  const log = { debug() {}, info() {}, warn: assert.fail, error: assert.fail }
  const stop = new AbortController()
  calls = 0
  const ended = keepTrusted(VALIDATING, 'sites', { api, clock, log, addCas }, stop.signal)
  await clock.waits(60_000)
  assert.equal(calls, 0)
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: VALIDATING.kind,
    metadata: { name: 'sites' },
  }
  const seen = clock.waits(60_000)
  await api.create({ resource: VALIDATING }, configuration, { fieldManager: 'deployer' })
  await seen
  assert.equal(calls, 1)
  assert.deepEqual([...new Set(asked)], [`${CRD.kind} ${target.name}`, `${VALIDATING.kind} sites`])
  stop.abort()
  await ended
})

test('a failure is reported and tried again, and a lost lease ends it', async () => {
  const lost = new LeadershipLost('the lease is lost')
  const failing = keeping({ wanted: () => Promise.reject(new Error('no certificate')) }, async ({ lines, clock }) => {
    const line = `warn Cannot keep ${TITLE}; trying again in 60 s: no certificate`
    assert.equal(await lines.is(() => true), line)
    await clock.advance(60_000)
    assert.equal(await lines.is(() => true, 1), line)
  })
  await failing
  await assert.rejects(keeping({ wanted: () => Promise.reject(lost) }, () => Promise.resolve()), lost)
})
