/**
 * Tests shards with the sharder of kubernetes-controller-sharding and its webhook on a real API server: operators on
 * Node, Bun and Deno, and the engine's own example of a shard in Go, join and leave a ring in all ways.
 *
 * Skipped unless SHARDING is set, as the sharder takes minutes to build. Some rounds by default;
 * `SHARDING=1 SHARDING_ROUNDS=100 SHARDING_OBJECTS=10000 node tests/e2e/real_sharding.test.ts` runs more,
 * drawn at random. `SHARDING_LEASE=20` for slow machines.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Client, operator } from 'kubeloop'
import { ConfigMap, Namespace, Secret } from 'kubeloop/kinds'
import { systemClock } from '../../lib/async/clock.ts'
import { describeDeployment } from '../../lib/cli/deploy/objects.ts'
import type { ManifestObject } from '../../lib/cli/manifests.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { type ChildProcess, startProcess } from '../../lib/runtime/os/child_process.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { RUNTIMES } from '../faults/lane.ts'
import { REPO } from './operator_process.ts'

const ENGINE = 'github.com/timebertt/kubernetes-controller-sharding'
const MODULE = fileURLToPath(new URL('../go/sharding/', import.meta.url))
const PROGRAM = fileURLToPath(new URL('files/sharded.ts', import.meta.url))
const ROUNDS = Number(process.env['SHARDING_ROUNDS'] ?? 0)
const OBJECTS = Number(process.env['SHARDING_OBJECTS'] ?? 60)
const LEASE_S = Number(process.env['SHARDING_LEASE'] ?? 5)
/** Reconciles wait for 150 ms: ten workers would take minutes for half of 10,000 objects. */
const CONCURRENCY = OBJECTS > 1000 ? 50 : 10
/** Each nth object owns another one. A move of an owner with an owned object takes seven writes, else four. */
const EACH = OBJECTS > 1000 ? 10 : 1
const [SHARD, DRAIN] = ['shard', 'drain'].map((which) => `${which}.alpha.sharding.timebertt.dev/e2e`) as [
  string,
  string,
]
/** How long a change of members may take: a dead shard is detected after two durations of its Lease. */
const SETTLE_MS = 60_000 + 4000 * LEASE_S + 30 * OBJECTS

const missing = !process.env['KUBEBUILDER_ASSETS']
  ? 'KUBEBUILDER_ASSETS is not set: no real control plane'
  : !process.env['SHARDING']
  ? 'SHARDING is not set: the sharder takes minutes to build'
  : spawnSync('go', ['version']).status !== 0
  ? 'Go is not installed: the sharder cannot be built'
  : false

let folder = ''
let plane: Envtest
let sharder: ChildProcess
const processes: ChildProcess[] = []

before(async () => {
  if (missing) return
  folder = mkdtempSync(join(tmpdir(), 'kubeloop-sharding-'))
  plane = await startEnvtest()
  await setUp()
}, { timeout: 600_000 })

