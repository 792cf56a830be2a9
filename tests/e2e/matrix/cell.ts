/** Runs one cell: an operator behind a Service, writes through both versions, and an event. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, systemClock } from '../../../lib/async/clock.ts'
import { ownKinds } from '../../../lib/operator/description/used_kinds.ts'
import { describeWebhooks } from '../../../lib/operator/webhooks/describe.ts'
import { httpTransport } from '../../../lib/runtime/net/transport.ts'
import { crdOf } from '../../../lib/schema/crds.ts'
import { type Envtest } from '../../../lib/testing/envtest/envtest.ts'
import { siteOperator } from '../files/matrix_operator.ts'
import { type Deployment, issueCertificates, type Pod, type Release, roll, startPod, until } from './pods.ts'
import { FOLLOW_MS, Service } from './service.ts'
import { type Cell, type Excuse, type Reason, verdictOf } from './verdict.ts'
import { type Send, sender, type Version, Writes } from './writes.ts'

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const PORT = 9443
const BOTH: readonly Version[] = ['v1', 'v1alpha1']

/** The time limits for a pod to be ready, and for writes without a refusal. */
const [READY_MS, STEADY_MS] = [12_000, 15_000]

/** Until the next leader has installed its definitions: after a stop, and after a kill, when the lease must expire. */
const LEADER_MS = { stop: 8000, kill: 16_000 }

/** Until the leader has restored a definition. */
const RESTORED_MS = 4000

/** Until the API server uses what was written, and connects again. */
const SETTLE_MS = 1500

/** A control plane whose Services are addresses of the loopback interface. */
export const PLANE = { extraArgs: { apiServer: ['--service-cluster-ip-range=127.96.0.0/16'] } }

/** `name`: of the operator, its group and its namespace. */
function stateOf(cell: Cell, name: string, envtest: Envtest, send: Send, folder: string) {
  const configurations = ['mutating', 'validating'].map((sort) =>
    `${ADMISSION}/${sort}webhookconfigurations/${name}-${sort}-webhook-configuration`
  )
  return {
    cell,
    name,
    send,
    service: new Service(),
    writes: new Writes(send, name),
    pods: [] as Pod[],
    guests: [] as Pod[],
    excuses: [] as Excuse[],
    wrong: [] as string[],
    /** The paths of what is installed: the definition, and the configurations. */
    installed: [`${CRDS}/sites.${name}.example.dev`, ...configurations] as const,
    server: envtest.config.server,
    kubeconfig(namespace: string): string {
      const config = JSON.parse(envtest.kubeconfig()) as { contexts: { context: object }[] }
      Object.assign(config.contexts[0]!.context, { namespace })
      writeFileSync(join(folder, namespace), JSON.stringify(config), { mode: 0o600 })
      return join(folder, namespace)
    },
  }
}
type State = ReturnType<typeof stateOf>

