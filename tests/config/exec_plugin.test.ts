import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../lib/config/load.ts'
import type { ClusterConfig } from '../../lib/core/cluster_config.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import { type Log, silentLog } from '../../lib/observe/log.ts'
import type { ExecOptions } from '../../lib/runtime/os/exec.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { CERT, type FakeEnvironment, fakeEnvironment, KEY, kubeconfigOf } from './fake_environment.ts'

const V1 = 'client.authentication.k8s.io/v1'
function answer(status: object, apiVersion = V1): { code: number; stdout: string; stderr: string } {
  return { code: 0, stdout: JSON.stringify({ kind: 'ExecCredential', apiVersion, status }), stderr: 'noise' }
}

async function load(
  environment: FakeEnvironment,
  exec: object = {},
  cluster: object = {},
  log?: Log,
): Promise<ClusterConfig> {
  const user = { exec: { apiVersion: V1, command: 'login', interactiveMode: 'IfAvailable', ...exec } }
  environment.files['/k/config'] = kubeconfigOf(cluster, user)
  return (await loadConfig({ kubeconfig: '/k/config', environment, log })).cluster
}

test('a plugin gets the input of the protocol, and is not run before a request needs it', async () => {
  let call: { args: readonly string[]; options: ExecOptions } | undefined
  const environment = fakeEnvironment({
    programs: { login: (args, options) => ((call = { args, options }), answer({ token: 't' })) },
  })
  const cluster = await load(environment, { args: ['get', 'token'], env: [{ name: 'PROFILE', value: 'dev' }] })
  assert.deepEqual(environment.runs, [])
  assert.equal((await cluster.credentials!()).token, 't')
  assert.deepEqual(call!.args, ['get', 'token'])
  const { KUBERNETES_EXEC_INFO, ...variables } = call!.options.env!
  assert.deepEqual(variables, { PROFILE: 'dev' })
  assert.deepEqual(JSON.parse(KUBERNETES_EXEC_INFO!), {
    kind: 'ExecCredential',
    apiVersion: V1,
    spec: { interactive: false },
  })
})

test('a plugin with provideClusterInfo gets its cluster, with a CA bundle of any size', async () => {
  let info = ''
  const bundle = btoa(CERT.repeat(10_000))
  const environment = fakeEnvironment({
    programs: { login: (_, { env }) => ((info = env!['KUBERNETES_EXEC_INFO']!), answer({ token: 't' })) },
  })
  const cluster = await load(environment, { provideClusterInfo: true }, {
    'certificate-authority-data': bundle,
    'tls-server-name': 'inner',
    'proxy-url': 'http://proxy:3128',
    'disable-compression': true,
    extensions: [{ name: 'other', extension: 1 }, {
      name: 'client.authentication.k8s.io/exec',
      extension: { audience: 'x' },
    }],
  })
  await cluster.credentials!()
  assert.deepEqual(JSON.parse(info).spec.cluster, {
    server: 'https://api:6443',
    'tls-server-name': 'inner',
    'certificate-authority-data': bundle,
    'proxy-url': 'http://proxy:3128',
    'disable-compression': true,
    config: { audience: 'x' },
  })
  const insecure = await load(environment, { provideClusterInfo: true }, { 'insecure-skip-tls-verify': true })
  await insecure.credentials!()
  assert.deepEqual(JSON.parse(info).spec.cluster, { server: 'https://api:6443', 'insecure-skip-tls-verify': true })
})

test('v1beta1 works, with or without interactiveMode', async () => {
  const version = 'client.authentication.k8s.io/v1beta1'
  const environment = fakeEnvironment({ programs: { login: () => answer({ token: 't' }, version) } })
  const cluster = await load(environment, { apiVersion: version, interactiveMode: undefined })
  assert.equal((await cluster.credentials!()).token, 't')
})

test('a plugin can return a client certificate', async () => {
  const environment = fakeEnvironment({
    programs: { login: () => answer({ clientCertificateData: CERT, clientKeyData: KEY }) },
  })
  assert.deepEqual(await (await load(environment)).credentials!(), {
    token: undefined,
    headers: undefined,
    cert: CERT,
    key: KEY,
  })
})

