import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromKubeConfig, type KubeConfigLike } from '../../lib/config/client_node.ts'
import { loadConfig } from '../../lib/config/load.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import { CA, fakeEnvironment, KEY, kubeconfigOf } from './fake_environment.ts'

/** Returns a KubeConfig of client-node with one context. Imported late, as that takes half a second. */
async function kubeConfig(cluster: object, user: object): Promise<KubeConfigLike> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: [{ name: 'c', server: 'https://api:6443', ...cluster }],
    users: [{ name: 'u', ...user }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u', namespace: 'team' }],
    currentContext: 'x',
  })
  return config
}

test('a KubeConfig with certificates is converted', async () => {
  const cluster = fromKubeConfig(
    await kubeConfig({ caData: btoa(CA), tlsServerName: 'inner' }, {
      certData: btoa(CA),
      keyData: btoa(KEY),
      impersonateUser: 'jane',
    }),
  )
  assert.equal(cluster.server, 'https://api:6443')
  assert.equal(cluster.namespace, 'team')
  assert.equal(cluster.serverName, 'inner')
  assert.equal(cluster.impersonate?.user, 'jane')
  assert.equal(cluster.insecure, undefined)
  assert.equal(await (cluster.ca as () => Promise<string>)(), CA)
  const { cert, key, token } = await cluster.credentials!()
  assert.deepEqual([cert, key, token], [CA, KEY, undefined])
  const texts = Object.assign(await kubeConfig({}, {}), {
    applyToHTTPSOptions: (options: object) => Promise.resolve(void Object.assign(options, { cert: CA, key: '' })),
  })
  const own = await fromKubeConfig(texts).credentials!()
  assert.deepEqual([own.cert, own.key], [CA, undefined])
})

test('a KubeConfig with a token, a password or without verification is converted', async () => {
  const token = fromKubeConfig(await kubeConfig({ skipTLSVerify: true }, { token: 'secret' }))
  assert.equal((await token.credentials!()).headers!['authorization'], 'Bearer secret')
  assert.equal(token.insecure, true)
  const basic = fromKubeConfig(await kubeConfig({}, { username: 'me', password: 'pä' }))
  assert.equal(
    (await basic.credentials!()).headers!['authorization'],
    `Basic ${Buffer.from('me:pä').toString('base64')}`,
  )
})

test('a cluster keeps the context that was current when it was made', async () => {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  const names = ['east', 'west']
  config.loadFromOptions({
    clusters: names.map((name) => ({ name, server: `https://${name}`, caData: btoa(name) })),
    users: names.map((name) => ({ name, token: `of-${name}` })),
    contexts: names.map((name) => ({ name, cluster: name, user: name })),
    currentContext: 'east',
  })
  const clusters = names.map((name) => {
    config.setCurrentContext(name)
    return fromKubeConfig(config)
  })
  for (const [at, name] of names.entries()) {
    const { server, ca, credentials } = clusters[at]!
    const { headers } = await credentials!()
    assert.deepEqual(
      [server, await (ca as () => Promise<string>)(), headers!['authorization']],
      [`https://${name}`, name, `Bearer of-${name}`],
    )
  }
})

/** Returns the cluster of a KubeConfig that signs in by `login`, and a function that returns its authorization. */
function signingIn(login: (count: number) => Promise<void>) {
  const environment = fakeEnvironment()
  let count = 0
  const cluster = fromKubeConfig({
    getCurrentContext: () => 'x',
    getContextObject: () => null,
    getCurrentUser: () => null,
    getCurrentCluster: () => ({ server: 'https://api' }),
    async applyToHTTPSOptions(options) {
      const number = ++count
      await login(number)
      options.headers = { Authorization: `Bearer t${number}` }
    },
  }, environment.clock)
  const authorization = async (): Promise<string | undefined> =>
    (await cluster.credentials!()).headers!['authorization']
  return { environment, cluster, authorization }
}

test('credentials are fetched again after their lifetime, and after a 401', async () => {
  const { environment, cluster, authorization } = signingIn(async () => {})
  assert.deepEqual([await authorization(), await authorization()], ['Bearer t1', 'Bearer t1'])
  environment.advance(10_000)
  assert.equal(await authorization(), 'Bearer t2')
  cluster.invalidate!()
  assert.equal(await authorization(), 'Bearer t3')
})

test('a failed login is not kept: the next request tries again, and an older failure drops no newer login', async () => {
  const logins: PromiseWithResolvers<void>[] = []
  const { cluster, authorization } = signingIn(() => {
    const login = Promise.withResolvers<void>()
    logins.push(login)
    return login.promise
  })
  const failing = [authorization(), authorization()].map((each) =>
    assert.rejects(each, /Cannot get credentials .*: late/)
  )
  logins[0]!.reject(new Error('late'))
  await Promise.all(failing)
  const second = authorization()
  cluster.invalidate!()
  const third = authorization()
  logins[2]!.resolve()
  assert.equal(await third, 'Bearer t3')
  logins[1]!.reject(new Error('late'))
  await assert.rejects(second, /late/)
  assert.deepEqual([await authorization(), logins.length], ['Bearer t3', 3])
})

test('an empty KubeConfig is refused', async () => {
  const { KubeConfig } = await import('@kubernetes/client-node')
  assert.throws(
    () => fromKubeConfig(new KubeConfig()),
    (error) => error instanceof ConfigError && /no current context/.test(error.message),
  )
})

test('an auth-provider signs in through client-node', async () => {
  // An id token that has not expired is used unchanged.
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const idToken = `${part({ alg: 'none' })}.${part({ exp: Math.floor(Date.now() / 1000) + 3600 })}.x`
  const config = {
    'id-token': idToken,
    'client-id': 'c',
    'client-secret': 's',
    'refresh-token': 'r',
    'idp-issuer-url': 'https://idp.invalid',
  }
  const text = kubeconfigOf({}, { 'auth-provider': { name: 'oidc', config } })
  const { cluster } = await loadConfig({ kubeconfig: '/k', environment: fakeEnvironment({ files: { '/k': text } }) })
  const { headers } = await cluster.credentials!()
  assert.equal(headers!['authorization'], `Bearer ${idToken}`)
  cluster.invalidate!()
  assert.notEqual((await cluster.credentials!()).headers, headers, 'it is asked again after a 401')
})
