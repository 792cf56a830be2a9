/** Cases of the tokens of service accounts. */
import type { Body } from '../api.ts'
import { type Script, script, type Step } from '../transcript.ts'
import { AUTHENTICATION, pod } from './granting.ts'

const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const TOKEN = 'POST ns/serviceaccounts/a/token'
const ACCOUNT: Step = ['POST ns/serviceaccounts ? metadata.uid', { metadata: { name: 'a' } }]
const WHO = `POST ${AUTHENTICATION}/selfsubjectreviews`

/** Adds the claims of a token, with its times as durations. */
function withClaims(body: Body): Body {
  const part = body.status.token.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/')
  const { 'kubernetes.io': of, iat, nbf, exp, ...claims } = JSON.parse(atob(part))
  const warnafter = of.warnafter && of.warnafter - iat
  return {
    ...body,
    claims: { ...claims, exp: exp - iat, nbf: nbf - iat },
    of: { ...of, warnafter },
    token: { uid: claims.jti },
  }
}

/** Adds the token with another signature. */
const withOther = (body: Body): Body => ({
  ...body,
  other: body.status.token.replace(
    /\.(.)([^.]*)$/,
    (_: string, first: string, rest: string) => `.${first === 'A' ? 'B' : 'A'}${rest}`,
  ),
})
/** Adds the id of the token of a request. */
const withId = (body: Body): Body => {
  const [id] = body.status.userInfo.extra['authentication.kubernetes.io/credential-id']
  return { ...body, token: { uid: id.replace('JTI=', '') } }
}

/** Requests a token, and shows parts of the answer and of its claims. */
const request = (spec: Body, shows = ''): Step => [`${TOKEN}${shows && ` ? ${shows}`}`, { spec }, {
  ...(shows && { look: withClaims }),
}]
const bound = (kind: string, name: string, more: Body = {}): Body => ({
  boundObjectRef: { kind, apiVersion: 'v1', name, ...more },
})
const bearing = (token: string, line: string, body?: Body): Step => [line, body, {
  headers: { authorization: `Bearer ${token}` },
}]
const review = (token: string, spec: Body = {}): Step => [
  `POST ${AUTHENTICATION}/tokenreviews ? status.user.uid status`,
  { spec: { token, ...spec } },
]
/** A real server checks a bound object in a cache. A refusal is not cached, so the token must not be used before. */
const refused = (token: string): Step[] => [['GET /version ? major', undefined, { times: 200 }], review(token)]

