/**
 * Tests of operators for any API server.
 *
 * Other files run the cases on the embedded API and on a real control plane.
 */
import assert from 'node:assert/strict'
import { pathToFileURL } from 'node:url'
import {
  type Client,
  Cluster,
  type ClusterConfig,
  httpTransport,
  type KubeObject,
  type Operator,
  type Transport,
} from '../../mod.ts'
import { Deployment } from '../../lib/kinds/mod.ts'
import { Foo } from '../../examples/1_sample_controller.ts'
import { startOperatorProcess, withKubeconfig } from './operator_process.ts'
import { watching } from './watching.ts'

export interface Target {
  /** One configuration for each way of authentication. */
  readonly configs: Readonly<Record<string, ClusterConfig>>
  kubeconfig(config: ClusterConfig): string
  /** Kills the server, and starts it again with its data. Absent if the server cannot be killed. */
  readonly crash?: { kill(): Promise<void>; restart(): Promise<void> }
}

/** The sample, in a project of a user. */
export interface Sample {
  readonly file: string
  /** The path that `kubeloop` resolves to. */
  readonly library: string
  readonly reads: readonly string[]
}

export type Case = ReturnType<typeof lifeOfAFoo>

const KEY = 'default/example'
const OWNED = 'default/example-foo'

type FooObject = KubeObject & { spec: { replicas: number }; status?: { availableReplicas?: number } }
type DeploymentObject = KubeObject & { spec: { replicas: number } }

/** Calls a case with the objects it needs, and releases them at its end. */
async function withServer(
  config: ClusterConfig,
  work: (
    tools: { transport: Transport; client: Client; signal: AbortSignal } & ReturnType<typeof watchBoth>,
  ) => Promise<void>,
): Promise<void> {
  const transport = httpTransport(config)
  const scope = new AbortController()
  const { client } = new Cluster({ name: 'e2e', transport, fieldValidation: 'Strict' })
  const both = watchBoth(transport, scope.signal)
  try {
    await work({ transport, client, signal: scope.signal, ...both })
    await removeFoo(client, both)
  } finally {
    scope.abort(new Error('the case has ended'))
    await both.ended
    transport.close()
  }
}

function watchBoth(transport: Transport, signal: AbortSignal) {
  const foos = watching(transport, Foo, signal)
  const deployments = watching(transport, Deployment, signal)
  return { foos: foos.watching, deployments: deployments.watching, ended: Promise.all([foos.ended, deployments.ended]) }
}

async function removeFoo(client: Client, { foos, deployments }: ReturnType<typeof watchBoth>): Promise<void> {
  await client.delete(Foo, { namespace: 'default', name: 'example' })
  await foos.until(KEY, 'gone', (foo) => foo === undefined)
  await deployments.until(OWNED, 'collected with its Foo', (deployment) => deployment === undefined)
}

const replicas = (count: number) => (deployment: KubeObject | undefined): boolean =>
  (deployment as DeploymentObject | undefined)?.spec.replicas === count