test('concurrent requests share one run', async () => {
  const run = Promise.withResolvers<void>()
  const environment = fakeEnvironment({ programs: { login: async () => (await run.promise, answer({ token: 't' })) } })
  const cluster = await load(environment)
  const all = Promise.all(Array.from({ length: 20 }, () => cluster.credentials!()))
  run.resolve()
  assert.ok((await all).every(({ token }) => token === 't'))
  await cluster.credentials!()
  assert.equal(environment.runs.length, 1)
})

test('after a 401 the plugin is run again; a failure is cached for a second', async () => {
  const answers = [answer({ token: 'one' }), { code: 1, stdout: '', stderr: 'down' }, answer({ token: 'two' })]
  const environment = fakeEnvironment({ programs: { login: () => answers.shift()! } })
  const cluster = await load(environment)
  assert.equal((await cluster.credentials!()).token, 'one')
  cluster.invalidate!()
  await assert.rejects(cluster.credentials!(), /exit code 1: down/)
  environment.advance(1000)
  assert.equal((await cluster.credentials!()).token, 'two')
})

/** A cloud's plugin with tokens that are valid for 15 minutes. */
function cloud(): {
  clock: FakeClock
  environment: FakeEnvironment
  plugin: { fails: boolean; hangs: boolean; lifeMs: number; runs: number }
} {
  const clock = new FakeClock()
  const plugin = { fails: false, hangs: false, lifeMs: 15 * 60_000, runs: 0 }
  const login = (): Promise<ReturnType<typeof answer>> | ReturnType<typeof answer> => {
    plugin.runs++
    if (plugin.hangs) return new Promise(() => {})
    if (plugin.fails) return { code: 1, stdout: '', stderr: `down ${plugin.runs}` }
    return answer({
      token: `t${plugin.runs}`,
      expirationTimestamp: new Date(clock.now() + plugin.lifeMs).toISOString(),
    })
  }
  return { clock, plugin, environment: Object.assign(fakeEnvironment({ programs: { login } }), { clock }) }
}

test('credentials are refreshed a minute before they expire, or after most of a life of a minute', async () => {
  for (const [lifeMs, cachedMs] of [[3_600_000, 3_540_000], [60_000, 48_000]] as const) {
    const { clock, environment, plugin } = cloud()
    plugin.lifeMs = lifeMs
    const { credentials } = await load(environment)
    assert.equal((await credentials!()).token, 't1')
    await clock.advance(cachedMs - 1)
    assert.equal((await credentials!()).token, 't1')
    await clock.advance(1)
    assert.equal((await credentials!()).token, 't2')
  }
})

test('if refreshing fails, the token is used until it expires, and the plugin is retried with back-off', async () => {
  const { clock, environment, plugin } = cloud()
  const warnings: string[] = []
  const warn = (message: string, fields?: object) => void warnings.push(`${message} ${JSON.stringify(fields)}`)
  const log = { ...silentLog, warn }
  const { credentials } = await load(environment, {}, {}, log)
  await credentials!()
  await clock.advance(14 * 60_000)
  plugin.fails = true
  const ranAt: number[] = []
  for (let second = 0; second < 60; second++) {
    const before = plugin.runs
    for (let n = 0; n < 5; n++) assert.equal((await credentials!()).token, 't1')
    if (plugin.runs > before) ranAt.push(second)
    await clock.advance(1000)
  }
  assert.deepEqual(ranAt, [0, 1, 3, 7, 15, 31])
  assert.equal(warnings.length, 6)
  assert.match(
    warnings[0]!,
    /^Cannot renew credentials, using the last ones until they expire .*"secondsLeft":60.*exit code 1: down 2/,
  )
  // The token expired: requests fail from now on, without a process for each.
  const runs = plugin.runs
  for (let n = 0; n < 5; n++) await assert.rejects(credentials!(), /exit code 1: down 7/)
  assert.equal(plugin.runs, runs)
  // The next run succeeds, and the pauses are reset.
  plugin.fails = false
  await clock.advance(30_000)
  assert.equal((await credentials!()).token, `t${runs + 1}`)
  await clock.advance(14 * 60_000)
  plugin.fails = true
  await credentials!()
  plugin.fails = false
  await clock.advance(1000)
  assert.equal((await credentials!()).token, `t${runs + 3}`)
})

