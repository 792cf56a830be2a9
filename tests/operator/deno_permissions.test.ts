/** The last log line of an operator that lacks a permission on Deno. Each case is a process. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Cluster } from 'kubeloop'
import { ApiServer, serve, type ServedApi } from 'kubeloop/apiserver'
import { ConfigMap } from 'kubeloop/kinds'
import { kubeconfigOf } from '../config/fake_environment.ts'
import { fileOf, launch, type Outcome, writeKubeconfig } from './processes.ts'

const skip = 'Deno' in globalThis ? false : 'only Deno has permissions'
const ENV = ['KUBECONFIG', 'HEALTH', 'IDENTITY', 'OTHER', 'SECURE', 'SERVERS', 'SOURCE', 'FETCHED']

interface Case {
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly flags?: readonly string[] | undefined
  readonly args?: readonly string[]
  /** The operator is stopped when it has logged such a message. */
  readonly until?: RegExp
}

const folder = mkdtempSync(join(tmpdir(), 'kubeloop-permissions-'))
const kubeconfig = join(folder, 'config')
let served: ServedApi
before(async () => {
  if (skip) return
  const server = new ApiServer()
  await new Cluster({ name: 'test', transport: server.handle }).client.create(ConfigMap, {
    metadata: { namespace: 'default', name: 'seen' },
  })
  served = await serve(server)
  writeKubeconfig(kubeconfig, served)
})
after(async () => {
  if (!skip) await served.close()
  rmSync(folder, { recursive: true })
})

async function run(file: string, { env = {}, flags = [], args = [], until }: Case): Promise<Outcome> {
  const own = ['run', '--quiet', '--no-check', '--no-prompt', '--allow-read', `--allow-env=${ENV.join(',')}`]
  const operator = launch([...own, ...flags, fileOf(file), ...args], { KUBECONFIG: kubeconfig, ...env })
  if (until) {
    await operator.line(until)
    operator.kill('SIGTERM')
  }
  return await operator.ended
}

const net = (...more: string[]): string => `--allow-net=${[new URL(served.url).host, ...more].join(',')}`
const HOST = '--allow-sys=hostname'

/** Asserts an exit code of 1, and these warnings and errors. */
async function endsWith(messages: string | readonly string[], { env, flags }: Case): Promise<void> {
  const { code, lines, errors } = await run('permitted.ts', { env, flags })
  assert.deepEqual([code, errors], [1, ''])
  assert.deepEqual(lines.filter(({ level }) => level !== 'info').map(({ message }) => message), [messages].flat())
}

test(
  'without the permission: to listen, each address is refused with its own flag, in an error that can be caught',
  { skip },
  async () => {
    const { code, output, errors } = await run('listening.ts', {
      args: ['127.0.0.1:18081', ':18082', '[::1]:18083', 'localhost:18084', '127.0.0.1:0'],
    })
    const cannot = (address: string, flag = address): string =>
      `Cannot start the server "own": Cannot listen on ${address}: Deno needs --allow-net=${flag}`
    assert.deepEqual([code, errors], [0, ''])
    assert.deepEqual(output.split('\n').slice(0, -1), [
      cannot('127.0.0.1:18081'),
      cannot(':18082', '[::]:18082'),
      cannot('::1:18083', '[::1]:18083'),
      cannot('localhost:18084', 'localhost:18084,127.0.0.1:18084'),
      cannot('127.0.0.1:0'),
    ])
  },
)

test('without the permission: to read where a test runs, it is no world; to look for programs, they are not missing', {
  skip,
}, async () => {
  const flag = '--allow-env=KUBELOOP_TEST_CLUSTER'
  const blind = await run('test_clusters.ts', {})
  assert.equal(blind.output, `Cannot start a test cluster: Deno needs ${flag}\n`)
  assert.equal((await run('test_clusters.ts', { flags: [flag] })).output, '')
  const env = { KUBELOOP_TEST_CLUSTER: 'envtest', KUBEBUILDER_ASSETS: '/programs' }
  const { output } = await run('test_clusters.ts', {
    env,
    flags: [`${flag},KUBEBUILDER_ASSETS`, '--deny-read=/programs'],
  })
  assert.equal(output, 'Cannot start the control plane: Deno needs --allow-read=/programs/etcd\n')
})

test('the named flags are enough', { skip }, async () => {
  const flags = ['--allow-net=127.0.0.1:18085,[::]:18086,localhost:18087,127.0.0.1:18087']
  const { output, errors } = await run('listening.ts', {
    flags,
    args: ['127.0.0.1:18085', ':18086', 'localhost:18087'],
  })
  assert.deepEqual([output, errors], ['listens\n'.repeat(3), ''])
})

const HEALTH = '127.0.0.1:18088'
const OTHER = 'https://127.0.0.1:18089'
const OR_IDENTITY = ', or state leaderElection.identity instead of hostname'