after(async () => {
  for (const { pid } of processes) process.kill(pid, 'SIGKILL')
  await Promise.all(processes.map(({ ended }) => ended))
  await plane?.stop()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

function run(command: string, args: readonly string[], input?: string): string {
  const env = { ...process.env, KUBECONFIG: join(folder, 'admin') }
  const { status, stdout, stderr } = spawnSync(command, args, { env, input, encoding: 'utf8' })
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr}`)
  return stdout
}

async function start(name: string, command: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = await startProcess({ command, args, env, output: join(folder, `${name}.log`) })
  processes.push(child)
  void child.ended.then(() => processes.splice(processes.indexOf(child), 1))
  return child
}

const logOf = (name: string): string => readFileSync(join(folder, `${name}.log`), 'utf8')

/** Builds the engine, installs it and what `kubeloop manifests` prints, and starts the sharder with its own rights. */
async function setUp(): Promise<void> {
  writeFileSync(join(folder, 'admin'), plane.kubeconfig(), { mode: 0o600 })
  const tools = ['sharder', 'checksum-controller'].map((program) => `${ENGINE}/cmd/${program}`)
  run('go', ['build', '-C', MODULE, '-o', join(folder, 'bin/'), ...tools])
  const sources = run('go', ['list', '-C', MODULE, '-m', '-f', '{{.Dir}}', ENGINE]).trim()
  const crds = join(sources, 'config/crds')
  const crd = readdirSync(crds).find((name) => name.endsWith('_controllerrings.yaml'))!
  for (const file of [join(crds, crd), join(sources, 'config/rbac/role.yaml')]) {
    run(plane.kubectl, ['apply', '-f', file])
  }
  run(plane.kubectl, ['wait', '--for=condition=established', 'crd/controllerrings.sharding.timebertt.dev'])
  await plane.client.create(Namespace, { metadata: { name: 'work' } })

  const app = operator({ name: 'sharded', sharding: { ring: 'e2e' }, namespaces: ['work'] })
  app.controllerFor(Secret).owns(ConfigMap).reconcile(async () => {})
  const { objects } = await describeDeployment(app.description, { namespace: 'default', image: 'a:1' }, import.meta.url)
  const printed = (objects as ManifestObject[]).filter(({ kind }) =>
    /^(ControllerRing|ServiceAccount|.*Role.*)$/.test(kind)
  )
  const account = 'system:serviceaccount:sharding-system:sharder'
  const items = [...printed, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'sharder' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sharder' },
    subjects: [{ kind: 'User', name: account, apiGroup: 'rbac.authorization.k8s.io' }],
  }]
  run(plane.kubectl, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))

  const authority = await createAuthority()
  const names = { commonName: 'sharder', dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }
  const { cert, key } = await authority.issue({ ...names, usage: 'server' })
  mkdirSync(join(folder, 'certs'))
  writeFileSync(join(folder, 'certs/tls.crt'), cert)
  writeFileSync(join(folder, 'certs/tls.key'), key, { mode: 0o600 })
  const clientConfig = { url: 'https://127.0.0.1:9443', caBundle: btoa(authority.ca) }
  const config = {
    apiVersion: 'config.sharding.timebertt.dev/v1alpha1',
    kind: 'SharderConfig',
    health: { bindAddress: '0' },
    metrics: { bindAddress: '0' },
    // By default 100 requests a second, which would make the moves of thousands of objects wait.
    clientConnection: { qps: 2000, burst: 4000 },
    controller: { sharder: { syncPeriod: '5s' } },
    webhook: { server: { certDir: join(folder, 'certs') }, config: { clientConfig } },
  }
  writeFileSync(join(folder, 'sharder.json'), JSON.stringify(config))
  writeFileSync(join(folder, 'sharder'), plane.kubeconfig(await plane.addUser(account)), { mode: 0o600 })
  const shardUser = await plane.addUser('system:serviceaccount:default:sharded')
  writeFileSync(join(folder, 'cluster'), JSON.stringify(shardUser), { mode: 0o600 })
  sharder = await startSharder()
}

const startSharder = (): Promise<ChildProcess> =>
  start('the-sharder', join(folder, 'bin/sharder'), [`--config=${join(folder, 'sharder.json')}`], {
    LEADER_ELECT: 'false',
    KUBECONFIG: join(folder, 'sharder'),
  })

/**
 * One Conflict fails a whole sync of the sharder, the next one waits for twice as long, up to 1,000 s, and only a sync
 * without one begins anew. While objects are written, there may be none for many rounds.
 */
async function restartSharder(): Promise<void> {
  process.kill(sharder.pid, 'SIGTERM')
  await sharder.ended
  sharder = await startSharder()
}

interface Member {
  readonly name: string
  readonly child: ChildProcess
  readonly isGo: boolean
}

let started = 0

async function join_(isGo = false): Promise<Member> {
  const runtime = RUNTIMES[started % RUNTIMES.length]!
  const name = `${isGo ? 'go' : runtime}-${++started}`
  if (isGo) {
    const args = ['--controllerring=e2e', '--namespace=work', '--lease-namespace=default', `--shard-name=${name}`]
    const child = await start(name, join(folder, 'bin/checksum-controller'), args, {
      KUBECONFIG: join(folder, 'admin'),
    })
    return { name, child, isGo }
  }
  const flags = runtime === 'deno' ? ['run', '-A', '--no-check'] : []
  const args = [
    ...flags,
    PROGRAM,
    join(folder, 'cluster'),
    name,
    '150',
    String(LEASE_S),
    String(CONCURRENCY),
    String(EACH),
  ]
  return { name, child: await start(name, join(REPO, 'node_modules/.bin', runtime), args), isGo }
}

/** What the server has stored of the objects, in its order. */
class Audit {
  readonly shards = new Map<string, string | undefined>()
  readonly draining = new Set<string>()
  readonly #last = new Map<string, { readonly by: string; readonly run: string; readonly phase: string }>()
  readonly problems: string[] = []
  /** Runs that had not ended when another one of their object began. */
  readonly cut: { readonly by: string; readonly name: string }[] = []
  moves = 0
  runs = 0
  /** Objects that are not as they must be: with many objects, not each event can look at all. */
  readonly #open = new Set<string>()
  #members: readonly Member[] = []
  #isQuiet = false
  #evaluate = (): void => {}

  record({ metadata: { name, labels = {}, annotations } }: KubeObject): void {
    const shard = labels[SHARD]
    const known = this.shards.get(name)
    if (known !== undefined && shard !== known) this.moves++
    this.shards.set(name, shard)
    if (labels[DRAIN] === undefined) this.draining.delete(name)
    else this.draining.add(name)
    const [by, run, phase] = annotations?.['run']?.split(' ') ?? []
    const last = this.#last.get(name)
    if (by && run && phase && !(last?.by === by && last.run === run && last.phase === phase)) {
      this.runs++
      if (phase === 'end' && !(last?.by === by && last.run === run)) {
        this.problems.push(`${by} worked on ${name} beside ${last?.by}`)
      }
      if (last && phase === 'begin' && last.phase === 'begin' && last.by !== by) this.cut.push({ by: last.by, name })
      this.#last.set(name, { by, run, phase })
    }
    this.#consider(name)
    this.#evaluate()
  }

  /** Why an object is not as it must be; undefined if it is. */
  #why(name: string): string | undefined {
    const shard = this.shards.get(name)
    const member = this.#members.find((each) => each.name === shard)
    if (!member) return `${name} is assigned to ${shard}`
    if (this.draining.has(name)) return `${name} is to be drained by ${shard}`
    const last = this.#last.get(name)
    if (member.isGo || (last?.by === shard && (!this.#isQuiet || last?.phase === 'end'))) return undefined
    return `${shard} has not reconciled ${name}`
  }

  #consider(name: string): void {
    if (this.#why(name) === undefined) this.#open.delete(name)
    else this.#open.add(name)
  }

  /** What is not as it must be; undefined if everything is. */
  #unsettled(): string | undefined {
    const [name] = this.#open
    if (name !== undefined) return `${this.#why(name)}, and ${this.#open.size - 1} other objects`
    const used = new Set(this.shards.values())
    const idle = this.#members.find((each) => !used.has(each.name))
    return idle && `${idle.name} has no object`
  }

  /**
   * Resolves when everything is as it must be, and nothing has moved for 2 s. Reconciles may run as long as the objects
   * are written, that is unless `isQuiet`.
   */
  settled(members: readonly Member[], isQuiet = false): Promise<void> {
    this.#members = members
    this.#isQuiet = isQuiet
    for (const name of this.shards.keys()) this.#consider(name)
    return new Promise((resolve, reject) => {
      let [moves, cancel] = [-1, (): void => {}]
      const end = (settle: () => void): void => {
        this.#evaluate = () => {}
        cancel()
        stop()
        settle()
      }
      const stop = systemClock.after(SETTLE_MS, () => {
        const why = [
          this.#unsettled(),
          ...['the-sharder', ...members.map(({ name }) => name)].map((name) => logOf(name).slice(-500)),
        ].join('\n')
        end(() => reject(new Error(`No quiet in ${SETTLE_MS} ms: ${why}`)))
      })
      this.#evaluate = () => {
        const isSettled = this.shards.size === OBJECTS && this.#unsettled() === undefined
        if (isSettled && moves === this.moves) return
        cancel()
        moves = isSettled ? this.moves : -1
        if (isSettled) cancel = systemClock.after(2000, () => end(resolve))
      }
      this.#evaluate()
    })
  }
}

