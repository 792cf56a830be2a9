/** Self-made certificates on a real API server, which calls a webhook while they rotate. */
import assert from 'node:assert/strict'
import { connect } from 'node:tls'
import { test } from 'node:test'
import { ClusterRole, ConfigMap, Lease, Namespace, Pod, Secret } from 'kubeloop/kinds'
import { systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import type { ClusterConfig } from '../../lib/core/cluster_config.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { readCertificate } from '../../lib/runtime/net/certificate_facts.ts'
import { textsOf } from '../../lib/webhook/certificates/certificate_secret.ts'
import type { AdmissionDescription } from '../../lib/webhook/admission/admission_options.ts'
import { configurationsOf, namesOf } from '../../lib/webhook/configurations/configurations.ts'
import { OPERATOR_LABEL, VALIDATING } from '../../lib/webhook/common/ownership.ts'
import { injectCa } from '../../lib/webhook/configurations/trusted_cas.ts'
import { installConfigurations } from '../../lib/webhook/configurations/install.ts'
import { SelfMadeCertificates, type SelfMadeOptions } from '../../lib/webhook/certificates/self_made_certificates.ts'
import { recordingLog } from '../manager/parts.ts'
import type { CertificatePair } from '../../lib/webhook/common/handler.ts'
import { WebhookServer } from '../../lib/webhook/server/webhook_server.ts'
import { HOUR_MS, NAMES, Seen } from './secret_lab.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' } as const
const ROLE: AnyResource = { ...RBAC, kind: 'Role', plural: 'roles', scope: 'Namespaced' }
const BINDING: AnyResource = { ...RBAC, kind: 'RoleBinding', plural: 'rolebindings', scope: 'Namespaced' }
const never = new AbortController().signal

const plane = realPlane()
const admin = new Api({ transport: (request) => plane.transport(request) })

const apiOf = (config: ClusterConfig): Api => new Api({ transport: plane.connect(config) })

function certificatesOf(secret: string, over: Partial<SelfMadeOptions> = {}): SelfMadeCertificates {
  return new SelfMadeCertificates({
    api: admin,
    namespace: 'default',
    secret,
    operator: 'sites',
    names: NAMES,
    clock: systemClock,
    log: silentLog,
    ...over,
  })
}

/** Opens a new connection that trusts only these CAs. Resolves with the served certificate, or rejects. */
function dial(port: number, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1'] }, () => {
      // On Deno it is a plain Uint8Array.
      const served = Buffer.from(socket.getPeerCertificate().raw)
      socket.destroy()
      resolve(served.toString('base64'))
    })
    socket.on('error', reject)
  })
}

test('a role for one Secret by its name is enough to read, watch and renew it', { skip: noPlane }, async () => {
  const config = await plane.envtest.addUser('narrow')
  const rules = [{
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: ['narrow'],
    verbs: ['get', 'watch', 'update'],
  }]
  const metadata = { namespace: 'default', name: 'narrow' }
  await admin.create({ resource: ROLE, namespace: 'default' }, { metadata, rules }, {})
  await admin.create({ resource: BINDING, namespace: 'default' }, {
    metadata,
    roleRef: { apiGroup: RBAC.group, kind: 'Role', name: 'narrow' },
    subjects: [{ kind: 'User', apiGroup: RBAC.group, name: 'narrow' }],
  }, {})
  const labels = { [OPERATOR_LABEL]: 'sites' }
  await admin.create({ resource: Secret, namespace: 'default' }, { metadata: { ...metadata, labels } }, {})
  const api = apiOf(config)
  const lines: string[] = []
  const stop = new AbortController()
  const pairs = new Seen<string>()
  const narrow = certificatesOf('narrow', { api, log: recordingLog(lines) })
  const done = narrow.run(({ cert }) => pairs.add(cert), stop.signal)
  const made = await pairs.is(() => true)
  const names = { dnsNames: ['other'] }
  const injected = new Seen<string>()
  const inject = (bundle: string): Promise<number> => {
    injected.add(bundle)
    return Promise.resolve(0)
  }
  const rotating = certificatesOf('narrow', { api, names }).rotate({ api, inject }, stop.signal)
  const renewed = await pairs.is((cert) => cert !== made)
  assert.ok(readCertificate(renewed)!.hasNames(names))
  await injected.is(() => true)
  assert.deepEqual(lines.filter((line) => line.includes('Cannot')), [])
  stop.abort()
  await Promise.all([done, rotating])
})

