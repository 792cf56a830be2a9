/** The real API server decides by tokens and rights who may scrape an operator's metrics. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ClusterConfig, type Operator, operator } from 'kubeloop'
import { ClusterRole, ClusterRoleBinding, ConfigMap, ServiceAccount } from 'kubeloop/kinds'
import { metricsReader } from '../../lib/cli/deploy/metrics.ts'
import { rightsOf } from '../../lib/rights/likely.ts'
import { tokenKey } from '../../lib/runtime/os/token_key.ts'
import { type Answer, ask1 } from '../runtime/https_clients.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'
import { running } from './running.ts'

/** Signs tokens of service accounts that the API server accepts, with any times. */
const issuer = tokenKey()
const plane = realPlane(async (folder) => {
  const { createPublicKey } = process.getBuiltinModule('node:crypto')
  const [key, pub] = [join(folder, 'issuer.key'), join(folder, 'issuer.pub')]
  await writeFile(key, issuer.pem())
  await writeFile(pub, createPublicKey(issuer.pem()).export({ type: 'spki', format: 'pem' }))
  const flags = [`--service-account-key-file=${pub}`, `--service-account-signing-key-file=${key}`]
  return { extraArgs: { apiServer: flags } }
})

const NAMESPACE = 'default'

async function account(name: string, urls: string[]): Promise<string> {
  const { metadata } = await plane.client.create(ServiceAccount, { metadata: { namespace: NAMESPACE, name } })
  await plane.client.create(ClusterRole, { metadata: { name }, rules: [{ nonResourceURLs: urls, verbs: ['get'] }] })
  await plane.client.create(ClusterRoleBinding, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: NAMESPACE }],
  })
  return metadata.uid
}

/** Returns a token of a service account that ends at a time. */
function tokenUntil(name: string, uid: string, endsMs: number): string {
  const encoded = (value: unknown): string =>
    btoa(JSON.stringify(value)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '')
  const url = 'https://kubernetes.default.svc.cluster.local'
  const claims = {
    iss: url,
    aud: [url],
    sub: `system:serviceaccount:${NAMESPACE}:${name}`,
    exp: Math.floor(endsMs / 1000),
    iat: Math.floor(endsMs / 1000) - 3600,
    nbf: Math.floor(endsMs / 1000) - 3600,
    'kubernetes.io': { namespace: NAMESPACE, serviceaccount: { name, uid } },
  }
  const text = `${encoded({ alg: 'ES256', kid: issuer.id })}.${encoded(claims)}`
  return `${text}.${issuer.sign(text)}`
}

async function requested(name: string): Promise<string> {
  const { status } = await plane.client.subresource(ServiceAccount, { namespace: NAMESPACE, name }, 'token').create({})
  return status.token
}

function makeApp(): Operator {
  const app = operator({ name: 'scraped', metrics: { address: 0, auth: true, tls: true } })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  return app
}

interface Running {
  readonly lines: string[]
  scrape(token?: string): Promise<Answer>
}

function scraped(config: ClusterConfig, work: (running: Running) => Promise<void>): Promise<void> {
  const lines: string[] = []
  const note = (message: string): void => void lines.push(message)
  const log = { debug: note, info: note, warn: note, error: note }
  return running(makeApp(), { cluster: config, log }, ({ metrics }) =>
    work({
      lines,
      scrape: (token) =>
        ask1(metrics!.port!, {
          ...{ path: '/metrics', method: 'GET', rejectUnauthorized: false },
          headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        }),
    }))
}

test('200 with the right, 403 without it, 401 with a wrong, an expired or no token', { skip: noPlane }, async () => {
  const uid = await account('reader', ['/metrics'])
  await account('other', ['/metric', '/metrics/'])
  await scraped(plane.envtest.config, async ({ scrape, lines }) => {
    const good = await scrape(await requested('reader'))
    assert.equal(good.status, 200)
    assert.match(good.text, /^controller_runtime_reconcile_total\{controller="configmap",result="success"\} \d+$/m)
    const other = await scrape(await requested('other'))
    assert.deepEqual([other.status, other.text], [
      403,
      'Forbidden: "system:serviceaccount:default:other" must be allowed to get the non-resource URL "/metrics"\n',
    ])
    const hour = 3_600_000
    const valid = tokenUntil('reader', uid, Date.now() + hour)
    const expired = tokenUntil('reader', uid, Date.now() - hour)
    assert.equal((await scrape(valid)).status, 200)
    for (
      const token of [undefined, 'made-up', expired, `${valid}x`, tokenUntil('reader', 'other', Date.now() + hour)]
    ) {
      assert.equal((await scrape(token)).status, 401, String(token))
    }
    const all = lines.join('\n')
    for (const token of [valid, expired, 'made-up']) assert.ok(!all.includes(token))
  })
})

test("the operator's own rights decide: without them 500 and one line with the remedy", { skip: noPlane }, async () => {
  const app = makeApp()
  const reader = metricsReader(app.description.options, {}) as { rules: [{ nonResourceURLs: string[] }] }
  await account('asking', reader.rules[0].nonResourceURLs)
  const token = await requested('asking')
  const rights = { metadata: { name: 'scraped' } }
  const reads = { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }
  await plane.client.create(ClusterRole, { ...rights, rules: [reads] })
  await plane.client.create(ClusterRoleBinding, {
    ...rights,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'scraped' },
    subjects: [{ kind: 'User', name: 'scraped', apiGroup: 'rbac.authorization.k8s.io' }],
  })
  await scraped(await plane.envtest.addUser('scraped'), async ({ scrape, lines }) => {
    assert.equal((await scrape(token)).status, 500)
    assert.match(
      lines.at(-1)!,
      /^Cannot authorize a request to an endpoint: Cannot create a TokenReview: .*tokenreviews\.authentication\.k8s\.io is forbidden: User "scraped" .*; its ServiceAccount needs the right to create tokenreviews/,
    )
    assert.ok(!lines.join().includes(token))
    await plane.client.edit(ClusterRole, { name: 'scraped' }, (role) => {
      // The rule that `kubeloop manifests` prints.
      role.rules = rightsOf(app.description, NAMESPACE).everywhere as never
    })
    let status = 500
    // RBAC knows the change by its watch.
    for (let tries = 0; status === 500 && tries < 300; tries++) status = (await scrape(token)).status
    assert.equal(status, 200)
  })
})
