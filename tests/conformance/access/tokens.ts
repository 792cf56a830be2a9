/** Cases of the tokens of service accounts. */
import assert from 'node:assert/strict'
import type { Body, Case } from '../api.ts'
import { ACCOUNTS, AUTHENTICATION, pod, PODS, send, type Step, steps } from './steps.ts'

const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const TOKEN = `${ACCOUNTS}/a/token`
const GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:$NS', 'system:authenticated']
const ACCOUNT: Step = { path: ACCOUNTS, body: { metadata: { name: 'a' } } }

function claimsOf(token: string): Body {
  const part = token.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/')
  return JSON.parse(atob(part))
}

function request(spec: Body, more: Partial<Step> = {}): Step {
  return { path: TOKEN, body: { spec }, ...more }
}

function review(token: string, spec: Body): Step {
  return { path: `${AUTHENTICATION}/tokenreviews`, body: { spec: { token, ...spec } }, show: 'status' }
}

export const TOKEN_CASES: readonly Case[] = [
  steps('a TokenRequest returns a token with its claims', async function* (api) {
    const account = yield ACCOUNT
    const body = yield { path: TOKEN, body: {} }
    assert.deepEqual([body.kind, body.apiVersion], ['TokenRequest', 'authentication.k8s.io/v1'])
    const { creationTimestamp, managedFields, ...metadata } = body.metadata
    assert.deepEqual(metadata, { name: 'a', namespace: api.namespace, uid: account.metadata.uid })
    assert.ok(creationTimestamp)
    assert.deepEqual(managedFields[0].fieldsV1, { 'f:spec': { 'f:expirationSeconds': {} } })
    assert.equal(managedFields[0].subresource, 'token')
    assert.deepEqual(body.spec, { audiences: [ISSUER], expirationSeconds: 3600, boundObjectRef: null })
    assert.match(body.status.token, /^[\w-]+\.[\w-]+\.[\w-]+$/)
    const { exp, iat, nbf, jti, ...claims } = claimsOf(body.status.token)
    assert.deepEqual(claims, {
      aud: [ISSUER],
      iss: ISSUER,
      sub: `system:serviceaccount:${api.namespace}:a`,
      'kubernetes.io': { namespace: api.namespace, serviceaccount: { name: 'a', uid: account.metadata.uid } },
    })
    assert.equal(exp - iat, 3600)
    assert.equal(nbf, iat)
    assert.match(jti, /^[\da-f-]{36}$/)
    assert.equal(typeof body.status.expirationTimestamp, 'string')
    yield { path: `${TOKEN}?dryRun=All`, body: {} }
  }),
  steps('the audiences and the expiration of a token can be chosen', [
    ACCOUNT,
    request({ audiences: ['x', 'y'], expirationSeconds: 601 }, {
      check(body) {
        const { aud, exp, iat } = claimsOf(body.status.token)
        assert.deepEqual(aud, ['x', 'y'])
        assert.equal(exp - iat, 601)
      },
      show: 'spec.audiences spec.expirationSeconds',
    }),
    request({ audiences: [] }, { show: 'spec.audiences' }),
    request({ expirationSeconds: 4294967296 }),
  ]),
  steps('an invalid TokenRequest is refused', [
    ACCOUNT,
    request({ expirationSeconds: 599 }),
    request({ expirationSeconds: 4294967297 }),
    { path: TOKEN, body: { metadata: { name: 'b' } } },
    { path: TOKEN, body: { metadata: { uid: 'x' } } },
    { path: `${ACCOUNTS}/none/token`, body: {} },
    { path: TOKEN },
    { path: TOKEN, method: 'PUT', body: {} },
  ]),
  steps('a token can be bound to a pod, a secret or a node', async function* (api) {
    yield ACCOUNT
    const { metadata: { uid } } = yield { path: PODS, body: pod('p', { serviceAccountName: 'a' }) }
    const bound = (kind: string, name: string, more: Body = {}): Body => ({
      boundObjectRef: { kind, apiVersion: 'v1', name, ...more },
    })
    const body = yield request(bound('Pod', 'p'), {
      show: 'spec.boundObjectRef.kind spec.boundObjectRef.apiVersion spec.boundObjectRef.name',
    })
    assert.deepEqual(claimsOf(body.status.token)['kubernetes.io'].pod, { name: 'p', uid })
    const secret = yield { path: '/api/v1/namespaces/$NS/secrets', body: { metadata: { name: 's' } } }
    const withSecret = yield request(bound('Secret', 's'))
    assert.deepEqual(claimsOf(withSecret.status.token)['kubernetes.io'].secret, { name: 's', uid: secret.metadata.uid })
    const node = yield { path: '/api/v1/nodes', body: { metadata: { name: '$NS' } } }
    const withNode = yield request(bound('Node', '$NS'))
    assert.deepEqual(claimsOf(withNode.status.token)['kubernetes.io'].node, {
      name: api.namespace,
      uid: node.metadata.uid,
    })
    yield request(bound('Pod', 'p', { uid: 'x' }))
    yield request(bound('Pod', 'none'))
    yield request(bound('ConfigMap', 'x'))
    yield request({ boundObjectRef: { kind: 'Foo', apiVersion: 'a/b/c', name: 'x' } })
    yield { path: PODS, body: pod('q', { serviceAccountName: 'other' }) }
    yield request(bound('Pod', 'q'))
    // Requested by kubelets for pods of old clients: the token lives for a year.
    const long = yield request({ ...bound('Pod', 'p'), expirationSeconds: 3607 })
    const claims = claimsOf(long.status.token)
    assert.equal(claims.exp - claims.iat, 365 * 24 * 3600)
    assert.equal(claims['kubernetes.io'].warnafter - claims.iat, 3607)
    assert.equal(long.spec.expirationSeconds, 3607)
    const other = claimsOf(
      (yield request({ ...bound('Pod', 'p'), audiences: ['x'], expirationSeconds: 3607 })).status.token,
    )
    assert.equal(other.exp - other.iat, 3607)
  }),
  steps('the claims of a bound pod name its node', async function* (api) {
    yield ACCOUNT
    const node = yield { path: '/api/v1/nodes', body: { metadata: { name: '$NS-n' } } }
    yield { path: PODS, body: pod('p', { serviceAccountName: 'a', nodeName: '$NS-n' }) }
    const { status } = yield request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p' } })
    assert.deepEqual(claimsOf(status.token)['kubernetes.io'].node, {
      name: `${api.namespace}-n`,
      uid: node.metadata.uid,
    })
    const who = yield {
      path: `${AUTHENTICATION}/selfsubjectreviews`,
      body: {},
      headers: { authorization: `Bearer ${status.token}` },
    }
    assert.deepEqual(Object.keys(who.status.userInfo.extra).map((key) => key.split('/')[1]), [
      'credential-id',
      'node-name',
      'node-uid',
      'pod-name',
      'pod-uid',
    ])
  }),
  steps('an issued token authenticates the service account', async function* (api) {
    const account = yield ACCOUNT
    const { status } = yield { path: TOKEN, body: {} }
    const headers = { authorization: `Bearer ${status.token}` }
    const userInfo = {
      username: `system:serviceaccount:${api.namespace}:a`,
      uid: account.metadata.uid,
      groups: GROUPS.map((group) => group.replace('$NS', api.namespace)),
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${claimsOf(status.token).jti}`] },
    }
    const who = yield { path: `${AUTHENTICATION}/selfsubjectreviews`, body: {}, headers }
    assert.deepEqual(who.status, { userInfo })
    yield { path: PODS, headers }
    yield review(status.token, {})
    yield review(status.token, { audiences: ['y', ISSUER] })
    yield review(status.token, { audiences: ['y', 'z'] })
  }),
  steps('a token for another audience is refused', async function* () {
    yield ACCOUNT
    const { status } = yield request({ audiences: ['x', 'y'] })
    yield { path: PODS, headers: { authorization: `Bearer ${status.token}` } }
    yield review(status.token, {})
    yield {
      path: `${AUTHENTICATION}/tokenreviews`,
      body: { spec: { token: status.token, audiences: ['y', 'z'] } },
      show: 'status.authenticated status.audiences',
    }
  }),
  steps('a token ends with its account and its bound object', async function* (api) {
    yield ACCOUNT
    yield { path: PODS, body: pod('p', { serviceAccountName: 'a' }) }
    const bound = yield request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p' } })
    const first = yield request({})
    const second = yield request({})
    yield { method: 'DELETE', path: `${PODS}/p` }
    await untilRefused(api, bound.status.token, 'service account token has been invalidated')
    const { metadata: { uid: before } } = yield { path: `${ACCOUNTS}/a` }
    yield { method: 'DELETE', path: `${ACCOUNTS}/a` }
    await untilRefused(api, first.status.token, 'serviceaccounts "a" not found')
    const { metadata: { uid: after } } = yield ACCOUNT
    await untilRefused(api, second.status.token, `service account UID (${after}) does not match claim (${before})`)
  }),
  steps('a review of an unknown token is answered with an error', [
    ...['nope', 'a.b.c', 'eyJhIjoxfQ.eyJpc3MiOiJ4In0.eA'].map((token) => review(token, {})),
    {
      path: `${AUTHENTICATION}/tokenreviews`,
      body: { metadata: { name: 'y', namespace: 'x' }, spec: { token: 'nope' } },
      check: ({ metadata: { managedFields: _, ...rest } }) => assert.deepEqual(rest, { name: 'y' }),
    },
    { path: `${AUTHENTICATION}/tokenreviews`, body: { spec: {} } },
  ]),
  steps('other credentials than a valid bearer token', async function* () {
    yield ACCOUNT
    const { status: { token } } = yield { path: TOKEN, body: {} }
    const parts = token.split('.')
    yield { path: PODS, headers: { authorization: 'Basic d3Jvbmc=' } }
    yield { path: '/version', headers: { authorization: 'Basic d3Jvbmc=' } }
    const changed = parts[2].replace(/^./, (first: string) => first === 'A' ? 'B' : 'A')
    for (const wrong of [`${token}x`, `${parts[0]}.${parts[1]}.${changed}`]) {
      yield { path: '/version', headers: { authorization: `Bearer ${wrong}` } }
    }
    yield { path: PODS, headers: { authorization: `bearer ${token}` } }
  }),
]

/** A real server checks a bound object in a cache. A refusal is not cached, so the token must not be used before. */
async function untilRefused(api: Parameters<typeof send>[0], token: string, reason: string): Promise<void> {
  await api.request('GET', '/version')
  for (let tries = 0; tries < 200; tries++) await api.request('GET', '/version')
  const { status } = await send(api, review(token, {}))
  assert.equal(status.error, `[invalid bearer token, ${reason}]`)
}
