import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../lib/config/load.ts'
import type { LoadedCluster } from '../../lib/config/loaded.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import { CA, CERT, type FakeEnvironment, fakeEnvironment, KEY, kubeconfigOf, valueOf } from './fake_environment.ts'

/** Loads a kubeconfig with one cluster and one user, at /etc/kube/config. */
async function load(
  cluster: object,
  user?: object,
  environment: FakeEnvironment = fakeEnvironment(),
): Promise<LoadedCluster['cluster']> {
  environment.files['/etc/kube/config'] = kubeconfigOf(cluster, user)
  return (await loadConfig({ kubeconfig: '/etc/kube/config', environment })).cluster
}

test('every field of a cluster is read', async () => {
  const cluster = await load({
    'tls-server-name': 'inner',
    'proxy-url': 'http://proxy:3128',
    'disable-compression': true,
    'certificate-authority-data': btoa(CA),
  })
  assert.deepEqual({ ...cluster, ca: await valueOf(cluster.ca) }, {
    server: 'https://api:6443',
    ca: CA,
    insecure: undefined,
    serverName: 'inner',
    proxy: 'http://proxy:3128',
    gzip: false,
    credentials: undefined,
    impersonate: undefined,
    namespace: undefined,
    origin: {
      identity: 'no user of context "dev" in /etc/kube/config',
      address: 'context "dev" in /etc/kube/config',
      fields: {},
    },
    invalidate: undefined,
    invalidateCa: cluster.invalidateCa,
  })
  assert.equal((await load({ 'insecure-skip-tls-verify': true })).insecure, true)
})

test('a server without a scheme is https, and a stated scheme stays', async () => {
  assert.equal((await load({ server: 'localhost:8080' })).server, 'https://localhost:8080')
  assert.equal((await load({ server: 'api:6443' }, { token: 'secret' })).server, 'https://api:6443')
  assert.equal((await load({ server: 'http://api:6443' }, { token: 'secret' })).server, 'http://api:6443')
})

test('a user without credentials is none, so that a server by http gets its requests', async () => {
  const { credentials, server, origin } = await load({ server: 'http://api' }, { as: 'other' })
  assert.deepEqual([credentials, server, origin?.identity], [
    undefined,
    'http://api',
    'user "u" of context "dev" in /etc/kube/config',
  ])
})

test('a user with a certificate: data overrides a file, and relative paths start at the kubeconfig', async () => {
  const environment = fakeEnvironment({
    files: { '/etc/kube/pki/ca.crt': CA, '/abs/me.crt': CERT, '/etc/kube/me.key': KEY },
  })
  const cluster = await load(
    { 'certificate-authority': 'pki/ca.crt' },
    {
      'client-certificate': '/abs/me.crt',
      'client-key': 'me.key',
      'client-key-data': btoa(KEY.replace('S0VZ', 'REFU')),
    },
    environment,
  )
  assert.equal(await valueOf(cluster.ca), CA)
  assert.deepEqual(await cluster.credentials!(), {
    token: undefined,
    headers: undefined,
    cert: CERT,
    key: KEY.replace('S0VZ', 'REFU'),
  })
})

test('certificate, key, CA and token files are read again when they rotate', async () => {
  const files = { '/ca': CA, '/crt': CERT, '/key': KEY, '/token': 'one\n' }
  const environment = fakeEnvironment({ files: { ...files } })
  const cluster = await load({ 'certificate-authority': '/ca' }, {
    'client-certificate': '/crt',
    'client-key': '/key',
    tokenFile: '/token',
    token: 'fixed',
  }, environment)
  assert.equal((await cluster.credentials!()).token, 'one')
  Object.assign(environment.files, { '/ca': CA + CA, '/crt': CERT + CERT, '/key': KEY + KEY, '/token': 'two' })
  assert.equal((await cluster.credentials!()).token, 'one')
  environment.advance(60_000)
  assert.deepEqual(await cluster.credentials!(), {
    token: 'two',
    headers: undefined,
    cert: CERT + CERT,
    key: KEY + KEY,
  })
  assert.equal(await valueOf(cluster.ca), CA + CA)
})

