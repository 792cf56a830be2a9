import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../lib/config/load.ts'
import type { ClusterConfig } from '../../lib/core/cluster_config.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import type { ExecOptions } from '../../lib/runtime/exec.ts'
import { type FakeEnvironment, fakeEnvironment } from './fake_environment.ts'

const V1 = 'client.authentication.k8s.io/v1'
const CERT = '-----BEGIN CERTIFICATE-----\nQ0VSVA==\n-----END CERTIFICATE-----\n'
const KEY = '-----BEGIN PRIVATE KEY-----\nS0VZ\n-----END PRIVATE KEY-----\n'

function answer(status: object, apiVersion = V1): { code: number; stdout: string; stderr: string } {
  return { code: 0, stdout: JSON.stringify({ kind: 'ExecCredential', apiVersion, status }), stderr: 'noise' }
}

async function load(environment: FakeEnvironment, exec: object = {}, cluster: object = {}): Promise<ClusterConfig> {
  environment.files['/k/config'] = JSON.stringify({
    'current-context': 'dev',
    contexts: [{ name: 'dev', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://api', ...cluster } }],
    users: [{ name: 'u', user: { exec: { apiVersion: V1, command: 'login', interactiveMode: 'IfAvailable', ...exec } } }],
  })
  return (await loadConfig({ kubeconfig: '/k/config', environment })).cluster
}

test('a plugin is told what the protocol says, and is not run before a request needs it', async () => {
  let told: { args: readonly string[]; options: ExecOptions } | undefined
  const environment = fakeEnvironment({ programs: { login: (args, options) => ((told = { args, options }), answer({ token: 't' })) } })
  const cluster = await load(environment, { args: ['get', 'token'], env: [{ name: 'PROFILE', value: 'dev' }] })
  assert.deepEqual(environment.runs, [])
  assert.equal((await cluster.credentials!()).token, 't')
  assert.deepEqual(told!.args, ['get', 'token'])
  const { KUBERNETES_EXEC_INFO, ...variables } = told!.options.env!
  assert.deepEqual(variables, { PROFILE: 'dev' })
  assert.deepEqual(JSON.parse(KUBERNETES_EXEC_INFO!), { kind: 'ExecCredential', apiVersion: V1, spec: { interactive: false } })
})

test('a plugin that asks for it is told of its cluster', async () => {
  let info = ''
  const environment = fakeEnvironment({
    programs: { login: (_, { env }) => ((info = env!['KUBERNETES_EXEC_INFO']!), answer({ token: 't' })) },
  })
  const cluster = await load(environment, { provideClusterInfo: true }, {
    'certificate-authority-data': btoa(CERT),
    'tls-server-name': 'inner',
    extensions: [{ name: 'other', extension: 1 }, { name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } }],
  })
  await cluster.credentials!()
  assert.deepEqual(JSON.parse(info).spec.cluster, {
    server: 'https://api',
    'tls-server-name': 'inner',
    'certificate-authority-data': btoa(CERT),
    config: { audience: 'x' },
  })
})

test('a CA bundle of any size is told to a plugin', async () => {
  let info = ''
  const environment = fakeEnvironment({
    programs: { login: (_, { env }) => ((info = env!['KUBERNETES_EXEC_INFO']!), answer({ token: 't' })) },
  })
  const bundle = CERT.repeat(10_000)
  const cluster = await load(environment, { provideClusterInfo: true }, { 'certificate-authority-data': btoa(bundle) })
  await cluster.credentials!()
  assert.equal(JSON.parse(info).spec.cluster['certificate-authority-data'], btoa(bundle))
})

test('v1beta1 works, and may leave interactiveMode out', async () => {
  const version = 'client.authentication.k8s.io/v1beta1'
  const environment = fakeEnvironment({ programs: { login: () => answer({ token: 't' }, version) } })
  const cluster = await load(environment, { apiVersion: version, interactiveMode: undefined })
  assert.equal((await cluster.credentials!()).token, 't')
})

test('a client certificate from a plugin', async () => {
  const environment = fakeEnvironment({ programs: { login: () => answer({ clientCertificateData: CERT, clientKeyData: KEY }) } })
  assert.deepEqual(await (await load(environment)).credentials!(), { token: undefined, headers: undefined, cert: CERT, key: KEY })
})

test('many who wait share one run', async () => {
  const run = Promise.withResolvers<void>()
  const environment = fakeEnvironment({ programs: { login: async () => (await run.promise, answer({ token: 't' })) } })
  const cluster = await load(environment)
  const all = Promise.all(Array.from({ length: 20 }, () => cluster.credentials!()))
  run.resolve()
  assert.ok((await all).every(({ token }) => token === 't'))
  await cluster.credentials!()
  assert.equal(environment.runs.length, 1)
})

test('credentials are fetched anew a minute before they expire', async () => {
  let count = 0
  const environment: FakeEnvironment = fakeEnvironment({
    programs: {
      login: () => answer({ token: `t${++count}`, expirationTimestamp: new Date(environment.clock.now() + 3_600_000).toISOString() }),
    },
  })
  const cluster = await load(environment)
  assert.equal((await cluster.credentials!()).token, 't1')
  environment.advance(3_539_999)
  assert.equal((await cluster.credentials!()).token, 't1')
  environment.advance(1)
  assert.equal((await cluster.credentials!()).token, 't2')
})

test('credentials that live for a minute only are still kept for most of it', async () => {
  const environment: FakeEnvironment = fakeEnvironment({
    programs: { login: () => answer({ token: 't', expirationTimestamp: new Date(environment.clock.now() + 60_000).toISOString() }) },
  })
  const cluster = await load(environment)
  await cluster.credentials!()
  environment.advance(47_000)
  await cluster.credentials!()
  assert.equal(environment.runs.length, 1)
  environment.advance(1_000)
  await cluster.credentials!()
  assert.equal(environment.runs.length, 2)
})

test('after a 401 the plugin is run again; a failure is not kept', async () => {
  const answers = [answer({ token: 'one' }), { code: 1, stdout: '', stderr: 'down' }, answer({ token: 'two' })]
  const environment = fakeEnvironment({ programs: { login: () => answers.shift()! } })
  const cluster = await load(environment)
  assert.equal((await cluster.credentials!()).token, 'one')
  cluster.invalidate!()
  await assert.rejects(cluster.credentials!(), /exit code 1: down/)
  assert.equal((await cluster.credentials!()).token, 'two')
})

test('a command with a slash is seen from the kubeconfig', async () => {
  const environment = fakeEnvironment({ programs: { '/k/bin/login': () => answer({ token: 't' }) } })
  const cluster = await load(environment, { command: './bin/login' })
  await cluster.credentials!()
  assert.deepEqual(environment.runs, ['/k/bin/login'])
})

test('a plugin that talks gets the terminal, if there is one and it wants it', async () => {
  for (
    const [interactiveMode, terminal, interactive] of [['IfAvailable', true, true], ['Always', true, true], ['Never', true, false], [
      'IfAvailable',
      false,
      false,
    ]] as const
  ) {
    let options: ExecOptions | undefined
    const environment = fakeEnvironment({ programs: { login: (_, given) => ((options = given), answer({ token: 't' })) } })
    environment.terminal = terminal
    await (await load(environment, { interactiveMode })).credentials!()
    assert.equal(options!.interactive, interactive)
    assert.equal(JSON.parse(options!.env!['KUBERNETES_EXEC_INFO']!).spec.interactive, interactive)
  }
  const environment = fakeEnvironment({ programs: { login: () => answer({ token: 't' }) } })
  await assert.rejects(
    (await load(environment, { interactiveMode: 'Always' })).credentials!(),
    /needs a terminal \(interactiveMode: Always\), and there is none/,
  )
})

test('a plugin that is not installed: the hint of the kubeconfig is shown', async () => {
  const cluster = await load(fakeEnvironment(), { installHint: 'Install it with brew install login' })
  await assert.rejects(cluster.credentials!(), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(
      error.message,
      /^Cannot get credentials of users\["u"\]\.user\.exec in \/k\/config: Cannot run "login": it is not installed\nInstall it with brew/,
    )
    return true
  })
})