test(
  'a CA rotates while the API server calls the webhook: no call fails',
  { skip: noPlane, timeout: 100_000 },
  async () => {
    const operator = 'rotating'
    const dependencies = { api: admin, log: silentLog, operator }
    const lives = {
      caLifeMs: HOUR_MS,
      leafLifeMs: HOUR_MS / 2,
      leafRenewMs: HOUR_MS / 6,
      inEffectMs: 1500,
      pickUpMs: 2000,
    }
    const replica = certificatesOf('rotating', { timings: lives })
    const stop = new AbortController()
    const pairs = new Seen<string>()
    let calls = 0
    let serve = (_: CertificatePair): void => {}
    const server = new WebhookServer({
      host: '127.0.0.1',
      port: 0,
      certificates: {
        run: (use, signal) =>
          replica.run((pair) => {
            ;(serve = use)(pair)
            pairs.add(pair.cert)
          }, signal),
      },
    })
    server.handle('/validate--v1-configmap', ({ body }) => {
      calls++
      const { request: { uid } } = JSON.parse(new TextDecoder().decode(body)) as { request: { uid: string } }
      const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } }
      return Promise.resolve({ status: 200, body: JSON.stringify(review) })
    })
    const running = server.start(stop.signal)
    let callers: Promise<unknown> | undefined
    let rotating: Promise<void> | undefined
    try {
      const first = await pairs.is(() => true)
      await server.ready(never)
      const target = { url: `https://127.0.0.1:${server.port}` }
      const admissions: AdmissionDescription[] = [{
        resource: ConfigMap,
        path: '/validate--v1-configmap',
        mutating: false,
      }]
      const old = await replica.bundle(never)
      await installConfigurations(
        configurationsOf({ operator, admissions, target, caBundle: old }),
        dependencies,
        never,
      )

      const failures: string[] = []
      const admitted = new Seen<number>()
      const call = async (at: number): Promise<void> => {
        while (!stop.signal.aborted) {
          const object = { metadata: { namespace: 'default', name: `map-${at}` } }
          await admin.create({ resource: ConfigMap, namespace: 'default' }, object, { dryRun: true }).then(
            () => admitted.add(admitted.all.length + 1),
            (error: Error) => failures.push(error.message),
          )
        }
      }
      // The configuration is in effect a moment after its write.
      const object = { metadata: { namespace: 'default', name: 'probe' } }
      while (calls === 0) {
        await admin.create({ resource: ConfigMap, namespace: 'default' }, object, { dryRun: true })
      }
      callers = Promise.all([0, 1, 2, 3].map(call))

      // For a leader whose CAs live longer, the stored one is due.
      const leading = certificatesOf('rotating', { timings: { ...lives, caLifeMs: 10 * HOUR_MS } })
      const bundles = new Seen<string>()
      const inject = async (bundle: string, signal: AbortSignal): Promise<number> => {
        const { written } = await injectCa(bundle, { crds: [], target }, dependencies, signal)
        bundles.add(bundle)
        return written
      }
      rotating = leading.rotate({ api: admin, inject }, stop.signal)
      const isAlone = (bundle: string): boolean => bundle !== old && bundle.split('BEGIN CERTIFICATE').length === 2
      const both = await bundles.is((bundle) => bundle.includes(old) && bundle !== old)
      const duringBoth = calls
      const alone = await bundles.is(isAlone)
      const afterRotation = calls
      const admittedThen = admitted.all.length
      await admitted.is((count) => count >= admittedThen + 200)
      const atEnd = calls

      const { webhooks: [entry] } =
        (await admin.get({ resource: VALIDATING, name: `${operator}-validating-webhook-configuration` })) as never as {
          webhooks: [{ clientConfig: { caBundle: string } }]
        }
      assert.equal(atob(entry.clientConfig.caBundle), alone)
      const served = await dial(server.port!, alone)
      assert.equal(
        served,
        textsOf(await admin.get({ resource: Secret, namespace: 'default', name: 'rotating' })).cert.split('\n').slice(
          1,
          -2,
        )
          .join(''),
      )
      assert.notEqual(served, first.split('\n').slice(1, -2).join(''))
      await assert.rejects(dial(server.port!, old))
      assert.ok(both.startsWith(alone))
      assert.deepEqual(failures, [])
      assert.ok(
        duringBoth > 0 && afterRotation - duringBoth > 50 && atEnd - afterRotation > 50,
        `${admitted.all.length} calls`,
      )

      // The proof that a leaf of another CA would have been seen: sessions end, and a new one is refused.
      const stranger = await createAuthority()
      serve(await stranger.issue({ commonName: 'x', ...namesOf(target), usage: 'server' }))
      while (failures.length === 0) await admin.get({ resource: Secret, namespace: 'default', name: 'rotating' })
      assert.match(
        failures[0]!,
        /failed calling webhook "validate--v1-configmap\.rotating\.kubeloop".*x509: certificate signed by unknown authority/,
      )
    } finally {
      stop.abort()
      await Promise.all([callers, rotating, running])
      await installConfigurations({ mutating: undefined, validating: undefined }, dependencies, never)
    }
  },
)