export const TOKEN_CASES: readonly Script[] = [
  script('a TokenRequest returns a token with its claims', [
    ACCOUNT,
    [
      `${TOKEN} ? kind apiVersion metadata.uid metadata.name metadata.creationTimestamp metadata.managedFields spec claims of.serviceaccount.uid of`,
      {},
      { look: withClaims },
    ],
    [`${TOKEN}?dryRun=All`, {}],
  ]),
  script('the audiences and the expiration of a token can be chosen', [
    ACCOUNT,
    request({ audiences: ['x', 'y'], expirationSeconds: 601 }, 'spec.audiences spec.expirationSeconds claims'),
    request({ audiences: [] }, 'spec.audiences'),
    request({ expirationSeconds: 4294967296 }),
  ]),
  script('an invalid TokenRequest is refused', [
    ACCOUNT,
    request({ expirationSeconds: 599 }),
    request({ expirationSeconds: 4294967297 }),
    [TOKEN, { metadata: { name: 'b' } }],
    [TOKEN, { metadata: { uid: 'x' } }],
    ['POST ns/serviceaccounts/none/token', {}],
    'GET ns/serviceaccounts/a/token',
    ['PUT ns/serviceaccounts/a/token', {}],
  ]),
  script('a token can be bound to a pod, a secret or a node', [
    ACCOUNT,
    ['POST ns/pods ? metadata.uid', pod('p', { serviceAccountName: 'a' })],
    request(bound('Pod', 'p'), 'spec.boundObjectRef of.pod.uid of'),
    ['POST ns/secrets ? metadata.uid', { metadata: { name: 's' } }],
    request(bound('Secret', 's'), 'of.secret.uid of'),
    ['POST /api/v1/nodes ? metadata.uid', { metadata: { name: '{ns}' } }],
    request(bound('Node', '{ns}'), 'of.node.uid of'),
    request(bound('Pod', 'p', { uid: 'x' })),
    request(bound('Pod', 'none')),
    request(bound('ConfigMap', 'x')),
    request({ boundObjectRef: { kind: 'Foo', apiVersion: 'a/b/c', name: 'x' } }),
    ['POST ns/pods', pod('q', { serviceAccountName: 'other' })],
    request(bound('Pod', 'q')),
    // Requested by kubelets for pods of old clients: the token lives for a year.
    request({ ...bound('Pod', 'p'), expirationSeconds: 3607 }, 'claims.exp of.warnafter spec.expirationSeconds'),
    request({ ...bound('Pod', 'p'), audiences: ['x'], expirationSeconds: 3607 }, 'claims.exp of.warnafter'),
  ]),
  script('the claims of a bound pod name its node', [
    ACCOUNT,
    ['POST /api/v1/nodes ? metadata.uid', { metadata: { name: '{ns}-n' } }],
    ['POST ns/pods', pod('p', { serviceAccountName: 'a', nodeName: '{ns}-n' })],
    request(bound('Pod', 'p'), 'of.node.uid of.node'),
    bearing('{-1.status.token}', `${WHO} ? status.userInfo.extra`, {}),
    request(bound('Node', '{ns}-n')),
    'DELETE /api/v1/nodes/{ns}-n ? kind',
    ...refused('{5.status.token}'),
    bearing('{3.status.token}', `${WHO} ? status.userInfo.username`, {}),
  ]),
  script('an issued token authenticates the service account', [
    ACCOUNT,
    request({}, 'token.uid'),
    [`${WHO} ? status.userInfo.uid token.uid status`, {}, {
      headers: { authorization: 'Bearer {1.status.token}' },
      look: withId,
    }],
    bearing('{1.status.token}', 'GET ns/pods'),
    review('{1.status.token}'),
    review('{1.status.token}', { audiences: ['y', ISSUER] }),
    review('{1.status.token}', { audiences: ['y', 'z'] }),
  ]),
  script('a token for another audience is refused', [
    ACCOUNT,
    request({ audiences: ['x', 'y'] }),
    bearing('{1.status.token}', 'GET ns/pods'),
    review('{1.status.token}'),
    review('{1.status.token}', { audiences: ['y', 'z'] }),
  ]),
  script('a token ends with its account and its bound object', [
    ACCOUNT,
    ['POST ns/pods', pod('p', { serviceAccountName: 'a' })],
    request(bound('Pod', 'p')),
    request({}),
    request({}),
    'DELETE ns/pods/p',
    ...refused('{2.status.token}'),
    'DELETE ns/serviceaccounts/a',
    ...refused('{3.status.token}'),
    ACCOUNT,
    ...refused('{4.status.token}'),
  ]),
  script('a review of an unknown token is answered with an error', [
    ...['nope', 'a.b.c', 'eyJhIjoxfQ.eyJpc3MiOiJ4In0.eA'].map((token) => review(token)),
    [`POST ${AUTHENTICATION}/tokenreviews ? metadata.name metadata.namespace`, {
      metadata: { name: 'y', namespace: 'x' },
      spec: { token: 'nope' },
    }],
    [`POST ${AUTHENTICATION}/tokenreviews`, { spec: {} }],
  ]),
  script('other credentials than a valid bearer token', [
    ACCOUNT,
    [TOKEN, {}, { look: withOther }],
    ['GET ns/pods', undefined, { headers: { authorization: 'Basic d3Jvbmc=' } }],
    ['GET /version', undefined, { headers: { authorization: 'Basic d3Jvbmc=' } }],
    bearing('{1.status.token}x', 'GET /version'),
    bearing('{1.other}', 'GET /version'),
    ['GET ns/pods', undefined, { headers: { authorization: 'bearer {1.status.token}' } }],
  ]),
]