/** `isKilled`: the process is killed and restarted in the middle, which waits for the end of its lease. */
function lifeOfAFoo(signIn: string, isKilled: boolean) {
  const killed = isKilled ? 'killed and restarted in the middle, ' : ''
  return {
    name: `the sample controller, signed in by ${signIn}: ${killed}the final state is right`,
    run: (target: Target, sample: Sample) =>
      withKubeconfig(target.kubeconfig(target.configs[signIn]!), async (kubeconfig) => {
        const options = { ...sample, kubeconfig, server: target.configs[signIn]!.server }
        let operator = startOperatorProcess(options)
        try {
          await withServer(target.configs[signIn]!, async ({ client, foos, deployments }) => {
            await foos.served
            await client.create(Foo, {
              metadata: { namespace: 'default', name: 'example' },
              spec: { deploymentName: 'example-foo' },
            })
            const created = await deployments.until(OWNED, 'created', replicas(1))
            assert.deepEqual(
              created?.metadata.ownerReferences?.map(({ kind, name, controller }) => ({ kind, name, controller })),
              [{ kind: 'Foo', name: 'example', controller: true }],
            )

            await client.patch(Foo, { namespace: 'default', name: 'example' }, { merge: { spec: { replicas: 3 } } })
            await deployments.until(OWNED, 'scaled', replicas(3))

            await client.delete(Deployment, { namespace: 'default', name: 'example-foo' }, {
              uid: created!.metadata.uid,
            })
            const again = await deployments.until(
              OWNED,
              'created again',
              (deployment) => deployment !== undefined && deployment.metadata.uid !== created!.metadata.uid,
            )
            assert.equal((again as DeploymentObject).spec.replicas, 3)

            if (isKilled) await operator.end('SIGKILL')
            await client.patch(Foo, { namespace: 'default', name: 'example' }, { merge: { spec: { replicas: 2 } } })
            await client.patch(Deployment, { namespace: 'default', name: 'example-foo' }, {
              merge: { status: { availableReplicas: 2, readyReplicas: 2, replicas: 2 } },
            }, { subresource: 'status' })
            if (isKilled) {
              assert.equal((deployments.get(OWNED) as DeploymentObject).spec.replicas, 3)
              operator = startOperatorProcess(options)
            }
            await deployments.until(OWNED, 'scaled again', replicas(2))
            await foos.until(
              KEY,
              'updated in its status',
              (foo) => (foo as FooObject | undefined)?.status?.availableReplicas === 2,
            )
          })
        } catch (error) {
          throw new Error(
            `${error instanceof Error ? error.message : String(error)}\nThe operator wrote:\n${operator.output()}`,
            { cause: error },
          )
        }
        assert.deepEqual(await operator.end('SIGTERM'), { code: 0, signal: null }, operator.output())
      }),
  }
}

const serverCrash: Case = {
  name: 'the API server is killed and restarted while the operator runs: it catches up without a storm of requests',
  async run(target, sample) {
    const [config] = Object.values(target.configs)
    const { default: app } = (await import(pathToFileURL(sample.file).href)) as { default: Operator }
    const library = (await import(pathToFileURL(sample.library).href)) as Pick<
      typeof import('../../mod.ts'),
      'httpTransport'
    >
    // Its watches share a connection, which is lost with the server. On Deno 2.9.6 that can end the process:
    // https://github.com/denoland/deno/issues/36788
    const connection = library.httpTransport({ ...config!, ...(!('Deno' in globalThis) && { http2: true }) })
    const scope = new AbortController()
    let requests = 0
    const operator = app.start(scope.signal, {
      leaderElection: false,
      transport: (request) => {
        requests++
        return connection(request)
      },
    })
    try {
      await withServer(config!, async ({ client, foos, deployments }) => {
        await foos.served
        await client.create(Foo, {
          metadata: { namespace: 'default', name: 'example' },
          spec: { deploymentName: 'example-foo' },
        })
        await deployments.until(OWNED, 'created', replicas(1))
        const before = requests
        const killedMs = Date.now()
        await target.crash!.kill()
        await target.crash!.restart()
        await scaleTo(5, config!)
        await deployments.until(OWNED, 'scaled after the crash', replicas(5))
        const seconds = (Date.now() - killedMs) / 1000
        const spent = requests - before
        console.log(`caught up ${seconds.toFixed(1)} s after the crash, with ${spent} requests`)
        // Two watches that fail with doubling back-off, two lists, two watches, and the requests of the change.
        assert.ok(spent <= 20 + seconds, `${spent} requests in ${seconds} s`)
      })
    } finally {
      scope.abort()
      await operator
      connection.close()
    }
  },
}

/** Scales over a new connection: one from before the crash may fail during the request. */
async function scaleTo(count: number, config: ClusterConfig): Promise<void> {
  const transport = httpTransport(config)
  const { client } = new Cluster({ name: 'e2e', transport })
  await client.patch(Foo, { namespace: 'default', name: 'example' }, { merge: { spec: { replicas: count } } })
  transport.close()
}

/** Returns the cases: one for each way of authentication, the first with a kill, and a crash if the server can be killed. */
export function casesFor(signIns: readonly string[], canCrash: boolean): Case[] {
  return [...signIns.map((signIn, index) => lifeOfAFoo(signIn, index === 0)), ...(canCrash ? [serverCrash] : [])]
}