test(
  'a webhook that does not answer blocks other objects, and not those of the operator',
  { skip: noPlane },
  async () => {
    const operator = 'dead'
    const dependencies = { api: admin, log: silentLog, operator }
    const namespace = 'kube-public'
    const own = {
      namespace,
      lease: { namespace, name: 'lead' },
      secrets: ['certs', 'ca'].map((name) => ({ namespace, name })),
      crds: ['dead.example.com'],
    }
    const service = { service: { namespace: own.namespace, name: 'none' } }
    const includeSystem = ['namespaces', 'kinds'] as const
    const admissions = [Secret, Lease, Pod, Namespace, ClusterRole].map((resource) => ({
      resource,
      path: `/validate-${resource.plural}`,
      mutating: false,
      options: resource === Secret || resource === Lease ? { includeSystem } : { namespaceSelector: {} },
    }))
    const configurations = configurationsOf({ operator, admissions, target: service, own })
    await installConfigurations(configurations, dependencies, never)
    const create = (resource: AnyResource, namespace: string, name: string, rest: object = {}): Promise<unknown> =>
      admin.create({ resource, namespace }, { metadata: { namespace, name }, ...rest }, { dryRun: true })
    const pod = { spec: { containers: [{ name: 'a', image: 'a' }] } }
    try {
      let refused: Error | undefined
      while (!refused) await create(Secret, own.namespace, 'other').catch((error: Error) => (refused = error))
      assert.match(refused.message, /failed calling webhook "validate-secrets\.dead\.kubeloop"/)
      await assert.rejects(create(Secret, 'default', 'certs'), /validate-secrets/)
      for (const { name } of own.secrets) await create(Secret, own.namespace, name)
      await assert.rejects(create(Lease, own.namespace, 'other'), /validate-leases/)
      await create(Lease, own.namespace, 'lead')
      await assert.rejects(create(Pod, 'default', 'a', pod), /validate-pods/)
      for (const place of [own.namespace, 'kube-system', 'kube-node-lease']) await create(Pod, place, 'a', pod)
      // The condition can be evaluated for objects without a namespace.
      await assert.rejects(
        admin.create({ resource: ClusterRole }, { metadata: { name: 'a' }, rules: [] }, { dryRun: true }),
        /failed calling webhook "validate-clusterroles/,
      )
      const label = (name: string): Promise<unknown> =>
        admin.patch({ resource: Namespace, name }, 'merge', { metadata: { labels: { a: 'b' } } }, { dryRun: true })
      await assert.rejects(label('default'), /failed calling webhook "validate-namespaces/)
      await label('kube-system')
    } finally {
      await installConfigurations({ mutating: undefined, validating: undefined }, dependencies, never)
    }
  },
)