for (
  const [title, flags, env, needs] of [
    ['to serve probes', () => [net(), HOST], { HEALTH }, () => `--allow-net=${HEALTH}`],
    ['to connect to its cluster', () => [HOST], {}, () => net()],
    ['to connect to another cluster', () => [net(), HOST], { OTHER }, () => '--allow-net=127.0.0.1:18089'],
    [
      'to connect to another cluster without TLS',
      () => [net(), HOST],
      { OTHER: 'http://127.0.0.1:18092' },
      () => '--allow-net=127.0.0.1:18092',
    ],
    [
      "to read the system's CAs, for a cluster without a CA",
      () => [net('127.0.0.1:18093'), HOST],
      { OTHER: 'https://127.0.0.1:18093', SECURE: 'yes' },
      () => '--allow-sys=ca',
    ],
    [
      'to resolve a name',
      () => [net(), HOST],
      { OTHER: 'https://localhost:18092' },
      () => '--allow-net=localhost:18092',
    ],
    ["to read the host's name", () => [net()], {}, () => `--allow-sys=hostname${OR_IDENTITY}`],
    [
      'for all of it',
      () => [],
      { OTHER, HEALTH, SECURE: 'yes' },
      () => `${net('127.0.0.1:18089', HEALTH)} --allow-sys=ca,hostname${OR_IDENTITY}`,
    ],
    [
      'also for the environment and files',
      () => ['--deny-read', '--deny-env=KUBECONFIG'],
      { HEALTH },
      () =>
        '--allow-env=KUBECONFIG,KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT,HOME --allow-read=$HOME/.kube/config ' +
        `--allow-net=HOST:PORT,${HEALTH} --allow-sys=hostname (HOST:PORT of the cluster)${OR_IDENTITY}`,
    ],
    [
      'for its servers and their certificates',
      () => [net(), HOST, '--deny-read=/webhook-certs,/client-ca,/metrics-certs'],
      { SERVERS: 'yes' },
      () =>
        '--allow-read=/webhook-certs,/client-ca,/metrics-certs ' +
        '--allow-net=127.0.0.1:18094,127.0.0.1:18095,127.0.0.1:18096',
    ],
    [
      'for the files and the plugin of a kubeconfig',
      () => [`--deny-read=${folder}/ca,${folder}/crt,${folder}/key`],
      { KUBECONFIG: join(folder, 'files') },
      () =>
        `--allow-read=${['ca', 'crt', 'key'].map((file) => `${folder}/${file}`).join(',')} ` +
        `--allow-run=${folder}/login --allow-net=api:6443 --allow-sys=hostname${OR_IDENTITY}`,
    ],
  ] as const
) {
  test(`without the permission: ${title}, it ends at once, with all that are missing`, { skip }, () => {
    const user = { 'client-certificate': 'crt', 'client-key': 'key', exec: { command: './login' } }
    writeFileSync(join(folder, 'files'), kubeconfigOf({ 'certificate-authority': 'ca' }, user))
    return endsWith(`Cannot run operator "permitted": Deno needs ${needs()}`, { env, flags: flags() })
  })
}

test('a plugin beside a token is not run, and needs no permission', { skip }, () => {
  writeFileSync(
    join(folder, 'token'),
    kubeconfigOf({ server: 'https://api:1' }, { token: 't', exec: { command: 'x' } }),
  )
  const needs = '--allow-net=api:1 --allow-sys=ca'
  return endsWith(`Cannot run operator "permitted": Deno needs ${needs}`, {
    env: { KUBECONFIG: join(folder, 'token') },
    flags: [HOST],
  })
})

test('a given identity needs no name of the host', { skip }, async () => {
  const { code, lines, errors } = await run('permitted.ts', {
    env: { IDENTITY: 'me' },
    flags: [net()],
    until: /^reconciled$/,
  })
  assert.deepEqual([code, errors, lines.filter(({ level }) => level !== 'info')], [0, '', []])
  const ignored = ['KUBELOOP_LOG', 'HTTPS_PROXY', 'NO_PROXY']
  const line = `Ignoring ${ignored.join(', ')}, which may be unset: Deno needs --allow-env=${ignored.join(',')}`
  assert.equal(lines[0]?.message, line)
})

test('a source that is refused ends the operator', { skip }, () =>
  endsWith([
    'Controller "configmap" stops: the source "outside" failed: Deno needs --allow-net=127.0.0.1:18090',
    'Cannot go on with controller "configmap": the source "outside" failed: Deno needs --allow-net=127.0.0.1:18090',
  ], { env: { SOURCE: 'http://127.0.0.1:18090' }, flags: [net(), HOST] }))

test('a reconcile that is refused is not retried', { skip }, async () => {
  const { lines } = await run('permitted.ts', {
    env: { FETCHED: 'http://127.0.0.1:18091' },
    flags: [net(), HOST],
    until: /^Cannot reconcile/,
  })
  assert.deepEqual(lines.filter(({ level }) => level === 'error').map(({ message }) => message), [
    'Cannot reconcile ConfigMap "default/seen": Deno needs --allow-net=127.0.0.1:18091 (not retried)',
  ])
})