test('if refreshing hangs, requests wait two seconds once, and use the valid token', async () => {
  const { clock, environment, plugin } = cloud()
  const { credentials } = await load(environment)
  await credentials!()
  await clock.advance(14 * 60_000)
  plugin.hangs = true
  let done = 0
  const waiting = Array.from({ length: 3 }, () => credentials!().then(({ token }) => (done++, token)))
  await clock.advance(1999)
  assert.equal(done, 0)
  await clock.advance(1)
  assert.deepEqual(await Promise.all(waiting), ['t1', 't1', 't1'])
  assert.equal((await credentials!()).token, 't1')
  assert.equal(plugin.runs, 2)
})

test('a plugin is killed when the connections of all its readers are closed, and may be run again at once', async () => {
  const signals: AbortSignal[] = []
  const { environment, clock } = cloud()
  environment.programs['login'] = (_, { signal }) =>
    new Promise((_, reject) => {
      signals.push(signal!)
      signal!.addEventListener('abort', () => reject(signal!.reason as Error))
    })
  const config = await load(environment)
  const open = () => {
    const transport = httpTransport(config, { clock })
    const send = () => transport({ method: 'GET', path: '/' }).then(() => 'answered', (error: Error) => error.message)
    return { transport, sent: [send(), send()] }
  }
  await assert.rejects(config.credentials!(AbortSignal.abort(new Error('over'))), /^Error: over$/)
  assert.equal(signals.length, 0)
  const closed = 'Cannot use the connection to api:6443: it was closed by this process'
  const [one, two] = [open(), open()]
  await nextTurn()
  one.transport.close()
  assert.deepEqual(await Promise.all(one.sent), [closed, closed])
  assert.deepEqual(signals.map(({ aborted }) => aborted), [false])
  two.transport.close()
  const three = open()
  assert.deepEqual(await Promise.all(two.sent), [closed, closed])
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, false], 'no back-off')
  // A reader without a connection waits for the end.
  void config.credentials!()
  three.transport.close()
  await Promise.all(three.sent)
  assert.equal(signals[1]!.aborted, false)
})

test('a plugin that answers in time is waited for, without a timer or a listener left over', async () => {
  const { clock, environment } = cloud()
  const { credentials } = await load(environment)
  const { controller: { signal }, listeners } = countedSignal()
  assert.equal((await credentials!(signal)).token, 't1')
  await clock.advance(14 * 60_000)
  assert.equal((await credentials!(signal)).token, 't2')
  assert.deepEqual([clock.pending, listeners()], [0, 0])
})

test('a plugin that fails from the start is not run for each request', async () => {
  const { clock, environment, plugin } = cloud()
  plugin.fails = true
  const { credentials } = await load(environment)
  for (let second = 0; second < 122; second++) {
    for (let n = 0; n < 5; n++) await assert.rejects(credentials!(), /exit code 1: down/)
    await clock.advance(1000)
  }
  // 1, 2, 4, 8 and 16 seconds apart, then 30.
  assert.equal(plugin.runs, 9)
  plugin.fails = false
  await clock.advance(30_000)
  assert.equal((await credentials!()).token, 't10')
})

test('credentials that the server keeps refusing are fetched every ten seconds, not for each request', async () => {
  const { clock, environment, plugin } = cloud()
  const { credentials, invalidate } = await load(environment)
  for (let second = 0; second < 30; second++) {
    await credentials!()
    invalidate!()
    await credentials!()
    await clock.advance(1000)
  }
  assert.equal(plugin.runs, 1 + 3)
})

test('credentials that are expired only by the local clock are used, and fetched once a second', async () => {
  const { clock, environment, plugin } = cloud()
  plugin.lifeMs = -5000
  const { credentials } = await load(environment)
  for (let tenth = 0; tenth < 30; tenth++) {
    assert.ok((await credentials!()).token)
    await clock.advance(100)
  }
  assert.equal(plugin.runs, 3)
})

