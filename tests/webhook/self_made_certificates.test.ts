import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { after, test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { LeadershipLost, NetworkError } from '../../lib/core/errors.ts'
import type { Fence } from '../../lib/core/fence.ts'
import { readCertificate } from '../../lib/runtime/net/certificate_facts.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { bundleOf, factsOf, takeStep, textsOf } from '../../lib/webhook/certificates/certificate_secret.ts'
import { OPERATOR_LABEL } from '../../lib/webhook/common/ownership.ts'
import { inMemoryCertificates } from '../../lib/webhook/certificates/memory_certificates.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { refusal, silence } from '../client/transports.ts'
import {
  HOUR_MS,
  type Lab,
  lab,
  LIVES,
  NAMES,
  secretWith,
  Seen,
  type Served,
  stopLabs,
  TARGET,
  TimerClock,
} from './secret_lab.ts'
import type { SelfMadeCertificates } from '../../lib/webhook/certificates/self_made_certificates.ts'

after(stopLabs)

const isWatch = ({ path }: { path: string }): boolean => path.includes('watch=true')

/** Asserts that no line, error or other text has a part of a key. */
async function assertNoKeys(one: Lab, ...more: unknown[]): Promise<void> {
  const { caKey, key } = await one.texts()
  const text = [
    ...one.lines.all,
    ...more.map((each) => `${String(each)} ${JSON.stringify(each)} ${(each as Error).stack}`),
  ].join()
  assert.doesNotMatch(text, /PRIVATE KEY|LS0tLS1CRUdJTiBQUklWQVRF/)
  for (const pem of [caKey, key]) {
    for (const line of pem.split('\n').slice(1, -2)) assert.ok(!text.includes(line.slice(0, 20)))
  }
}

test('replicas that start at once create one Secret and serve its leaf', async () => {
  const one = lab()
  const replicas = Array.from({ length: 8 }, () => one.serve(one.replica()))
  const pairs = await Promise.all(replicas.map(({ pairs }) => pairs.is(() => true)))
  const { cert, key, ca } = await one.texts()
  assert.deepEqual([...new Set(pairs.map((pair) => pair.cert + pair.key))], [cert + key])
  assert.equal(one.lines.all.filter((line) => line.startsWith('info Created the certificates')).length, 1)
  const { metadata: { labels }, type, data } = (await one.secret()) as unknown as {
    metadata: { labels: object }
    type: string
    data: object
  }
  assert.deepEqual([labels, type], [{ [OPERATOR_LABEL]: 'sites' }, 'kubernetes.io/tls'])
  assert.deepEqual(Object.keys(data).sort(), ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'])
  const leaf = readCertificate(cert)!
  assert.ok(leaf.isIssuedBy(ca) && leaf.hasNames(NAMES))
  assert.equal(leaf.notAfterMs, one.clock.now() + LIVES.leafLifeMs)
  assert.equal(readCertificate(ca)!.notAfterMs, one.clock.now() + LIVES.caLifeMs)
  await assertNoKeys(one)
  await one.stop()
  await Promise.all(replicas.map(({ done }) => done))
})

test('by default the CA lives ten years and the leaf one', async () => {
  const one = lab()
  const bundle = await one.replica({ timings: undefined }).bundle(one.signal)
  const { cert, ca } = await one.texts()
  assert.equal(bundle, ca)
  const years = (pem: string): number => (readCertificate(pem)!.notAfterMs - one.clock.now()) / (365 * 24 * HOUR_MS)
  assert.deepEqual([years(ca), years(cert)], [10, 1])
})

test('a Secret without our label is refused, and not written', async () => {
  for (const labels of [{}, { [OPERATOR_LABEL]: 'other' }]) {
    const one = lab()
    await one.api.create(TARGET, secretWith(undefined, labels as never), {})
    one.network.take()
    const message =
      'Cannot keep certificates in Secret "default/certs": it exists and lacks the label kubeloop.dev/operator: sites, ' +
      'so its content is of another origin; use another name, or delete it if it is not needed'
    await assert.rejects(one.serve(one.replica()).done, { name: 'ConfigError', message })
    await assert.rejects(one.replica().bundle(one.signal), { name: 'ConfigError', message })
    assert.deepEqual(one.network.take().filter((line) => !line.startsWith('GET')), [])
  }
})

test('a missing right ends the start with the rule that is needed', async () => {
  for (const [method, verb] of [['GET', 'get'], ['POST', 'create']] as const) {
    const one = lab()
    const text =
      `secrets is forbidden: User "x" cannot ${verb} resource "secrets" in API group "" in the namespace "default"`
    one.network.intercept = (request, next) =>
      request.method === method ? Promise.resolve(refusal(403, 'Forbidden', {}, text)) : next(request)
    await assert.rejects(one.serve(one.replica()).done, ({ name, message }: Error) => {
      assert.equal(name, 'ConfigError')
      const [doing, rule] = message.split(
        /(?<=Secret "default\/certs": Cannot \w+ Secret "default\/certs": ).*its role lacks /,
      )
      assert.equal(doing, `Cannot keep certificates in Secret "default/certs": Cannot ${verb} Secret "default/certs": `)
      assert.equal(rule, '{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "watch", "create", "update"] }')
      return true
    })
  }
})

test('a server that cannot be reached at the start is asked again', async () => {
  const one = lab()
  let failures = 2
  one.network.intercept = (request, next) =>
    failures-- > 0 ? Promise.reject(new NetworkError('no route', { phase: 'connect' })) : next(request)
  const served = one.serve(one.replica())
  await one.clock.timers.is((ms) => ms === 1000)
  const second = one.clock.waits(2000)
  await one.clock.advance(1000)
  await second
  await one.clock.advance(2000)
  await served.pairs.is(() => true)
  assert.deepEqual(one.lines.all.filter((line) => line.startsWith('warn')), [
    'warn Cannot keep certificates in Secret "default/certs": no route; trying again',
    'warn Cannot keep certificates in Secret "default/certs": no route; trying again',
  ])
})

test('a start ends when the server could not be reached for two minutes, and at once if it refuses the credentials', async () => {
  const one = lab()
  one.network.intercept = () => Promise.reject(new NetworkError('no route', { phase: 'connect' }))
  const ended = assert.rejects(one.replica().run(() => {}, one.signal), {
    name: 'ConfigError',
    message: 'Cannot keep certificates in Secret "default/certs": no route',
  })
  let isOver = false
  void ended.then(() => (isOver = true))
  await one.clock.advance(119_000)
  assert.equal(isOver, false)
  await one.clock.advance(12_000)
  await ended
  for (
    const [answer, why] of [
      [() => Promise.resolve(refusal(401, 'Unauthorized')), 'Cannot get Secret "default/certs": refused: Unauthorized'],
      [() => Promise.reject(new TypeError('no text')), 'no text'],
      [() => Promise.reject(Object.assign(new Error('no net'), { name: 'NotCapable' })), 'no net'],
    ] as const
  ) {
    one.network.intercept = answer
    await assert.rejects(one.replica().run(() => {}, one.signal), {
      message: `Cannot keep certificates in Secret "default/certs": ${why}`,
    })
  }
})

/** Starts a replica, and returns it with another pair to store. */
async function running(): Promise<{ one: Lab; served: Served; next: Awaited<ReturnType<Lab['texts']>> }> {
  const other = lab()
  await other.replica().bundle(other.signal)
  const one = lab()
  const served = await one.started()
  return { one, served, next: await other.texts() }
}

test('without a watch, and with one that is silent, the Secret is read again', async () => {
  for (
    const [intercepted, ms] of [[() => Promise.resolve(refusal(403, 'Forbidden')), 10_000], [silence, 60_000]] as const
  ) {
    const one = lab()
    one.network.intercept = (request, next) => isWatch(request) ? intercepted(request) : next(request)
    const waits = one.clock.waits(ms)
    const served = await one.started()
    await waits
    const other = lab()
    await other.replica().bundle(other.signal)
    const next = await other.texts()
    await one.store(next)
    await one.clock.advance(ms - 1)
    assert.equal(served.pairs.all.length, 1)
    await one.clock.advance(1)
    await served.pairs.is(({ cert }) => cert === next.cert)
  }
})

test('while the Secret is deleted, damaged, foreign or refused by the server, the last pair is served', async () => {
  const { one, served, next } = await running()
  await one.store({ ...next, key: 'damaged' })
  await one.lines.is((line) => line === 'warn Secret "default/certs" has no valid certificate; serving the last one')
  await one.api.delete(TARGET, {})
  await one.lines.is((line) => line === 'warn Secret "default/certs" is missing; serving the last one')
  assert.equal(served.pairs.all.length, 1)
  served.refuse = new Error('does not match')
  await one.api.create(TARGET, secretWith(next), {})
  const refused =
    'warn Cannot keep certificates in Secret "default/certs": does not match; serving the last certificate'
  await one.lines.is((line) => line === refused)
  served.refuse = undefined
  await one.clock.advance(1000)
  await served.pairs.is(({ cert }) => cert === next.cert)
  const before = one.clock.timers.all.length
  await one.api.patch(TARGET, 'merge', { metadata: { labels: { [OPERATOR_LABEL]: null } } }, {})
  await one.clock.timers.is((ms) => ms <= 1000, before)
  await one.lines.is((line) => line.includes('lacks the label') && line.endsWith('serving the last certificate'))
  one.network.intercept = (request, next) => isWatch(request) ? next(request) : silence(request)
  const reads = one.clock.waits(30_000)
  await one.clock.advance(10_000)
  await reads
  await one.clock.advance(30_000)
  await one.lines.is((line) => line.includes('did not answer within 30 s'))
  one.network.intercept = undefined
  await assertNoKeys(one)
})

/** The injections of a leader. */
class Injected extends Seen<string> {
  #last = ''

  readonly inject = (bundle: string): Promise<number> => {
    this.add(bundle)
    const written = bundle === this.#last ? 0 : 2
    this.#last = bundle
    return Promise.resolve(written)
  }
}

/** Starts a replica with a Secret that was made some time ago. */
async function started(agoMs: number) {
  const nowMs = Date.UTC(2026, 0, 1)
  const handle = new ApiServer().handle
  const past = lab(nowMs - agoMs, handle)
  await past.replica().bundle(past.signal)
  const one = lab(nowMs, handle)
  const replica = one.replica()
  const served = one.serve(replica)
  await served.pairs.is(() => true)
  return { one, served, replica, injected: new Injected(), before: await one.texts() }
}

/** Begins to lead. Resolves when the leader waits for its next check. */
async function leads(one: Lab, replica: SelfMadeCertificates, { inject } = new Injected()): Promise<void> {
  const checked = one.clock.waits(60_000)
  void replica.rotate({ api: one.api, inject }, one.signal)
  await checked
}

const casOf = (bundle: string): string[] =>
  bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? []

test('a leader injects the CA, and renews the leaf with the same CA after two thirds of its life', async () => {
  const { one, served, replica, injected, before } = await started(LIVES.leafLifeMs * 2 / 3)
  await one.api.patch(TARGET, 'merge', { data: { note: 'YQ==' } }, {})
  void replica.rotate({ api: one.api, ...injected }, one.signal)
  const { cert } = await served.pairs.is(({ cert }) => cert !== before.cert)
  await injected.is(() => true)
  assert.equal((await one.secret() as { data?: { note?: string } }).data?.note, 'YQ==', 'what others keep there')
  assert.ok(readCertificate(cert)!.isIssuedBy(before.ca))
  assert.deepEqual(injected.all, [before.ca])
  assert.ok(
    one.lines.all.includes(
      'info Renewed the leaf of the certificates of the webhooks in Secret "default/certs" (it ends soon)',
    ),
  )
  await assertNoKeys(one)
})

test('a CA is rotated in order: both CAs injected, the leaf, the new CA alone', async () => {
  const { one, served, replica, injected, before } = await started(LIVES.caLifeMs * 2 / 3)
  const inEffect = one.clock.waits(10_000)
  // The configurations are checked in between.
  const pickedUp = one.clock.waits(60_000)
  const leads = countedSignal()
  const rotating = replica.rotate({ api: one.api, ...injected }, leads.controller.signal)
  await inEffect
  const both = await one.texts()
  assert.equal(casOf(both.ca).length, 2)
  assert.equal(casOf(both.ca)[1], before.ca)
  assert.deepEqual(injected.all.at(-1), both.ca)
  const renewed = served.pairs.all.at(-1)!.cert
  assert.ok(readCertificate(renewed)!.isIssuedBy(before.ca), 'the leaf stays until both CAs are in effect')

  await one.clock.advance(9999)
  assert.equal((await one.texts()).cert, renewed)
  await one.clock.advance(1)
  const { cert } = await served.pairs.is(({ cert }) => readCertificate(cert)!.isIssuedBy(both.ca))
  await pickedUp
  assert.equal((await one.texts()).ca, both.ca)
  const { hasCaKey, leaf } = factsOf(await one.texts(), NAMES)
  assert.deepEqual([hasCaKey, leaf?.issuer], [true, 0])

  await one.clock.advance(179_999)
  assert.equal((await one.texts()).ca, both.ca)
  await one.clock.advance(1)
  const alone = await injected.is((bundle) => casOf(bundle).length === 1 && bundle !== before.ca)
  assert.equal(alone, casOf(both.ca)[0])
  assert.equal((await one.texts()).cert, cert)
  await assertNoKeys(one)
  assert.equal(leads.listeners(), 1)
  leads.controller.abort()
  await one.stop()
  await rotating
})

test('a check that finds a configuration without the bundle begins the wait anew, and one that does not goes on', async () => {
  const { one, served, before } = await started(LIVES.caLifeMs * 2 / 3)
  const replica = one.replica({ timings: { ...LIVES, inEffectMs: 10_000, checkMs: 4000 } })
  const lacking = [1, 2, 2, 1, 0, 0, 0]
  const inject = (): Promise<number> => Promise.resolve(lacking.shift() ?? 0)
  const step = async (ms: number): Promise<void> => {
    const next = one.clock.timers.is((each) => each <= 4000 && each > 1000, one.clock.timers.all.length)
    await one.clock.advance(ms)
    await next
  }
  const begun = one.clock.waits(4000)
  void replica.rotate({ api: one.api, inject }, one.signal)
  await begun
  const { ca } = await one.texts()
  assert.equal(casOf(ca).length, 2)
  const isRenewed = (): boolean => readCertificate(served.pairs.all.at(-1)!.cert)!.isIssuedBy(ca)
  while (lacking[0] !== 0) await step(4000)
  // The last injection that changed something is the beginning.
  await step(4000)
  await step(4000)
  assert.equal(isRenewed(), false)
  await one.clock.advance(2000)
  await served.pairs.is(() => isRenewed())
  assert.notEqual((await one.texts()).cert, before.cert)
})

test('new names are in the leaf before the configurations are written', async () => {
  const { one, served } = await started(0)
  const names = { dnsNames: ['new.default.svc'], ipAddresses: ['::1'] }
  const replica = one.replica({ names })
  const injecting = new Seen<string>()
  const inject = async (): Promise<number> => {
    injecting.add((await one.texts()).cert)
    return 0
  }
  void replica.rotate({ api: one.api, inject }, one.signal)
  const cert = await injecting.is(() => true)
  assert.ok(readCertificate(cert)!.hasNames(names))
  await served.pairs.is((pair) => pair.cert === cert)
})

test('at its start a replica adds its names to the leaf, and a renewal has the names of its leader alone', async () => {
  const { handle } = new ApiServer()
  const one = lab(undefined, handle)
  const served = one.serve(one.replica())
  const before = await served.pairs.is(() => true)
  const names = { dnsNames: ['new.default.svc'], ipAddresses: ['::1', '10.0.0.1'] }
  const { cert } = await one.started({ names })
  const leaf = readCertificate(cert)!
  assert.ok(leaf.isIssuedBy((await one.texts()).ca) && leaf.hasNames(names) && leaf.hasNames(NAMES))
  await served.pairs.is((pair) => pair.cert === cert)
  await one.replica().bundle(one.signal)
  assert.equal((await one.texts()).cert, cert)
  const later = lab(one.clock.now() + LIVES.leafLifeMs * 2 / 3, handle)
  void later.replica({ names }).rotate({ api: later.api, ...new Injected() }, later.signal)
  const renewed = readCertificate(
    (await served.pairs.is((pair) => pair.cert !== before.cert && pair.cert !== cert)).cert,
  )!
  assert.deepEqual([renewed.hasNames(names), renewed.hasNames(NAMES)], [true, false])
  await later.stop()
})

test('a Secret that is missing when its CAs are asked for is made anew with the CA and the leaf that are served', async () => {
  const { one, replica, before } = await started(0)
  await one.api.delete(TARGET, {})
  const bundle = await replica.bundle(one.signal)
  assert.equal(casOf(bundle)[1], before.ca)
  assert.equal((await one.texts()).cert, before.cert)
})

test('a failing injection is retried, and a leaf that is due does not wait for it', async () => {
  const { one, served, replica, before } = await started(LIVES.leafLifeMs * 2 / 3)
  let left = 1
  const injections = new Seen<string>()
  const inject = (bundle: string): Promise<number> => {
    if (left-- > 0) return Promise.reject(new Error('Cannot install: it is forbidden'))
    injections.add(bundle)
    return Promise.resolve(1)
  }
  void replica.rotate({ api: one.api, inject }, one.signal)
  await one.lines.is((line) =>
    line.startsWith('warn Cannot rotate the certificates of the webhooks: Cannot install: it is forbidden')
  )
  await served.pairs.is(({ cert }) => cert !== before.cert)
  const retried = injections.is(() => true)
  await one.clock.advance(2000)
  await retried
})

test('a server that quotes what it refuses brings no key into the log', async () => {
  const { one, replica, injected } = await started(LIVES.leafLifeMs * 2 / 3)
  const bodies: string[] = []
  one.network.intercept = (request, next) => {
    if (request.method !== 'PUT') return next(request)
    bodies.push(request.body as string)
    const quoted = JSON.stringify(request.body)
    return Promise.resolve(refusal(422, 'Invalid', {}, `Secret "certs" is invalid: data: Invalid value: ${quoted}: no`))
  }
  void replica.rotate({ api: one.api, ...injected }, one.signal)
  await one.lines.is((line) =>
    line.startsWith('warn Cannot rotate the certificates of the webhooks: Cannot update Secret')
  )
  assert.ok(bodies[0]?.includes('ca.key'))
  await assertNoKeys(one)
})

test('writes of the leader pass its fence, and a lost lease ends the rotation', async () => {
  const { one, replica, injected, before } = await started(LIVES.leafLifeMs * 2 / 3)
  const fence: Fence = {
    check() {
      throw new LeadershipLost('the lease is lost')
    },
    signal: new AbortController().signal,
  }
  await assert.rejects(replica.rotate({ api: one.api.fenced(fence), ...injected }, one.signal), LeadershipLost)
  assert.equal((await one.texts()).cert, before.cert)
})

test('a conflict with another writer is not reported, and the newer Secret counts', async () => {
  const { one, replica, injected, before } = await started(LIVES.leafLifeMs * 2 / 3)
  let isFirst = true
  one.network.intercept = async (request, next) => {
    if (request.method === 'PUT' && isFirst) {
      isFirst = false
      await one.api.patch(TARGET, 'merge', { metadata: { annotations: { a: 'b' } } }, {})
    }
    return next(request)
  }
  void replica.rotate({ api: one.api, ...injected }, one.signal)
  await one.clock.timers.is((ms) => ms === 1000)
  await one.clock.advance(2000)
  await injected.is(() => true)
  assert.notEqual((await one.texts()).cert, before.cert)
  assert.equal((await one.secret()).metadata.annotations?.['a'], 'b')
  assert.deepEqual(one.lines.all.filter((line) => line.startsWith('warn')), [])
})

test('texts that are not PEM, not base64, leaves or of other keys are facts, not errors', async () => {
  const one = lab()
  await one.replica().bundle(one.signal)
  const texts = await one.texts()
  const whole = factsOf(texts, NAMES)
  assert.deepEqual([whole.cas.length, whole.hasCaKey, whole.leaf?.issuer, whole.leaf?.hasNames], [1, true, 0, true])
  assert.equal(factsOf(texts, { dnsNames: ['x'] }).leaf?.hasNames, false)
  assert.equal(
    factsOf({
      ...texts,
      ca: `comment\n${texts.cert}${texts.ca}\n-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n`,
    }, NAMES).cas.length,
    1,
  )
  assert.equal(bundleOf({ ...texts, ca: `comment\n${texts.cert}${texts.ca}` }), texts.ca)
  assert.deepEqual(factsOf({ ...texts, caKey: texts.key }, NAMES).hasCaKey, false)
  assert.equal(factsOf({ ...texts, key: texts.caKey }, NAMES).leaf, undefined)
  assert.equal(factsOf({ ...texts, ca: '' }, NAMES).leaf?.issuer, -1)
  assert.deepEqual(factsOf(textsOf({ apiVersion: 'v1', kind: 'Secret', metadata: {} as never }), NAMES), {
    cas: [],
    hasCaKey: false,
    leaf: undefined,
  })
})

test('a CA that has issued nothing goes when another is put in front; others stay', async () => {
  const one = lab()
  await one.replica().bundle(one.signal)
  const options = {
    names: NAMES,
    nowMs: one.clock.now(),
    timings: { ...LIVES, inEffectMs: 0, pickUpMs: 0, checkMs: 0 },
  }
  const first = await one.texts()
  const second = await takeStep('addCa', first, options)
  const third = await takeStep('addCa', second, options)
  assert.deepEqual(casOf(third.ca).slice(1), [first.ca])
  const issued = await takeStep('issueLeaf', second, options)
  assert.deepEqual(casOf((await takeStep('addCa', issued, options)).ca).slice(1), casOf(second.ca))
  const without = { ...second, cert: '' }
  assert.deepEqual(casOf((await takeStep('replace', without, options)).ca).slice(1), casOf(second.ca))
  assert.deepEqual(casOf((await takeStep('dropCas', issued, options)).ca), casOf(second.ca).slice(0, 1))
})

test('certificates in memory are of one CA, and renewed after two thirds of their life', async () => {
  const clock = new TimerClock()
  const source = inMemoryCertificates({ names: NAMES, clock })
  const pairs = new Seen<string>()
  const stop = new AbortController()
  const done = source.run(({ cert }) => pairs.add(cert), stop.signal)
  const first = await pairs.is(() => true)
  const ca = await source.bundle()
  const leaf = readCertificate(first)!
  assert.ok(leaf.isIssuedBy(ca) && leaf.hasNames(NAMES))
  const ms = (leaf.notAfterMs - clock.now()) * 2 / 3
  await clock.timers.is((each) => each === ms)
  await clock.advance(ms)
  const second = await pairs.is((cert) => cert !== first)
  assert.ok(readCertificate(second)!.isIssuedBy(ca))
  assert.ok(new X509Certificate(second).validTo !== new X509Certificate(first).validTo)
  stop.abort()
  await done
})

const CA = { resource: TARGET.resource, namespace: 'default', name: 'pki' }
const GIVEN = { ca: { namespace: 'default', secret: 'pki' } }

/** Stores a CA as cert-manager does. */
async function give({ api, clock }: Lab, validForMs: number): Promise<string> {
  const { ca, key } = (await createAuthority({ now: clock.now(), validForMs })).save()
  const stored = await api.get(CA).catch(() => undefined)
  const object = {
    ...stored,
    metadata: { ...stored?.metadata, namespace: 'default', name: 'pki' },
    data: { 'tls.crt': encodeBase64(`${ca}${ca}`), 'tls.key': encodeBase64(key) },
  }
  const query = { fieldManager: 'cert-manager' }
  await (stored ? api.update(CA, object, query) : api.create({ ...CA, name: undefined }, object, query))
  return ca
}

test('a CA of others issues, its key is not stored again, and a new one is trusted before it issues', async () => {
  // It is as old as a self-made one that is replaced.
  const nowMs = Date.UTC(2026, 0, 1)
  const { handle } = new ApiServer()
  const first = await give(lab(nowMs - LIVES.caLifeMs * 0.7, handle), LIVES.caLifeMs)
  const one = lab(nowMs, handle)
  const replica = one.replica(GIVEN)
  const watched = one.clock.waits(60_000)
  const served = one.serve(replica)
  assert.ok(readCertificate((await served.pairs.is(() => true)).cert)!.isIssuedBy(first))
  assert.deepEqual([(await one.texts()).ca.trim(), (await one.texts()).caKey], [first.trim(), ''])
  const injected = new Injected()
  await watched
  await leads(one, replica, injected)
  assert.equal((await one.texts()).ca.trim(), first.trim())
  assert.ok(!one.lines.all.some((line) => line.includes('Added a CA')))

  const next = await give(one, LIVES.caLifeMs)
  const inEffect = one.clock.waits(10_000)
  await one.clock.advance(60_000)
  await inEffect
  assert.deepEqual(casOf(injected.all.at(-1)!).map((pem) => pem.trim()), [next.trim(), first.trim()])
  assert.ok(readCertificate((await one.texts()).cert)!.isIssuedBy(first))
  await one.clock.advance(10_000)
  await served.pairs.is(({ cert }) => readCertificate(cert)!.isIssuedBy(next))
  assert.ok(one.lines.all.some((line) => line.endsWith('(the CA has changed)')), one.lines.all.join('\n'))
  await assertNoKeys(one)
})

test('replicas of two releases, of which one has a CA of others, do not undo their steps without a pause', async () => {
  const one = lab()
  await give(one, LIVES.caLifeMs)
  const checkMs = 61_000
  const many = Promise.withResolvers<void>()
  const writes = (): number => one.network.requests.filter(({ method }) => method === 'PUT').length
  one.network.intercept = async (request, next) => {
    if (writes() > 30) many.reject(new Error('it is written again and again'))
    return await next(request)
  }
  for (const over of [{}, GIVEN]) {
    const rests = one.clock.waits(checkMs)
    const replica = one.replica({ ...over, timings: { ...LIVES, checkMs } })
    await one.serve(replica).pairs.is(() => true)
    void replica.rotate({ api: one.api, ...new Injected() }, one.signal)
    await Promise.race([rests, many.promise])
  }
  assert.ok(writes() > 10)
})

test('a leaf that ends with a CA of others is not renewed again and again', async () => {
  const one = lab()
  await give(one, LIVES.leafRenewMs / 2)
  const replica = one.replica(GIVEN)
  const watched = one.clock.waits(60_000)
  const served = one.serve(replica)
  const { cert } = await served.pairs.is(() => true)
  await watched
  await leads(one, replica)
  assert.equal((await one.texts()).cert, cert)
  assert.deepEqual(one.lines.all.filter((line) => line.includes('certificates of the webhooks')).length, 1)
  const longer = await give(one, LIVES.caLifeMs)
  const inEffect = one.clock.waits(10_000)
  await one.clock.advance(60_000)
  await inEffect
  await one.clock.advance(10_000)
  await served.pairs.is(({ cert }) => readCertificate(cert)!.isIssuedBy(longer))
})

test('an expired CA of others issues nothing: the leaf of the last one stays, and a start without one says why', async () => {
  const one = lab()
  await give(one, LIVES.caLifeMs)
  const replica = one.replica(GIVEN)
  const watched = one.clock.waits(60_000)
  const { cert } = await one.serve(replica).pairs.is(() => true)
  await watched
  await leads(one, replica)
  await give(one, -1)
  const message = 'Cannot issue certificates of webhooks by the CA in Secret "default/pki": it has expired'
  const warned = one.lines.is((line) => line.includes(message))
  await one.clock.advance(60_000)
  await warned
  assert.equal((await one.texts()).cert, cert)
  assert.equal((await one.started(GIVEN)).cert, cert)
  await one.api.delete(TARGET, {})
  await assert.rejects(one.serve(one.replica(GIVEN)).done, { name: 'ConfigError', message })
})

test('a CA of others that is missing, or cannot issue, ends the start and says what it must have', async () => {
  const one = lab()
  const start = (): Promise<void> => one.serve(one.replica(GIVEN)).done
  const message =
    /^Cannot issue certificates of webhooks by the CA in Secret "default\/pki": .*; it must have tls\.crt and tls\.key of a CA$/
  await assert.rejects(start(), { name: 'ConfigError', message })
  one.network.intercept = (request, next) =>
    request.path.endsWith('/pki') ? Promise.resolve(refusal(403, 'Forbidden')) : next(request)
  await assert.rejects(start(), { name: 'ConfigError', message })
  one.network.intercept = undefined
  const { cert, key } = await (await createAuthority()).issue({ commonName: 'leaf', usage: 'server', ...NAMES })
  const data = { 'tls.crt': encodeBase64(cert), 'tls.key': encodeBase64(key) }
  await one.api.create({ ...CA, name: undefined }, { metadata: { namespace: 'default', name: 'pki' }, data }, {
    fieldManager: 'test',
  })
  await assert.rejects(start(), { name: 'ConfigError', message })
  assert.ok(!one.lines.all.join().includes('PRIVATE KEY'))
})

test('new keys have the stated algorithm', async () => {
  for (const algorithm of ['ECDSA-384', 'RSA-2048'] as const) {
    const one = lab()
    const { cert } = await one.started({ algorithm })
    for (const pem of [cert, (await one.texts()).ca]) {
      const { asymmetricKeyType, asymmetricKeyDetails } = new X509Certificate(pem).publicKey
      const [type, size] = [asymmetricKeyType, asymmetricKeyDetails?.modulusLength ?? asymmetricKeyDetails?.namedCurve]
      assert.deepEqual([type, size], algorithm === 'RSA-2048' ? ['rsa', 2048] : ['ec', 'secp384r1'])
    }
  }
})