/** `name` must be unique in the control plane. Resolves with the verdict, its line, and what the operators printed. */
export async function runCell(cell: Cell, name: string, envtest: Envtest) {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-matrix-'))
  const transport = httpTransport(envtest.tokenConfig)
  const state = stateOf(cell, name, envtest, sender(transport), folder)
  const { service, pods, guests, excuses, wrong, writes } = state
  const beganMs = Date.now()
  try {
    const eventMs = await run(state)
    const lost = await checkEnd(state)
    const { count, longestGapMs, refusals, unguardedMs } = writes
    const verdict = verdictOf({ eventMs, refusals, unguardedMs, excuses, lost, wrong })
    const took = Math.round((Date.now() - beganMs) / 1000)
    const line = `${count} | ${verdict.refused} | ${longestGapMs} ms | ${lost.length} | ${took} s`
    return { ...verdict, line, output: output(state) }
  } finally {
    await Promise.all([...pods, ...guests].map((pod) => pod.end('SIGKILL')))
    service.close()
    await loseDefinitions(state)
    transport.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Resolves with the time at which the event began. */
async function run(state: State): Promise<number> {
  const { cell: { event, replicas }, pods, writes, wrong } = state
  const release = event === 'roll-forward' || event === 'kill' ? 'old' : event === 'roll-back' ? 'next' : 'new'
  const deployment = await deploy(state)
  await apply(state, release)
  for (let i = 0; i < Number(replicas); i++) pods.push(await startPod(deployment, release))
  await untilReady(state)
  const stop = new AbortController()
  const writing = writes.run(stop.signal)
  const steady = async (versions: readonly Version[], what: string): Promise<void> => {
    const sinceMs = Date.now()
    const isSteady = await until(() => writes.isSteady(versions, sinceMs), STEADY_MS)
    if (!isSteady) wrong.push(`the writes were never steady after the ${what}`)
  }
  try {
    await steady(release === 'old' ? ['v1alpha1'] : BOTH, 'start')
    const eventMs = Date.now()
    state.excuses.push({ why: 'start', fromMs: 0, toMs: eventMs })
    await EVENTS[event](state, deployment)
    await steady(BOTH, 'event')
    return eventMs
  } finally {
    stop.abort()
    await writing
  }
}

async function deploy({ name, cell: { crds, certificates }, service, server, ...state }: State): Promise<Deployment> {
  await create(state.send, '/api/v1/namespaces', { metadata: { name } })
  const spec = { ports: [{ name: 'webhooks', port: PORT, targetPort: 'webhooks' }], selector: { app: name } }
  const created = await create(state.send, `/api/v1/namespaces/${name}/services`, { metadata: { name }, spec })
  await service.listen((created as { spec: { clusterIP: string } }).spec.clusterIP, PORT)
  const setup = { name, crds, service: { name, port: PORT } }
  const files = certificates === 'folder' ? await issueCertificates(name) : undefined
  return { setup, kubeconfig: state.kubeconfig(name), server, service, certificates: files }
}

async function create(send: Send, path: string, object: object): Promise<object> {
  const { status, body } = await send('POST', path, object)
  if (status !== 201) throw new Error(`Cannot create an object at ${path}: ${status} ${body.message}`)
  return body
}

/** With `verify`, applies what `kubeloop crd` prints. */
async function apply({ name, cell: { crds }, installed, send }: State, release: Release): Promise<void> {
  if (crds === 'install') return
  const setup = { name, crds, service: { name, port: PORT }, certs: { secret: 'webhooks' } }
  const { description } = siteOperator({ ...setup, release })
  const { conversion, configurations } = describeWebhooks(description, name)
  const definitions = crdOf(ownKinds(description), { conversions: description.conversions, conversion })
  for (const [i, object] of [...definitions, ...configurations].entries()) {
    const { status, body } = await send('PATCH', `${installed[i]}?fieldManager=deployer&force=true`, object)
    if (status !== 200 && status !== 201) throw new Error(`Cannot apply ${installed[i]}: ${status} ${body.message}`)
  }
}

/** Excuses refusals while something is done by hand, and until the server has settled. */
async function excuse(
  { excuses }: State,
  why: string,
  reasons: readonly Reason[] | undefined,
  work: () => Promise<unknown>,
): Promise<void> {
  const fromMs = Date.now()
  await work()
  excuses.push({ why, fromMs, toMs: Date.now() + SETTLE_MS, ...(reasons && { reasons }) })
}

const EVENTS: Record<Cell['event'], (state: State, deployment: Deployment) => Promise<void>> = {
  async 'roll-forward'(state, deployment) {
    await rollForward(state, deployment)
    await rollTo(state, deployment, 'next')
    // As the docs say: when the old replicas are gone. A new webhook has no CA yet.
    await excuse(state, 'by hand', ['x509'], () => apply(state, 'next'))
  },
  async 'roll-back'(state, deployment) {
    // Webhooks that the older release lacks go first. The oldest can't serve what is stored.
    await apply(state, 'new')
    await rollTo(state, deployment, 'new')
    if (await roll(state.pods, deployment, 'old', READY_MS / 2)) state.wrong.push('old pods replaced the new ones')
  },
  async kill(state, deployment) {
    await rollForward(state, deployment, killTwice(state))
  },
  async 'secret-deleted'(state, deployment) {
    const { name, pods, send } = state
    const files = deployment.certificates &&= await issueCertificates(name)
    if (!files) await send('DELETE', `/api/v1/namespaces/${name}/secrets/webhooks`)
    // A replica more begins with the new ones, and the kubelets of several nodes follow one after the other.
    pods.push(await startPod(deployment, 'new'))
    for (const pod of pods) {
      if (files) pod.renew(files)
      await sleep(systemClock, 300)
    }
    await untilReady(state)
    await sleep(systemClock, 2000)
  },
  async patched(state) {
    const { installed: [crd], send, wrong, cell } = state
    const { versions } = (await send('GET', crd)).body.spec
    const flipped = (versions as { name: string }[]).map((version) =>
      version.name === 'v1' ? { ...version, served: false, storage: false } : { ...version, storage: true }
    )
    const errors = (): number => output(state).split('"level":"error"').length
    for (const spec of [{ conversion: { strategy: 'None', webhook: null } }, { versions: flipped }]) {
      await excuse(state, 'by hand', undefined, async () => {
        const before = errors()
        await send('PATCH', crd, { spec })
        await sleep(systemClock, 1000)
        const isMended = async (): Promise<boolean> => {
          const { conversion, versions } = (await send('GET', crd)).body.spec
          return conversion.strategy === 'Webhook' &&
            (versions as { name: string; served: boolean }[]).some(({ name, served }) => name === 'v1' && served)
        }
        if (cell.crds === 'install') return void await until(isMended, RESTORED_MS)
        if (errors() === before) wrong.push(`no error was logged of the patched ${Object.keys(spec)[0]}`)
        await apply(state, 'new')
      })
      await sleep(systemClock, 2000)
    }
  },
  /** On a laptop, with the context of another namespace. */
  async second({ name, send, guests, kubeconfig }, { setup: { service: _, ...setup }, certificates, server }) {
    const namespace = `${name}-laptop`
    await create(send, '/api/v1/namespaces', { metadata: { name: namespace } })
    const files = certificates && await issueCertificates(namespace)
    const place = { server, kubeconfig: kubeconfig(namespace), service: undefined, certificates: files }
    const guest = await startPod({ setup, ...place }, 'new')
    guests.push(guest)
    await until(() => guest.isReady() || guest.crashes() > 0, READY_MS)
    await sleep(systemClock, 3000)
    await guest.end('SIGTERM')
  },
  restored: (state, deployment) => excuse(state, 'by hand', undefined, () => restore(state, deployment)),
}

async function rollTo({ pods, wrong }: State, deployment: Deployment, release: Release): Promise<void> {
  if (!(await roll(pods, deployment, release, READY_MS))) wrong.push(`the rollout of ${release} stopped`)
}

async function rollForward(state: State, deployment: Deployment, beside?: Promise<void>): Promise<void> {
  const { pods, excuses, cell: { event } } = state
  const fromMs = Date.now()
  const applied = apply(state, 'new')
  const first = async (): Promise<void> => {
    await applied
    await until(() => pods.some((pod) => pod.release === 'new' && pod.isReady()), READY_MS)
    await sleep(systemClock, FOLLOW_MS)
  }
  await Promise.all([
    applied.then(() => rollTo(state, deployment, 'new')),
    excuse(state, 'no replica', ['no answer', 'timeout'], first),
    beside,
  ])
  const toMs = Date.now() + LEADER_MS[event === 'kill' ? 'kill' : 'stop']
  excuses.push({ why: 'v1 is new', fromMs, toMs, reasons: ['not served', 'read-only'] })
}

/** Kills the first new pod when it has changed the definition, and the new leader when it leads. */
async function killTwice(state: State): Promise<void> {
  for (const line of [/"message":"(?:Updated|Leading)/, /"message":"Leading/]) {
    const find = (): Pod | undefined => state.pods.find((pod) => pod.release === 'new' && line.test(pod.output()))
    if (!(await until(() => find() !== undefined, LEADER_MS.kill))) return
    await excuse(state, 'killed', ['no answer', 'timeout'], async () => {
      const pod = find()!
      await pod.kill()
      await until(pod.isReady, READY_MS)
      await sleep(systemClock, FOLLOW_MS)
    })
  }
}

/** Loses the cluster, and restores it in the order of the docs: definitions, operator, objects. */
async function restore(state: State, deployment: Deployment): Promise<void> {
  const { name, installed, send, pods, writes, wrong } = state
  writes.isPaused = true
  await writes.idle()
  const { body: { items } } = await send('GET', writes.path('v1'))
  const backup = await Promise.all(installed.map(async (path) => (await send('GET', path)).body))
  await Promise.all(pods.map((pod) => pod.end('SIGKILL')))
  await loseDefinitions(state)
  writes.isPaused = false
  await send('DELETE', `/api/v1/namespaces/${name}/secrets/webhooks`)
  await send('DELETE', `/apis/coordination.k8s.io/v1/namespaces/${name}/leases/${name}`)
  for (const [i, { metadata: { name, labels }, status: _, ...object }] of backup.entries()) {
    await create(send, installed[i]!.replace(/\/[^/]*$/, ''), { ...object, metadata: { name, labels } })
  }
  for (const i of pods.keys()) pods[i] = await startPod(deployment, 'new')
  await untilReady(state)
  for (const { apiVersion, kind, metadata: { name, annotations }, spec } of items) {
    const object = { apiVersion, kind, metadata: { name, annotations }, spec }
    const isStored = async (): Promise<boolean> => (await send('POST', writes.path('v1'), object)).status === 201
    if (!(await until(isStored, READY_MS))) wrong.push(`${name} cannot be restored`)
  }
}

async function untilReady(state: State): Promise<void> {
  const isReady = await until(() => state.pods.every((pod) => pod.isReady()), 2 * READY_MS)
  if (!isReady) throw new Error(`The pods are not ready:\n${output(state)}`)
}

/** Checks what is installed and stored at the end, and that no pod ended by itself. Resolves with the lost fields. */
async function checkEnd({ name, installed, send, pods, writes, wrong }: State): Promise<ReturnType<Writes['lost']>> {
  const [crd, ...configurations] = await Promise.all(installed.map(async (path) => (await send('GET', path)).body))
  const stored = (crd.spec?.versions ?? []).find(({ storage }: { storage: boolean }) => storage)?.name
  if (stored !== 'v1') wrong.push(`${stored} is the stored version`)
  const hooks = configurations.flatMap(({ webhooks }, i) => webhooks ?? [{ name: installed[i + 1] }])
  for (const { name: what, clientConfig } of [{ name: 'the conversion', ...crd.spec?.conversion?.webhook }, ...hooks]) {
    if (clientConfig?.service?.name !== name) wrong.push(`${what} calls ${clientConfig?.url ?? 'nothing'}`)
  }
  const crashed = pods.filter((pod) => pod.release !== 'old' && pod.crashes() > 0)
  if (crashed.length > 0) wrong.push(`${crashed.length} pods ended by themselves`)
  const { status, body } = await send('GET', writes.path('v1'))
  if (status === 200) return writes.lost(body.items)
  wrong.push(`the list is refused: ${body.message}`)
  return []
}

async function loseDefinitions({ installed: [crd, ...configurations], send }: State): Promise<void> {
  for (const path of configurations) await send('DELETE', path)
  // The deletion of its objects may wait for a conversion.
  await send('PATCH', crd, { spec: { conversion: { strategy: 'None', webhook: null } } })
  await send('DELETE', crd)
  await until(async () => (await send('GET', crd)).status === 404, READY_MS)
}

function output({ pods, guests }: State): string {
  return [...pods, ...guests].map((pod) => `${pod.release}:\n${pod.output()}`).join('\n')
}
