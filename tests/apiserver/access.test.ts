/** Tests of users and rights beyond those that a real server shows: options, saved keys, limits, and bad input. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ApiServer, type ApiServerOptions } from '../../lib/apiserver/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { nodeCrypto } from '../../lib/runtime/os/builtins.ts'
import { type Body, type Method, send } from './requests.ts'

class Client {
  readonly server: ApiServer
  readonly clock: FakeClock

  constructor(options: ApiServerOptions = {}) {
    this.clock = new FakeClock()
    this.server = new ApiServer({ clock: this.clock, ...options })
  }

  async send(method: Method, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Body> {
    const answer = await send(this.server, method, path, body, { headers })
    const json = typeof answer.body === 'string' ? { text: answer.body } : answer.body
    return { ...json, httpStatus: answer.status, headers: answer.headers }
  }

  async token(spec: unknown = {}): Promise<string> {
    await this.send('POST', ACCOUNTS, { metadata: { name: 'a' } })
    const { status } = await this.send('POST', `${ACCOUNTS}/a/token`, { spec })
    return status.token
  }

  who(headers: Record<string, string> = {}): Promise<Body> {
    return this.send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, headers)
  }
}

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const PODS = '/api/v1/namespaces/default/pods'
const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const pod = (name: string): unknown => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } })

test('with the option token, another token gets 401 and none is anonymous', async () => {
  const client = new Client({ token: 'secret' })
  assert.equal((await client.who({ authorization: 'Bearer secret' })).httpStatus, 201)
  assert.equal((await client.who({ authorization: 'Bearer Secret' })).httpStatus, 401)
  assert.equal((await client.who({ authorization: 'Bearer secret2' })).reason, 'Unauthorized')
  const { code, message } = await client.who()
  assert.equal(code, 403)
  assert.match(message, /User "system:anonymous" cannot create resource "selfsubjectreviews"/)
  assert.equal((await client.send('GET', '/version')).httpStatus, 200)
  const { status } = await client.send('POST', REVIEWS, { spec: { token: 'secret' } }, {
    authorization: 'Bearer secret',
  })
  assert.equal(status.user.username, 'kubernetes-admin')
})

test('the mode allow does not check rights, but reviews tell what a real cluster would allow', async () => {
  const client = new Client({ authorization: 'allow' })
  const jane = { 'impersonate-user': 'jane' }
  assert.equal((await client.send('GET', PODS, undefined, jane)).httpStatus, 200)
  const spec = { resourceAttributes: { verb: 'list', resource: 'pods', namespace: 'default' } }
  const review = await client.send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec }, jane)
  assert.deepEqual(review.status, { allowed: false })
  const role = { metadata: { name: 'r' }, rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] }
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  assert.equal((await client.send('POST', roles, role, jane)).httpStatus, 201)
  assert.equal((await client.send('GET', PODS, undefined, { 'impersonate-user': 'system:anonymous' })).httpStatus, 403)
})

test('a stored role replaces the default one of its name', async () => {
  const client = new Client()
  const jane = { 'impersonate-user': 'jane' }
  assert.equal((await client.send('GET', '/api', undefined, jane)).httpStatus, 200)
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  await client.send('POST', path, { metadata: { name: 'system:discovery' }, rules: [] })
  assert.equal((await client.send('GET', '/api', undefined, jane)).httpStatus, 403)
})

test('a token expires a minute after its time', async () => {
  const client = new Client()
  const token = await client.token({ expirationSeconds: 600 })
  const headers = { authorization: `Bearer ${token}` }
  const crypto = nodeCrypto()
  const { verify } = crypto as unknown as { verify(...args: unknown[]): boolean }
  let verified = 0
  Object.assign(crypto, { verify: (...args: unknown[]) => (verified++, verify(...args)) })
  assert.equal((await client.who(headers)).httpStatus, 201)
  await client.clock.advance(660_000)
  assert.equal((await client.who(headers)).httpStatus, 201)
  Object.assign(crypto, { verify })
  assert.equal(verified, 1, 'a token is verified once')
  await client.clock.advance(1000)
  assert.equal((await client.who(headers)).httpStatus, 401)
  const { status } = await client.send('POST', REVIEWS, { spec: { token } })
  assert.equal(status.error, '[invalid bearer token, service account token has expired]')
})

test('a token ends a minute after the deletion of its account began', async () => {
  const client = new Client()
  const headers = { authorization: `Bearer ${await client.token()}` }
  await client.send('PATCH', `${ACCOUNTS}/a`, { metadata: { finalizers: ['example.com/hold'] } })
  await client.send('DELETE', `${ACCOUNTS}/a`)
  await client.clock.advance(60_000)
  assert.equal((await client.who(headers)).httpStatus, 201)
  await client.clock.advance(1000)
  assert.equal((await client.who(headers)).httpStatus, 401)
})

test('a token of a pod is not that of a later pod of the same name', async () => {
  const client = new Client()
  await client.token()
  const { spec } = pod('p') as { readonly spec: object }
  const create = () =>
    client.send('POST', PODS, { metadata: { name: 'p' }, spec: { ...spec, serviceAccountName: 'a' } })
  await create()
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'p' }
  const { status } = await client.send('POST', `${ACCOUNTS}/a/token`, { spec: { boundObjectRef } })
  const headers = { authorization: `Bearer ${status.token}` }
  assert.equal((await client.who(headers)).httpStatus, 201)
  await client.send('DELETE', `${PODS}/p`)
  await create()
  assert.equal((await client.who(headers)).httpStatus, 401)
})

test('a token is accepted after a restart with the saved state, and by no other server', async () => {
  const client = new Client()
  const token = await client.token()
  const headers = { authorization: `Bearer ${token}` }
  const state = JSON.parse(JSON.stringify(client.server.save()))
  assert.match(state.tokenKey, /^-----BEGIN PRIVATE KEY-----/)
  assert.equal((await new Client({ state }).who(headers)).status.userInfo.username, 'system:serviceaccount:default:a')
  const { tokenKey: _, ...without } = state
  assert.equal((await new Client({ state: without }).who(headers)).httpStatus, 401)
  assert.equal((await new Client().who(headers)).httpStatus, 401)
  assert.equal(new Client().server.save().tokenKey, undefined)
})

test('a token with a changed part is refused', async () => {
  const client = new Client()
  const [head, claims, signature] = (await client.token()).split('.') as [string, string, string]
  const other = JSON.parse(atob(claims.replace(/-/g, '+').replace(/_/g, '/')))
  const changed = btoa(JSON.stringify({ ...other, sub: 'system:serviceaccount:kube-system:admin' })).replace(/=+$/, '')
  const none = btoa('{"alg":"none"}').replace(/=+$/, '')
  for (
    const token of [
      `${head}.${changed}.${signature}`,
      `${none}.${claims}.${signature}`,
      `${none}.${claims}.AA`,
      `${head}.${claims}.`,
      `${head}.${claims}.${'A'.repeat(86)}`,
      `${head}.${claims}.${signature}.x`,
    ]
  ) {
    const { status } = await client.send('POST', REVIEWS, { spec: { token } })
    assert.equal(status.authenticated, undefined, token)
  }
  assert.equal((await client.who({ authorization: `Bearer ${head}.${changed}.${signature}` })).httpStatus, 401)
})

test('an eviction with the uid of another pod is refused', async () => {
  const client = new Client()
  await client.send('POST', PODS, pod('p'))
  const eviction = { metadata: { name: 'p' }, deleteOptions: { preconditions: { uid: 'x' } } }
  const { code, message } = await client.send('POST', `${PODS}/p/eviction`, eviction)
  assert.equal(code, 409)
  assert.match(message, /^Operation cannot be fulfilled on Pod "p": the UID in the precondition \(x\) does not match/)
})

test('bad bodies of subresources and reviews are refused, and nothing is stored', async () => {
  const client = new Client()
  await client.send('POST', PODS, pod('p'))
  await client.send('POST', ACCOUNTS, { metadata: { name: 'a' } })
  const before = JSON.stringify(client.server.save().store)
  const paths = [
    `${PODS}/p/eviction`,
    `${PODS}/p/binding`,
    `${ACCOUNTS}/a/token`,
    '/api/v1/namespaces/default/bindings',
    REVIEWS,
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews',
  ]
  const bodies = [
    [],
    'x',
    null,
    { spec: [] },
    { spec: 1 },
    { spec: { token: 1 } },
    { spec: { audiences: 'x' } },
    { spec: { boundObjectRef: 'x' } },
    { spec: { expirationSeconds: 'x' } },
    { spec: { expirationSeconds: -1 } },
    { spec: { resourceAttributes: [] } },
    { target: 1 },
    { metadata: 'x' },
    { metadata: { name: 'p' }, deleteOptions: 'x' },
    { metadata: { name: 'p' }, deleteOptions: { preconditions: 1 } },
    { metadata: { name: 'p' }, deleteOptions: { dryRun: 'All' } },
    { apiVersion: 'v9', kind: 'Nope' },
  ]
  for (const path of paths) {
    for (const body of bodies) {
      const { httpStatus, kind } = await client.send('POST', path, body)
      assert.ok(httpStatus < 500 || kind === 'Status', `${path} ${JSON.stringify(body)}: ${httpStatus}`)
      assert.notEqual(httpStatus, 200)
    }
    const broken = await send(client.server, 'POST', path, '{"a":')
    assert.equal(broken.status, 400, path)
  }
  assert.equal(JSON.stringify(client.server.save().store), before)
})

test('roles and bindings with missing parts grant nothing', async () => {
  const rbac = 'rbac.authorization.k8s.io'
  const { store } = new Client().server.save()
  const metadata = { name: 'x' }
  const objects = {
    ...store.objects,
    [`clusterroles.${rbac}`]: [{
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata,
      rules: [{}, null, { verbs: ['*'] }],
    }],
    [`clusterrolebindings.${rbac}`]: [
      { apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'y' },
        subjects: [null, {}, { kind: 'User', name: 'jane' }],
        roleRef: { kind: 'ClusterRole', name: 'x' },
      },
    ],
  }
  const state = { format: 'kubeloop-apiserver/1', store: { ...store, objects } } as never
  const client = new Client({ state })
  const { code } = await client.send('GET', PODS, undefined, { 'impersonate-user': 'jane' })
  assert.equal(code, 403)
})

test('a path with a broken encoding is refused like any other', async () => {
  const client = new Client()
  const { code } = await client.send('GET', '/api/v1/namespaces/%zz/pods', undefined, { 'impersonate-user': 'jane' })
  assert.equal(code, 403)
})