test('permissions are named for the files and the plugin that are used', async () => {
  const cert = { 'client-certificate': 'pki/crt', 'client-key': '/key', 'client-key-data': btoa(KEY) }
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: './login', interactiveMode: 'Never' }
  const run = 'run /etc/kube/login'
  for (
    const [user, ...needed] of [
      [{ exec }, run],
      [{ exec: { ...exec, command: 'login' }, ...cert }, 'read /etc/kube/pki/crt', 'run login'],
      [{ exec, token: 'a' }],
      [{ exec, username: 'a' }],
      [{ exec, tokenFile: 'token' }, 'read /etc/kube/token'],
      [{ 'client-certificate': 'crt', 'client-key': 'key' }, 'read /etc/kube/crt', 'read /etc/kube/key'],
    ] as const
  ) {
    const lacking = (rights: readonly object[]): readonly object[] => rights
    await assert.rejects(
      load({ 'certificate-authority': 'ca' }, user, { ...fakeEnvironment(), lacking }),
      (error: ConfigError & { readonly rights: readonly Readonly<Record<string, string>>[] }) => {
        assert.match(error.message, /^Cannot use a context of \/etc\/kube\/config: Deno needs /)
        const found = error.rights.map(({ name, path, command, host }) => `${name} ${path ?? command ?? host}`)
        assert.deepEqual(found, ['read /etc/kube/ca', ...needed, 'net api:6443'])
        return true
      },
    )
  }
})

test('only credentials that can change are fetched again after a 401', async () => {
  assert.equal((await load({}, { token: 'fixed' })).invalidate, undefined)
  const [cert, key] = [CERT, KEY].map(btoa)
  for (
    const [user, canChange] of [
      [{ 'client-certificate-data': cert, 'client-key-data': key }, false],
      [{ 'client-certificate-data': cert, 'client-key': '/key' }, true],
      [{ 'client-certificate': '/cert', 'client-key-data': key }, true],
    ] as const
  ) {
    const { invalidate } = await load({}, user, fakeEnvironment({ files: { '/cert': CERT, '/key': KEY } }))
    assert.equal(invalidate !== undefined, canChange)
  }
  const environment = fakeEnvironment({ files: { '/token': 'one' } })
  const cluster = await load({}, { tokenFile: '/token' }, environment)
  environment.files['/token'] = 'two'
  cluster.invalidate!()
  assert.equal((await cluster.credentials!()).token, 'two')
})

test('user and password become basic authentication, in UTF-8', async () => {
  const { credentials } = await load({}, { username: 'jörg', password: 'pä:ss' })
  const { headers, token } = await credentials!()
  assert.equal(token, undefined)
  assert.equal(Buffer.from(headers!['authorization']!.replace('Basic ', ''), 'base64').toString(), 'jörg:pä:ss')
  // A token has precedence.
  for (const token of [{ token: 't' }, { tokenFile: '/t' }]) {
    const both = await load({}, { username: 'a', password: 'b', ...token }, fakeEnvironment({ files: { '/t': 't' } }))
    assert.deepEqual(await both.credentials!(), { token: 't', headers: undefined, cert: undefined, key: undefined })
  }
})

test('impersonation is read', async () => {
  const user = { token: 't', as: 'jane', 'as-uid': '7', 'as-groups': ['a', 'b'], 'as-user-extra': { scopes: ['x'] } }
  assert.deepEqual((await load({}, user)).impersonate, {
    user: 'jane',
    uid: '7',
    groups: ['a', 'b'],
    extra: { scopes: ['x'] },
  })
  for (const part of [{ 'as-groups': ['a'] }, { 'as-uid': '7' }, { 'as-user-extra': { scopes: ['x'] } }]) {
    await assert.rejects(load({}, { token: 't', ...part }), /users\["u"\]\.user\.as is missing/)
  }
})