/** A server ends each watch after 30 to 60 minutes: the next one begins where that has ended. */
async function watching(client: Client, audit: Audit, signal: AbortSignal): Promise<void> {
  let resourceVersion = ''
  try {
    while (!signal.aborted) {
      for await (const { object } of client.watch(Secret, { namespace: 'work', resourceVersion, signal })) {
        audit.record(object)
        resourceVersion = object.metadata.resourceVersion
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Lets objects be reconciled again and again, and not so often that the server does nothing else. Resolves when the signal is aborted. */
async function writing(client: Client, signal: AbortSignal): Promise<void> {
  for (let at = 0; !signal.aborted; at++) {
    const name = `s${Math.floor(Math.random() * OBJECTS)}`
    await client.patch(Secret, { namespace: 'work', name }, { merge: { stringData: { round: String(at) } } })
    await new Promise((resolve) => systemClock.after(30 * EACH, () => resolve(undefined)))
  }
}

/** Returns the owned objects whose shard differs from that of their owner, when none does or time is up. */
async function strayMaps({ shards }: Audit, untilMs: number): Promise<string[]> {
  for (;;) {
    const maps = await plane.client.list(ConfigMap, { namespace: 'work' })
    const owned = maps.filter(({ metadata }) => metadata.ownerReferences)
    assert.ok(owned.length >= OBJECTS / EACH)
    const strays = owned.filter(({ metadata: { labels = {}, ownerReferences } }) =>
      labels[SHARD] !== shards.get(ownerReferences![0]!.name)
    )
    if (strays.length === 0 || Date.now() > untilMs) return strays.map(({ metadata }) => metadata.name)
    await new Promise((resolve) => systemClock.after(1000, () => resolve(undefined)))
  }
}

async function createAll(count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => `s${at}`).values()
  const create = async (): Promise<void> => {
    for (const name of names) {
      await plane.client.create(Secret, { metadata: { namespace: 'work', name }, stringData: { round: 'first' } })
    }
  }
  await Promise.all(Array.from({ length: 10 }, create))
}

/** Asserts that no object had two shards at once. `expected`: the shards that ended, or were suspended, within runs. */
function assertNoTwo({ problems, cut }: Audit, expected: ReadonlySet<string>): void {
  assert.deepEqual([problems, cut.filter(({ by }) => !expected.has(by))], [[], []])
}

/** Changes the members. Returns those that are left. */
const EVENTS: Readonly<
  Record<string, (members: readonly Member[], expected: Set<string>) => Promise<readonly Member[]>>
> = {
  add: async (members) => [...members, await join_()],
  stop: async ([first, ...rest]) => {
    process.kill(first!.child.pid, 'SIGTERM')
    const { code } = await first!.child.ended
    assert.equal(code, 0, logOf(first!.name))
    return rest
  },
  kill: async ([first, ...rest], expected) => {
    expected.add(first!.name)
    process.kill(first!.child.pid, 'SIGKILL')
    await first!.child.ended
    return [...rest, await join_()]
  },
  suspend: async ([first, ...rest], expected) => {
    expected.add(first!.name)
    process.kill(first!.child.pid, 'SIGSTOP')
    // Until the sharder has taken its Lease, and longer.
    await new Promise((resolve) => systemClock.after(2500 * LEASE_S, () => resolve(undefined)))
    process.kill(first!.child.pid, 'SIGCONT')
    const { code } = await first!.child.ended
    assert.equal(code, 7, logOf(first!.name))
    return [...rest, await join_()]
  },
  'join in Go': async (members) => [...members, await join_(true)],
  'leave in Go': async (members) => {
    const go = members.find(({ isGo }) => isGo)!
    process.kill(go.child.pid, 'SIGTERM')
    await go.child.ended
    return members.filter((each) => each !== go)
  },
}

test('no object has two shards at once, and none is without one at quiet', {
  skip: missing,
  timeout: 300_000 + (ROUNDS + 8) * SETTLE_MS,
}, async () => {
  const audit = new Audit()
  const [auditing, ending] = [new AbortController(), new AbortController()]
  const watch = watching(plane.client, audit, auditing.signal)
  const expected = new Set<string>()
  try {
    let members: readonly Member[] = await Promise.all(RUNTIMES.map(() => join_()))
    const startedMs = Date.now()
    await createAll(OBJECTS)
    await audit.settled(members)
    console.log(`${OBJECTS} objects, ${members.length} shards: ${((Date.now() - startedMs) / 1000).toFixed(1)} s`)
    const writes = writing(plane.client, ending.signal)
    const drawn = Object.keys(EVENTS).slice(0, 4)
    const rounds = ROUNDS === 0
      ? Object.keys(EVENTS)
      : Array.from({ length: ROUNDS }, () => drawn[Math.floor(Math.random() * drawn.length)]!)
    for (const [round, drawing] of rounds.entries()) {
      const what = members.length < 2 ? 'add' : members.length > 5 ? 'stop' : drawing
      const [before, moves, beganMs] = [new Map(audit.shards), audit.moves, Date.now()]
      members = await EVENTS[what]!(members, expected)
      await audit.settled(members)
      const ideal = [...audit.shards].filter(([name, shard]) => before.get(name) !== shard).length
      const moved = audit.moves - moves
      const took = ((Date.now() - beganMs) / 1000).toFixed(1)
      console.log(`round ${round + 1}: ${what}, ${members.length} shards: ${moved} moves, ${ideal} objects, ${took} s`)
      // Members that end and begin in one round move some objects twice.
      if (['add', 'stop', 'join in Go', 'leave in Go'].includes(what)) {
        assert.ok(moved <= 1.2 * ideal, `${what}: ${moved} of ${ideal}`)
      }
      assertNoTwo(audit, expected)
      if (round % 5 === 4) await restartSharder()
    }
    ending.abort()
    await writes
    await audit.settled(members, true)
    assertNoTwo(audit, expected)
    const strays = await strayMaps(audit, Date.now() + SETTLE_MS)
    assert.deepEqual(strays, [], 'each owned object is of the shard of its owner, which has applied it again and again')
    console.log(`${audit.runs / 2} reconciles, ${audit.moves} moves`)
    await Promise.all(members.map((member) => EVENTS['stop']!([member], expected)))
  } finally {
    ending.abort()
    auditing.abort()
    await watch
  }
})
