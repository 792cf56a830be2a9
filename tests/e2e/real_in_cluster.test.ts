/** Bundles and binaries with the configuration of a pod, whose token and CA are replaced while they run. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Client, Cluster, type ClusterConfig, httpTransport } from 'kubeloop'
import { Deployment, Lease, Secret } from 'kubeloop/kinds'
import sample, { Foo } from '../../examples/1_sample_controller.ts'
import { SERVICE_ACCOUNT as ACCOUNT_PATH } from '../../lib/config/in_cluster.ts'
import { describeDeployment } from '../../lib/cli/deploy/objects.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { type Authority, createAuthority } from '../../lib/runtime/net/certificates.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { makeFolder } from '../cli/dev_command.ts'
import { mustRun } from '../tools/run_command.ts'
import { DENO_ENV, REPO } from './operator_process.ts'
import { createObject, tokenOf, untilServed } from './objects.ts'
import { type AccountFolder, accountFolder, noMounts, startPod } from './pod.ts'
import { watching } from './watching.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? noMounts : 'KUBEBUILDER_ASSETS is not set: no real control plane'

const [NAME, NAMESPACE] = ['sample-controller', 'sample-controller-system']

const isBun = 'Bun' in globalThis

/** The API server has a certificate of a changing CA for this name, and for its address one that the test trusts. */
const HOST = 'localhost'

let folder: string
let envtest: Envtest
let transport: ReturnType<typeof httpTransport>
let client: Client
let port: string
/** The CA of the certificate that the API server has for HOST. */
let authority: Authority