test('the proxy of the environment is used if the cluster has none and is not exempt', async () => {
  const variables = { HTTPS_PROXY: 'http://corp:3128' }
  assert.equal((await load({}, undefined, fakeEnvironment({ variables }))).proxy, 'http://corp:3128')
  assert.equal(
    (await load({ 'proxy-url': 'http://own:1' }, undefined, fakeEnvironment({ variables }))).proxy,
    'http://own:1',
  )
  assert.equal(
    (await load({}, undefined, fakeEnvironment({ variables: { ...variables, NO_PROXY: 'api' } }))).proxy,
    undefined,
  )
  assert.equal(
    (await load({ server: 'https://127.0.0.1:1' }, undefined, fakeEnvironment({ variables }))).proxy,
    undefined,
  )
})

const BROKEN: readonly [name: string, cluster: object, user: object | undefined, message: RegExp][] = [
  ['a server that is not a URL', { server: 'https://' }, undefined, /clusters\["c"\]\.cluster\.server is not a URL/],
  ['no server', { server: '' }, undefined, /clusters\["c"\]\.cluster\.server is missing/],
  [
    'CA and insecure',
    { 'certificate-authority-data': btoa(CA), 'insecure-skip-tls-verify': true },
    undefined,
    /insecure-skip-tls-verify cannot be true/,
  ],
  [
    'text for a flag',
    { 'insecure-skip-tls-verify': 'secret' },
    undefined,
    /insecure-skip-tls-verify must be true or false, but is text/,
  ],
  [
    'a number for a token',
    {},
    { token: 12345 },
    /users\["u"\]\.user\.token must be text, but is a number; put it in quotes/,
  ],
  [
    'invalid base64',
    {},
    { 'client-certificate-data': 'secret!', 'client-key-data': btoa(KEY) },
    /client-certificate-data is not base64/,
  ],
  [
    'a key that is not PEM',
    {},
    { 'client-certificate-data': btoa(CERT), 'client-key-data': btoa('secret') },
    /client-key-data is not a PEM private key/,
  ],
  [
    'an encrypted key',
    {},
    { 'client-certificate-data': btoa(CERT), 'client-key-data': btoa('-----BEGIN ENCRYPTED PRIVATE KEY-----') },
    /encrypted with a passphrase/,
  ],
  [
    "an encrypted key in OpenSSL's own form",
    {},
    {
      'client-certificate-data': btoa(CERT),
      'client-key-data': btoa('-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n'),
    },
    /encrypted with a passphrase/,
  ],
  [
    'a CA that is not PEM',
    { 'certificate-authority-data': btoa('secret') },
    undefined,
    /certificate-authority-data is not a PEM certificate/,
  ],
  ['a certificate without its key', {}, { 'client-certificate-data': btoa(CERT) }, /client-key-data is missing/],
  [
    'a missing file',
    {},
    { tokenFile: 'gone' },
    /Cannot read users\["u"\]\.user\.tokenFile of \/etc\/kube\/config: \/etc\/kube\/gone: there is no such file/,
  ],
  [
    'a SOCKS proxy',
    { 'proxy-url': 'socks5://u:secret@x' },
    undefined,
    /proxy-url must be an http:\/\/ or https:\/\/ URL/,
  ],
  ...['https://u:secret@x', 'http://secret@x', 'secret@x:6443', 'https://:secret@x'].map((
    server,
  ): typeof BROKEN[number] => [
    `a server with a user, as in ${server}`,
    { server },
    undefined,
    /clusters\["c"\]\.cluster\.server has a user: state the credentials in the user's entry/,
  ]),
  [
    'a proxy with a stray percent sign',
    { 'proxy-url': 'http://u:secret%@x' },
    undefined,
    /clusters\["c"\]\.cluster\.proxy-url cannot be used: .*write %25 for a percent sign/,
  ],
  [
    'an exec plugin of an old version',
    {},
    { exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' } },
    /exec\.apiVersion must be/,
  ],
  [
    'an exec plugin without interactiveMode',
    {},
    { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' } },
    /interactiveMode must be Never/,
  ],
  [
    'an exec plugin without command',
    {},
    { exec: { apiVersion: 'client.authentication.k8s.io/v1' } },
    /exec\.command is missing/,
  ],
]

for (const [name, cluster, user, message] of BROKEN) {
  test(`${name} is an error of one line with file and field, without the value`, async () => {
    await assert.rejects(load(cluster, user), (error) => {
      assert.ok(error instanceof ConfigError, String(error))
      assert.match(error.message, message)
      assert.match(error.message, /\/etc\/kube\/config/)
      assert.doesNotMatch(error.message, /\n|secret|12345/)
      return true
    })
  })
}

test('errors about broken documents do not quote them', async () => {
  const context = (entry: object, more: object = {}): string =>
    JSON.stringify({ 'current-context': 'dev', contexts: [{ name: 'dev', context: entry }], ...more })
  const cases: [text: string, message: RegExp, context?: string][] = [
    ['', /current-context is not set; it has none/],
    ['[]', /the document must be a mapping, but is a list/],
    ['a: [1\nsecret: x', /it is not valid YAML or JSON: deficient indentation at line 2, column 1$/],
    ['{"token": "secret", }}', /not valid YAML or JSON/],
    ['users: *secret', /not valid YAML or JSON: unidentified alias … at line 1/],
    ['a: 1\na: 2', /duplicated mapping key/],
    ['contexts: {}', /contexts must be a list, but is a mapping/],
    ['contexts: [{context: {}}]', /contexts\[0\]\.name is missing/],
    ['contexts: [{name: a}, {name: a}]', /contexts has two entries named "a"/],
    ['contexts: [{name: a}, {name: b}]', /there is no such context; it has "a", "b"/, 'x'],
    ['contexts: [{name: a}, {name: b}]', /current-context is not set; it has "a", "b"/],
    [context({}), /contexts\["dev"\]\.context\.cluster is missing/],
    [context({ cluster: 'c' }), /contexts\["dev"\]\.context\.cluster is "c", and no cluster has this name/],
    [
      context({ cluster: 'c', user: 'u' }, { clusters: [{ name: 'c', cluster: { server: 'https://x' } }] }),
      /context\.user is "u", and no user has this name/,
    ],
  ]
  for (const [text, message, name] of cases) {
    await assert.rejects(
      loadConfig({ kubeconfig: '/k', context: name, environment: fakeEnvironment({ files: { '/k': text } }) }),
      (error) => {
        assert.ok(error instanceof ConfigError, String(error))
        assert.match(error.message, message)
        assert.match(error.message, /\/k/)
        assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /secret/)
        return true
      },
    )
  }
})

test('the origin of a cluster has the user, and the fields that are files', async () => {
  assert.deepEqual((await load({}, { token: 'secret' })).origin, {
    identity: 'user "u" of context "dev" in /etc/kube/config',
    address: 'context "dev" in /etc/kube/config',
    fields: {},
  })
  const environment = fakeEnvironment({ files: { '/ca': CA, '/crt': CERT, '/key': KEY } })
  const files = await load(
    { 'certificate-authority': '/ca' },
    { 'client-certificate': '/crt', 'client-key': '/key' },
    environment,
  )
  assert.deepEqual(files.origin?.fields, {
    'certificate-authority-data': 'certificate-authority',
    'client-certificate-data': 'client-certificate',
    'client-key-data': 'client-key',
  })
  // Data overrides a file.
  const both = await load({ 'certificate-authority': '/ca', 'certificate-authority-data': btoa(CA) }, {
    token: 'secret',
  }, environment)
  assert.deepEqual(both.origin?.fields, {})
})