const BAD: readonly [name: string, stdout: string, message: RegExp][] = [
  ['nothing', '', /it printed nothing/],
  ['no JSON', 'token=secret', /it is not JSON/],
  ['another kind', '{"kind":"secret"}', /its kind is not ExecCredential/],
  [
    'another version',
    JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1beta1', status: { token: 'secret' } }),
    /its apiVersion is not/,
  ],
  ['no status', JSON.stringify({ kind: 'ExecCredential', apiVersion: V1 }), /it has no status/],
  ['no credentials', answer({}).stdout, /neither a token nor a client certificate/],
  ['a certificate alone', answer({ clientCertificateData: CERT }).stdout, /come together/],
  [
    'a certificate that is none',
    answer({ clientCertificateData: 'secret', clientKeyData: KEY }).stdout,
    /clientCertificateData is not a PEM certificate/,
  ],
  ['a time that is none', answer({ token: 'secret', expirationTimestamp: 'soon' }).stdout, /expirationTimestamp is not a time/],
  ['a token that is a list', answer({ token: ['secret'] }).stdout, /status\.token must be text, but is a list/],
]

for (const [name, stdout, message] of BAD) {
  test(`a plugin that prints ${name}: what is wrong is said, and nothing quoted`, async () => {
    const environment = fakeEnvironment({ programs: { login: () => ({ code: 0, stdout, stderr: '' }) } })
    await assert.rejects((await load(environment)).credentials!(), (error) => {
      assert.ok(error instanceof ConfigError, String(error))
      assert.match(error.message, message)
      assert.match(error.message, /"login"/)
      assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /secret/)
      return true
    })
  })
}

test('a plugin that fails: its error output is shown, its output never', async () => {
  const environment = fakeEnvironment({
    programs: { login: () => ({ code: 3, stdout: 'secret', stderr: 'session expired, run login again\n' }) },
  })
  await assert.rejects((await load(environment)).credentials!(), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(
      error.message,
      /plugin "login" \(users\["u"\]\.user\.exec in \/k\/config\): it ended with exit code 3: session expired, run login again$/,
    )
    return true
  })
})