before(async () => {
  if (skip) return
  folder = mkdtempSync(join(tmpdir(), 'kubeloop-in-cluster-'))
  authority = await createAuthority({ commonName: 'cluster-ca' })
  await issue()
  const serving = `${join(folder, 'serving.crt')},${join(folder, 'serving.key')}:${HOST}`
  ;[envtest] = await Promise.all([
    startEnvtest({ extraArgs: { apiServer: [`--tls-sni-cert-key=${serving}`] } }),
    bundle().then(() => isBun ? compile() : undefined),
  ])
  port = new URL(envtest.config.server).port
  transport = httpTransport(envtest.config)
  client = new Cluster({ name: 'test', transport, log: silentLog }).client
  const { objects } = await describeDeployment(sample.description, { createNamespace: true }, import.meta.url)
  // The operator installs it too; but here nothing waits until a kind that was missing is watched again.
  const isNeeded = ({ kind }: { kind?: string }): boolean => /^(?:Namespace|ServiceAccount|.*Role.*)$/.test(kind ?? '')
  for (const object of [...crdOf([Foo]), ...objects.filter(isNeeded)]) await createObject(transport, object)
  await untilServed(transport, `/apis/${Foo.group}/${Foo.version}/${Foo.plural}`)
})
after(async () => {
  transport?.close()
  await envtest?.stop()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

/** Writes a certificate of the current CA, which the API server reads when it starts. */
async function issue(): Promise<void> {
  const { cert, key } = await authority.issue({ commonName: 'kube-apiserver', usage: 'server', dnsNames: [HOST] })
  writeFileSync(join(folder, 'serving.crt'), cert)
  writeFileSync(join(folder, 'serving.key'), key, { mode: 0o600 })
}

const bundled = (): string => join(folder, 'operator.js')

/** Bundles the sample, with more time for the API server's restart: a busy machine may need more than 10 s. */
async function bundle(): Promise<void> {
  const project = makeFolder()
  try {
    for (const name of ['esbuild', '@esbuild']) {
      symlinkSync(join(REPO, 'node_modules', name), join(project.path, 'node_modules', name))
    }
    const source = readFileSync(join(REPO, 'examples/1_sample_controller.ts'), 'utf8')
    const election = `leaderElection: { duration: '60s', renewDeadline: '45s' }`
    project.write('operator.ts', source.replace('leaderElection: true', election))
    const command = project.run('build', 'operator.ts', '--out', folder)
    assert.equal(await command.ended, 0, command.output())
  } finally {
    await project.remove()
  }
}

const binary = (): string => join(folder, 'operator')

async function compile(): Promise<void> {
  const flags = ['--compile', '--minify', '--bytecode', '--format=esm', `--outfile=${binary()}`]
  await mustRun(process.execPath, ['build', ...flags, bundled()])
}

/** Creates a token that is valid as long as a Secret of this name exists. */
async function newToken(secret: string): Promise<string> {
  await client.create(Secret, { metadata: { namespace: NAMESPACE, name: secret } })
  return await tokenOf(transport, NAMESPACE, NAME, secret)
}

async function statusOf(token: string): Promise<number> {
  const { server, ca } = envtest.tokenConfig
  const config: ClusterConfig = { server, token, ...(ca !== undefined && { ca }) }
  const connection = httpTransport(config)
  try {
    const { status, body } = await connection({ method: 'GET', path: '/api' })
    await body.text()
    return status
  } finally {
    connection.close()
  }
}

/** Returns the command that runs the bundle in this test's runtime, with only the permissions it needs. */
function runBundle(): string[] {
  if (isBun) return [process.execPath, bundled()]
  if (!('Deno' in globalThis)) return [process.execPath, '--enable-source-maps', bundled()]
  const rights = [`--allow-net=${HOST}:${port}`, `--allow-read=${ACCOUNT_PATH}`, DENO_ENV, '--allow-sys=hostname']
  return [process.execPath, 'run', '--no-prompt', ...rights, bundled()]
}

async function reconciled(name: string, resume?: () => void): Promise<void> {
  const stopping = new AbortController()
  // One of its own, as the watches of the last one may wait for a server that was restarted.
  const deployments = watching(transport, Deployment, stopping.signal)
  try {
    await client.create(Foo, { metadata: { namespace: 'default', name }, spec: { deploymentName: name } })
    resume?.()
    await deployments.watching.until(`default/${name}`, 'created', (found) => found !== undefined)
  } finally {
    stopping.abort()
    await deployments.ended
  }
}

/** Starts a program as a pod. Rejects what it waits for if the program ends before. */
function start(command: readonly string[], account: AccountFolder) {
  const pod = startPod(command, { folder: account, host: HOST, port })
  const crashed = pod.ended.then((code) => assert.fail(`it ended with code ${code}:\n${pod.output()}`))
  crashed.catch(() => {})
  return { ...pod, unless: <T>(work: Promise<T>): Promise<T> => Promise.race([work, crashed]) }
}

/** Ends a pod whose token, CAs and API server were replaced, and checks that it did not notice. */
async function end(pod: ReturnType<typeof start>): Promise<void> {
  assert.ok(pod.isRunning())
  pod.signal('SIGTERM')
  assert.equal(await pod.ended, 0)
  // The time of a line may have a 401, too.
  const said = pod.output().replaceAll(/"time":"[^"]*"/g, '')
  assert.doesNotMatch(said, /\b401\b|Unauthorized|certificate/, pod.output())
  // It did not lose the lease.
  assert.equal(pod.output().match(/"message":"Leading:/g)?.length, 1, pod.output())
  // It is kept if a last write got no response.
  await client.delete(Lease, { namespace: NAMESPACE, name: NAME })
}

test(
  'bundles in pods, and on Bun a binary as the second replica, work on when token, CAs and certificate are replaced',
  {
    skip,
  },
  async () => {
    const first = await newToken('first')
    const account = accountFolder({ token: first, 'ca.crt': authority.ca, namespace: NAMESPACE })
    const pod = start(runBundle(), account)
    let standby: typeof pod | undefined
    try {
      await pod.unless(reconciled('before'))
      if (isBun) {
        standby = start([binary()], account)
        await standby.unless(standby.until(/"message":"Waiting for the lease /))
      }

      // The kubelet renews the token, and the new CA is trusted besides the old one.
      const second = await newToken('second')
      const next = await createAuthority({ commonName: 'cluster-ca' })
      account.replace({ token: second, 'ca.crt': `${authority.ca}${next.ca}`, namespace: NAMESPACE })
      await client.delete(Secret, { namespace: NAMESPACE, name: 'first' })
      authority = next
      await issue()
      // They connect again after the next object has been created.
      pod.signal('SIGSTOP')
      standby?.signal('SIGSTOP')
      await envtest.restartApiServer()
      assert.deepEqual([await statusOf(first), await statusOf(second)], [401, 200])
      const resume = (): void => [pod, standby].forEach((each) => each?.signal('SIGCONT'))
      await pod.unless(reconciled('meanwhile', resume))
      await pod.unless(reconciled('after'))
      await end(pod)
      if (standby) {
        await standby.unless(reconciled('by-the-binary'))
        await end(standby)
      }
    } finally {
      for (const each of [pod, standby]) each?.signal('SIGKILL')
      await Promise.all([pod.ended, standby?.ended])
      account.remove()
    }
  },
)