test('control characters of a plugin and of its hint are escaped', async () => {
  const environment = fakeEnvironment({
    programs: {
      login: () => ({ code: 1, stdout: '', stderr: '\x1b[31mno\x1b[0m session\x1b]0;title\x07\r\n\tlog in\x9b2J' }),
    },
  })
  await assert.rejects(
    (await load(environment)).credentials!(),
    /exit code 1: no session\\u001b\]0;title\\u0007\r\n\tlog in\\u009b2J$/,
  )
  const missing = await load(fakeEnvironment(), { installHint: 'run\x1b[2J this\nthen that' })
  await assert.rejects(missing.credentials!(), /\nrun\\u001b\[2J this\nthen that$/)
})

// As client-go resolves them. `./login` is not looked up in PATH.
for (
  const [KUBECONFIG, command, ran] of [
    ['/k/config', './bin/login', '/k/bin/login'],
    ['/k/config', '/bin/login', '/bin/login'],
    ['/k/config', 'login', 'login'],
    ['config', './login', './login'],
    ['config', 'bin/login', 'bin/login'],
    ['config', 'login', 'login'],
    ['./config', './login', './login'],
    ['sub/config', '../login', './login'],
    ['sub/config', './login', 'sub/login'],
    ['../config', './login', '../login'],
    ['missing:sub/config', './login', 'sub/login'],
    ['other:sub/config', '../login', './login'],
  ] as const
) {
  test(`KUBECONFIG=${KUBECONFIG} and the command ${command} run ${ran}`, async () => {
    const file = KUBECONFIG.split(':').at(-1)!
    const files = {
      other: '{}',
      [file]: kubeconfigOf({}, { exec: { apiVersion: V1, interactiveMode: 'Never', command } }),
    }
    const programs = { [ran]: () => answer({ token: 't' }) }
    const environment = fakeEnvironment({ files, programs, variables: { KUBECONFIG } })
    await (await loadConfig({ environment })).cluster.credentials!()
    assert.deepEqual(environment.runs, [ran])
  })
}

for (
  const [interactiveMode, terminal, interactive] of [
    ['IfAvailable', true, true],
    ['Always', true, true],
    ['Never', true, false],
    ['IfAvailable', false, false],
  ] as const
) {
  test(
    `a plugin of mode ${interactiveMode} ${terminal ? 'with' : 'without'} a terminal has ${
      interactive ? '10 minutes, as it may ask a person to log in' : '60 s'
    }`,
    async () => {
      let options: ExecOptions | undefined
      const login = (_: unknown, given: ExecOptions) => ((options = given), answer({ token: 't' }))
      const environment = Object.assign(fakeEnvironment({ programs: { login } }), { terminal })
      await (await load(environment, { interactiveMode })).credentials!()
      assert.deepEqual([options!.interactive, options!.timeoutMs], [interactive, interactive ? 600_000 : 60_000])
      assert.equal(JSON.parse(options!.env!['KUBERNETES_EXEC_INFO']!).spec.interactive, interactive)
    },
  )
}

test('a plugin that needs a terminal is an error without one', async () => {
  const environment = fakeEnvironment({ programs: { login: () => answer({ token: 't' }) } })
  await assert.rejects(
    (await load(environment, { interactiveMode: 'Always' })).credentials!(),
    /needs a terminal \(interactiveMode: Always\), and there is none/,
  )
})

test('the error of a missing plugin has the install hint of the kubeconfig', async () => {
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
    JSON.stringify({
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1beta1',
      status: { token: 'secret' },
    }),
    /its apiVersion is not/,
  ],
  ['no status', JSON.stringify({ kind: 'ExecCredential', apiVersion: V1 }), /it has no status/],
  ['no credentials', answer({}).stdout, /neither a token nor a client certificate/],
  ['a certificate alone', answer({ clientCertificateData: CERT }).stdout, /come together/],
  [
    'an invalid certificate',
    answer({ clientCertificateData: 'secret', clientKeyData: KEY }).stdout,
    /clientCertificateData is not a PEM certificate/,
  ],
  [
    'an invalid time',
    answer({ token: 'secret', expirationTimestamp: 'soon' }).stdout,
    /expirationTimestamp is not a time/,
  ],
  ['a token that is a list', answer({ token: ['secret'] }).stdout, /status\.token must be text, but is a list/],
]

for (const [name, stdout, message] of BAD) {
  test(`a plugin that prints ${name} is an error with the reason, without the output`, async () => {
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

test('the error of a failed plugin has its stderr, never its stdout', async () => {
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
