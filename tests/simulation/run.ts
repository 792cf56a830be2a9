/** Runs one seed: an operator, what happens to it, and what must hold while it does and when it is at rest. */
import { ApiError, type KubeObject, LeadershipLost, type Log, NetworkError } from 'kubeloop'
import { ConfigMap, MutatingWebhookConfiguration, Namespace, Service } from 'kubeloop/kinds'
import { Chance } from '../tools/chance.ts'
import { type Deed, drawDeeds, isSteady, type Play, play, release, textOf } from './deeds.ts'
import { judged, type Known, selects, wrongWrite } from './model.ts'
import {
  type Drawing,
  drawOptions,
  hasLeader,
  hasVersions,
  isShared,
  OPTIONS,
  simplerDrawings,
  withoutRefused,
} from './options.ts'
import { DRAIN, SHARD } from './sharder.ts'
import { MEDDLER, type ObservedWrite, Stage } from './stage.ts'
import {
  Bar,
  bucketLease,
  Foo,
  identityOf,
  type Key,
  KEYS,
  NAMES,
  NAMESPACES,
  type Observer,
  OldFoo,
  ownRules,
  shardedOf,
  type Subject,
  subjectOf,
} from './subject.ts'
import { judgedZone, type KnownZone, Zone } from './zones.ts'

/** What a seed draws. */
export interface Plan {
  readonly seed: number
  readonly drawing: Drawing
  /** The operator before an upgrade, which differs in its drawing; undefined without one. */
  readonly earlier: Drawing | undefined
  readonly replicas: number
  readonly deeds: readonly Deed[]
}

export interface Outcome {
  readonly problems: readonly string[]
  /** What happened, in order. */
  readonly history: readonly string[]
}

/** Rows that two releases of one operator have in common: what they select, and what is left in objects. */
const LASTING: readonly (keyof Drawing)[] = [
  ...['place', 'labels', 'fields', 'spaces', 'commonSpaces', 'finalize', 'filter', 'election', 'admission'] as const,
  ...['second', 'finalizesTwice', 'child', 'meddled', 'generated', 'shares', 'annotates', 'task'] as const,
  ...['source', 'zones', 'west', 'account', 'bars'] as const,
]
const MAX_REPLICAS = 4
/** Longer than any lease, back-off and lost answer. */
const CALM_MS = 180_000
/** The same if no faults were left before. */
const CLEAR_CALM_MS = 45_000
/** A lost answer fails after 75 s. */
const LAST_ANSWER_MS = 80_000
/** A task and a schedule write at least so often, a failing one with its back-off. */
const BEAT_MS = 100_000
const RESTART_MS = 30_000
/** The grace period of a stop, and what comes after it. */
const STOP_MS = 40_000
/** How long a cluster that is late refuses all requests. */
const LATE_MS = 8000
/** A replica that is started again, or has tried again, has found it by then. */
const FOUND_MS = 45_000
/** An event in a gap of a watch is known by then, and the runs before it have ended. */
const SOON_MS = 15_000
/** The same if another replica must take over first. */
const TAKEOVER_MS = 60_000
const TAKEOVERS: readonly (string | undefined)[] = ['kill', 'hand over']
/** A leader whose Lease was set back notices it by then. */
const RESTORED_MS = 60_000
/** A line that is logged more often within a second floods. */
const MAX_EQUAL_LINES = 5

export function planOf(seed: number): Plan {
  const chance = new Chance(seed)
  const drawing = withoutRefused(drawOptions(chance))
  const other = drawOptions(chance)
  // A release with another number of buckets waits for those of the one before.
  const buckets = OPTIONS.buckets.values.find((count) => count !== drawing.buckets)!
  const earlier = chance.below(3) === 0 ? withoutRefused({ ...releasedBefore(drawing, other), buckets }) : undefined
  const replicas = drawing.election === 'one replica' ? 1 : 1 + chance.below(3)
  return { seed, drawing, earlier, replicas, deeds: drawDeeds(chance, drawing) }
}

/** Returns the drawing of an earlier release of an operator: `other` with what both releases have in common. */
function releasedBefore(drawing: Drawing, other: Drawing): Drawing {
  const lasting = Object.fromEntries(LASTING.map((name) => [name, drawing[name]])) as Partial<Drawing>
  // A version that objects were written in is not removed.
  return { ...other, ...lasting, versions: drawing.versions === 'one' ? 'one' : other.versions }
}

export async function runPlan(plan: Plan): Promise<Outcome> {
  const run = new Run(plan)
  try {
    await run.play()
  } catch (error) {
    run.problem(`the run ended: ${error}`)
  }
  return { problems: run.problems, history: run.history }
}

class Run {
  readonly #plan: Plan
  readonly problems: string[] = []
  readonly history: string[] = []
  readonly #known = new Map<string, Known>()
  readonly #zones = new Map<string, KnownZone>()
  readonly #subjects = new Map<number, Subject>()
  readonly #failed = new Set<string>()
  /** When the runs of each controller and key began. */
  readonly #runs = new Map<string, number[]>()
  /** The replicas that run a controller and a key now. */
  readonly #running = new Map<string, Set<number>>()
  /** The drawing of each replica. */
  readonly #drawings = new Map<number, Drawing>()
  /** When a task or schedule has written last. */
  readonly #beats = new Map<string, number>()
  readonly #lines = new Map<string, number[]>()
  /** The newest version of an object that a leader has read, by controller and uid. */
  readonly #seen = new Map<string, bigint>()
  #stage!: Stage
  /** When the faults have ended. */
  #calmMs = Infinity
  /** When their consequences have, before the last deeds. */
  #clearMs = Infinity
  /** Whether new replicas are those of the upgrade. */
  #isUpgraded = false

  constructor(plan: Plan) {
    this.#plan = plan
  }

  async play(): Promise<void> {
    const { seed, drawing, replicas, deeds, earlier } = this.#plan
    const namespace = (name: string): object => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { team: name } },
    })
    const nobody = {
      run: () => () => {},
      problem() {},
      unseen() {},
      elsewhere: async () => {},
      saw() {},
      listed() {},
      failsFirst: () => false,
    }
    const { app, west } = subjectOf(drawing, nobody)
    const stage = this.#stage = new Stage({
      ...{ seed, app, objects: NAMESPACES.map(namespace), logOf: (replica) => this.#log(replica) },
      // The account is that of one release.
      rules: drawing.account && !earlier ? ownRules(drawing) : undefined,
      sharded: shardedOf(earlier ? [drawing, earlier] : [drawing]),
      onReleased: (shard, object) => this.#released(shard, object),
      onWrite: (write) => this.#written(write),
      onProblem: (text) => this.problem(text),
      onEnd: (error) => this.#ended(error),
    })
    await stage.open()
    for (const name of NAMESPACES) {
      await stage.clientOf(west).create(Namespace, { metadata: { name, labels: { team: name } } })
    }
    const place = drawing.place === 'own' ? undefined : west
    if (drawing.meddled) await stage.clientOf(place).create(MutatingWebhookConfiguration, MEDDLER)
    const of: Play = {
      ...{ draw: drawing, earlier, stage, place, client: stage.clientOf(place), known: this.#known, poked: new Set() },
      ...{ zones: this.#zones, team: new Set(['a']), teams: new Set(['a']), isClear: false, isRazed: false },
      ...{ subjects: this.#subjects, calm: new AbortController(), count: 0, isCertain: earlier === undefined },
      // Without the other cluster a replica ends.
      isSteady: earlier === undefined && isSteady(deeds) && drawing.west !== 'late',
      problem: (text) => this.problem(text),
      startReplica: () => this.#startReplica(),
    }
    const isLate = drawing.place !== 'group' && (drawing.west === 'late' || drawing.west === 'optional and late')
    if (isLate) {
      stage.fault({ cluster: 'west', status: 503, times: Infinity, until: stage.after(LATE_MS) })
    }
    for (let count = 0; count < replicas; count++) this.#startReplica()
    await this.#rest(isLate ? FOUND_MS : 1000)
    for (const [index, deed] of deeds.entries()) {
      if (index === deeds.length >> 1) await this.#upgrade(of)
      this.#note(textOf(deed))
      await play(of, deed)
      await this.#rest(deed.waitMs)
      if (deed.deed === 'clear') this.#clearMs = stage.clock.monotonic()
    }
    of.calm.abort()
    this.#calmMs = stage.clock.monotonic()
    this.#note('calm')
    for (const key of KEYS) await release(of, key)
    await this.#rest(this.#clearMs === Infinity ? CALM_MS : CLEAR_CALM_MS)
    await this.#judge(of)
    stage.checkHeld()
    await stage.close()
  }

  #startReplica(): void {
    const { drawing, earlier, replicas } = this.#plan
    const isAlone = drawing.election === 'one replica'
    if (this.#stage.running.length >= (isAlone ? 1 : MAX_REPLICAS)) return
    const number = this.#stage.next
    const drawn = earlier && !this.#isUpgraded ? earlier : drawing
    const subject = subjectOf(drawn, this.#observer(number, drawn))
    this.#subjects.set(number, subject)
    this.#drawings.set(number, drawn)
    this.#note(`replica ${number} starts`)
    this.#stage.start(subject.app, isAlone ? 1 : Math.max(2, replicas))
  }

  /** Lets time pass. Replicas that a lost lease has ended are started again. */
  async #rest(ms: number): Promise<void> {
    for (let left = ms; left >= 0; left -= RESTART_MS) {
      await this.#stage.advance(Math.min(left, RESTART_MS))
      this.#restart()
    }
  }

  /** Starts a replica if none is left, as a Deployment does. */
  #restart(): void {
    if (this.#stage.running.length === 0) this.#startReplica()
  }

  /** Replaces the replicas of the earlier release. */
  async #upgrade(of: Play): Promise<void> {
    if (!this.#plan.earlier) return
    this.#note('upgrade')
    this.#isUpgraded = true
    const { seed } = this.#plan
    for (const number of this.#stage.running) {
      // Those of both releases may run at the same time.
      if (seed % 2 === 0) this.#startReplica()
      if (seed % 4 === 0) {
        await this.#stage.advance(20_000)
        for (const deed of ['create', 'edit', 'edit'] as const) {
          for (const key of KEYS) await play(of, { deed, key, number: 0, waitMs: 0 })
          await this.#stage.advance(1000)
        }
      }
      this.#stage.stop(number)
      await this.#stage.advance(2000)
      // A stop may take its whole grace period. Where there is one replica, the next one starts after it.
      const isAlone = this.#plan.drawing.election === 'one replica'
      for (let ms = 2000; isAlone && ms < STOP_MS && this.#stage.running.includes(number); ms += 2000) {
        await this.#stage.advance(2000)
      }
      this.#restart()
    }
  }

  #observer(replica: number, { concurrency, second, ...drawing }: Drawing): Observer {
    const running = new Set<string>()
    const own = new Map<string, bigint>()
    return {
      run: (controller, key) => {
        const id = `${controller} ${key}`
        if (running.has(id)) this.problem(`two runs of ${id} at once in replica ${replica}`)
        running.add(id)
        const count = [...running].filter((each) => each.startsWith(`${controller} `)).length
        if (count > concurrency) this.problem(`${count} runs of ${controller} at once in replica ${replica}`)
        const runs = this.#runs.get(id) ?? []
        runs.push(this.#stage.clock.monotonic())
        this.#runs.set(id, runs)
        const isOfEach = controller === 'second' && second === 'every replica'
        const end = isOfEach ? () => {} : this.#begin(replica, id, key)
        return () => {
          running.delete(id)
          end()
        }
      },
      problem: (text) => this.problem(text),
      unseen: (text) => {
        if (this.#stage.restoredMs === -Infinity) this.problem(text)
      },
      elsewhere: (ms) => this.#stage.hold(ms),
      listed: (foos) => {
        const keys = foos.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
        const wrong = keys.filter((key, at) => keys.indexOf(key) !== at || this.#known.get(key)?.wasSelected === false)
        if (wrong.length > 0) this.problem(`replica ${replica} lists ${wrong.join()}: not selected, or twice`)
      },
      saw: (controller, { kind, metadata: { namespace, name, uid, resourceVersion } }) => {
        const id = `${controller} ${uid}`
        // A new leader begins when its cache has what the one before has read.
        const isOfEach = isShared(drawing as Drawing) || (controller === 'second' && second === 'every replica')
        if (!isOfEach && !this.#stage.leadsAlone(replica)) return
        const seen = isOfEach ? own : this.#seen
        const version = BigInt(resourceVersion!)
        if (version < (seen.get(id) ?? 0n) && this.#stage.restoredMs === -Infinity) {
          this.problem(
            `${controller} in replica ${replica} reads ${kind} ${namespace}/${name} at ${version}, after ${
              seen.get(id)
            }`,
          )
        }
        seen.set(id, version)
      },
      failsFirst: (key, value) => {
        const id = `${key} ${value}`
        const isFirst = !this.#failed.has(id)
        this.#failed.add(id)
        return isFirst
      },
    }
  }

  /** Notes a run. One of the same key in another replica must have ended. */
  #begin(replica: number, id: string, key: string): () => void {
    const replicas = this.#running.get(id) ?? new Set()
    this.#running.set(id, replicas)
    const stage = this.#stage
    const isAwake = (number: number): boolean => stage.running.includes(number) && !stage.wasSuspended(number)
    for (const other of [...replicas].filter((each) => each !== replica)) {
      if (!isAwake(replica) || !isAwake(other) || !this.#knowsLeases) continue
      this.problem(`${id} runs in replica ${replica}, and still in replica ${other}`)
    }
    replicas.add(replica)
    // A cache does not know at once that its cluster was set back.
    if (this.#plan.drawing.election === 'ring' && this.#knowsLeases) {
      void this.#checkShard(replica, `a run of ${id}`, key)
      if (DRAIN in stage.cachedLabels(replica, Foo, key)) {
        this.problem(`${id} runs, and replica ${replica} knows its drain`)
      }
    }
    return () => void replicas.delete(replica)
  }

  /** A live shard gives an object up. */
  #released(shard: string, { kind, metadata: { namespace, name } }: KubeObject): void {
    if (kind !== Foo.kind || !this.#knowsLeases) return
    for (const [id, replicas] of this.#running) {
      const busy = [...replicas].find((number) => identityOf(number) === shard && id.endsWith(` ${namespace}/${name}`))
      if (busy !== undefined) this.problem(`replica ${busy} gives ${namespace}/${name} up while ${id} runs`)
    }
  }

  /** Reports what a shard does with an object that is another one's, or that it has given up. */
  async #checkShard(replica: number, what: string, key: string): Promise<void> {
    const [namespace, name] = key.split('/') as [string, string]
    const own = identityOf(replica)
    const [foo, holder] = await Promise.all([
      this.#stage.clientOf(undefined).get(Foo, { namespace, name }).catch(() => undefined),
      this.#stage.holder(own),
    ])
    const shard = foo?.metadata.labels?.[SHARD]
    if (foo && shard !== own && holder === own) this.problem(`${what} by ${own}, and the object is of shard ${shard}`)
  }

  /** Whether no cluster was set back so lately that a holder of a Lease does not know it yet. */
  get #knowsLeases(): boolean {
    return this.#stage.clock.monotonic() > this.#stage.restoredMs + RESTORED_MS
  }

  #written(write: ObservedWrite): void {
    const { drawing } = this.#plan
    const { namespace, resource, verb, replica, cluster, fieldManager } = write
    const name = write.name.replace(/-(shared|mirror|swept)$/, '')
    const what = `${verb} of ${resource} ${namespace}/${name}`
    const isOfZone = resource === 'zones' || name.startsWith('zone-')
    const isBeat = resource === 'configmaps' && (name === 'task' || name === 'tick')
    if (isBeat) this.#beats.set(name, this.#stage.clock.monotonic())
    else if (name !== '') {
      if (cluster !== (drawing.place === 'own' ? null : 'west')) this.problem(`${what} in the wrong cluster`)
      const wrong = isOfZone
        ? this.#zones.has(name.replace('zone-', '')) ? undefined : 'a zone that nobody made'
        : wrongWrite(drawing, { namespace, name }, this.#known.get(`${namespace}/${name}`))
      // A drain is acknowledged whatever the filter.
      const isDrain = drawing.election === 'ring' && resource === Foo.plural && verb === 'patch' && !write.subresource
      if (wrong && !isDrain) this.problem(`${what}: ${wrong}`)
    }
    const isOfEach = fieldManager === 'drawn-second' ? drawing.second === 'every replica' : isBeat &&
      drawing.task === 'every replica'
    if (drawing.election === 'one replica' || isOfEach || !this.#knowsLeases) return
    const [kind, key] = isOfZone ? [Zone, name.replace('zone-', '')] : [Foo, `${namespace}/${name}`]
    // What a server names has no key.
    if (hasLeader(drawing)) void this.#checkLeads(replica, what, 'drawn')
    else if (drawing.election === 'ring') {
      void this.#checkLeads(replica, what, identityOf(replica))
      if (name !== '') void this.#checkShard(replica, what, key)
    } else if (name !== '') void this.#checkLeads(replica, what, bucketLease(this.#drawings.get(replica)!, kind, key))
  }

  async #checkLeads(replica: number, what: string, lease: string): Promise<void> {
    const holder = await this.#stage.holder(lease)
    const own = identityOf(replica)
    if (holder !== undefined && holder !== own) this.problem(`${what} by ${own}, while ${holder} holds ${lease}`)
  }

  async #judge({ isCertain, client, place }: Play): Promise<void> {
    const { drawing } = this.#plan
    const found = async ({ namespace, name }: Key, dueMs: number) => ({
      foo: await client.get(Foo, { namespace, name }),
      service: await client.get(Service, { namespace, name }),
      generated: await client.list(ConfigMap, { namespace, labels: `generated-for=${name}` }),
      shared: await client.get(ConfigMap, { namespace, name: `${name}-shared` }),
      mirror: await client.get(ConfigMap, { namespace, name: `${name}-mirror` }),
      ranMs: this.#ranMs(`first ${namespace}/${name}`, dueMs),
      isSoon: this.#isSoon(`first ${namespace}/${name}`, dueMs),
      clearMs: this.#clearMs,
    })
    for (const key of KEYS) {
      const known = this.#known.get(`${key.namespace}/${key.name}`)
      for (const wrong of judged(drawing, key, known, await found(key, known?.dueMs ?? 0), isCertain)) {
        this.problem(wrong)
      }
    }
    if (drawing.zones) {
      for (const name of NAMES) {
        const known = this.#zones.get(name)
        const isSoon = known !== undefined && this.#isSoon(`zone ${name}`, known.dueMs)
        for (const wrong of await judgedZone(client, name, known, isSoon)) this.problem(wrong)
      }
    }
    for (const number of this.#stage.running) {
      for (const wrong of await this.#stage.unhealthy(number)) this.problem(wrong)
      for (const kind of drawing.place === 'group' ? [] : [Foo, OldFoo, Service, Bar]) {
        for (const wrong of await this.#stage.differences(number, kind, place && this.#subjects.get(number)!.west)) {
          this.problem(wrong)
        }
      }
    }
    const { leader, running } = this.#stage
    for (const number of drawing.source === 'from' && leader !== undefined ? running : []) {
      const { size } = this.#subjects.get(number)!.streams
      if (size !== Number(number === leader || isShared(drawing))) {
        this.problem(`replica ${number} reads ${size} streams of keys, and ${leader} leads`)
      }
    }
    if (drawing.election === 'ring') {
      for (const foo of await client.list(Foo)) {
        const { namespace, name, labels } = foo.metadata
        const known = this.#known.get(`${namespace}/${name}`)
        // A shard gives up what it sees.
        if (!known || !selects(drawing, { namespace, name }, known)) continue
        if (this.#stage.sharder!.isPlaced(foo)) continue
        this.problem(`${namespace}/${name} is left with the labels ${JSON.stringify(labels)}`)
      }
    }
    const nowMs = this.#stage.clock.monotonic()
    // A schedule follows the wall clock: one that was set back has reached its next time before.
    const isSet = this.#plan.deeds.some(({ deed }) => deed === 'skew')
    for (const [name, isDrawn] of [['task', drawing.task !== 'none'], ['tick', drawing.schedule && !isSet]] as const) {
      const atMs = this.#beats.get(name) ?? -Infinity
      if (isDrawn && nowMs - atMs > BEAT_MS) this.problem(`${name} does not run: the last time was ${atMs}`)
    }
  }

  /** Returns when the first run of a controller and a key since then began. */
  #ranMs(of: string, sinceMs: number): number {
    return this.#runs.get(of)?.find((ms) => ms >= sinceMs) ?? Infinity
  }

  /** Whether that run was as soon as it must be. One by a timer may make up for one that was missed, but seldom as soon. */
  #isSoon(of: string, sinceMs: number): boolean {
    const afterMs = this.#ranMs(of, sinceMs) - sinceMs
    if (sinceMs <= this.#clearMs) return afterMs < Infinity
    const { drawing, earlier, deeds } = this.#plan
    // A release with another number of buckets waits until the Leases of killed replicas have expired for it.
    const isRecount = drawing.election === 'buckets' && earlier !== undefined && earlier.buckets !== drawing.buckets
    return afterMs <= (isRecount || TAKEOVERS.includes(deeds.at(-1)?.deed) ? TAKEOVER_MS : SOON_MS)
  }

  #log(replica: number | undefined): Log {
    const count = (level: string) => (message: string): void => {
      const now = this.#stage?.clock.monotonic() ?? 0
      this.#note(`${level} ${message}`)
      const line = `${replica} ${message}`
      const times = (this.#lines.get(line) ?? []).filter((ms) => ms > now - 1000)
      this.#lines.set(line, [...times, now])
      if (message.startsWith('Leading with a cache that may lack')) this.#seen.clear()
      // Each version has a cache.
      const max = MAX_EQUAL_LINES * (hasVersions(this.#plan.drawing) ? 2 : 1)
      if (times.length === max) {
        this.problem(`logged more than ${max} times in a second: ${message}`)
      }
    }
    return { debug() {}, info() {}, warn: count('warn'), error: count('error') }
  }

  /** A lost lease ends a replica, and so does a start that the weather prevents. */
  #ended(error: unknown): void {
    this.#note(`a replica ended: ${error}`)
    const isStormy = this.#stage.clock.monotonic() < this.#calmMs + LAST_ANSWER_MS
    if (error instanceof LeadershipLost || (isStormy && isOfServer(error))) return
    // The grace period of a suspended process goes on, and a slow network takes some of it.
    const isSlowed = this.#plan.deeds.some(({ deed }) => deed === 'suspend' || deed === 'slow')
    const all: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
    if (isSlowed && all.every((each) => each instanceof Error && each.name === 'StopTimeout')) return
    this.problem(`a replica ended: ${error}`)
  }

  problem(text: string): void {
    this.#note(`PROBLEM ${text}`)
    if (!this.problems.includes(text)) this.problems.push(text)
  }

  #note(text: string): void {
    this.history.push(`${((this.#stage?.clock.monotonic() ?? 0) / 1000).toFixed(1).padStart(7)} s  ${text}`)
  }
}

function isOfServer(error: unknown): boolean {
  // A garbled answer is a SyntaxError.
  return error instanceof NetworkError || error instanceof ApiError || error instanceof SyntaxError ||
    // A start without its first lists ends after two minutes.
    (error instanceof Error && (error.message.startsWith('Cannot sync the cache') || isOfServer(error.cause)))
}

/** Returns a smaller plan that fails, too: without deeds and options that the failure does not need. */
export async function shrunk(plan: Plan): Promise<Plan> {
  const failures = async (candidate: Plan): Promise<readonly string[]> => {
    const { problems } = await runPlan(candidate)
    return problems.map((each) => each.replace(/\d+|\b[ab]\/[xy]\b/g, '…'))
  }
  // One of the same failures: another is another bug.
  const first = await failures(plan)
  const fails = async (candidate: Plan): Promise<boolean> =>
    (await failures(candidate)).some((each) => first.includes(each))
  let best = plan
  const attempt = async (candidate: Plan): Promise<boolean> => {
    if (!await fails(candidate)) return false
    best = candidate
    return true
  }
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false
    if (best.earlier && await attempt({ ...best, earlier: undefined })) isSmaller = true
    if (best.replicas > 1 && await attempt({ ...best, replicas: best.replicas - 1 })) isSmaller = true
    for (let size = best.deeds.length; size > 0; size >>= 1) {
      for (let at = 0; at + size <= best.deeds.length;) {
        if (await attempt({ ...best, deeds: best.deeds.toSpliced(at, size) })) isSmaller = true
        else at += size
      }
    }
    for (const drawing of simplerDrawings(best.drawing)) {
      if (drawing.election !== best.drawing.election && best.replicas > 1) continue
      const earlier = best.earlier && releasedBefore(drawing, best.earlier)
      if (await attempt({ ...best, drawing, earlier })) {
        isSmaller = true
        break
      }
    }
  }
  return best
}

/** Returns the rows of a drawing that are not the simplest ones. */
export function drawingText(drawing: Drawing): string {
  const rows = Object.entries(drawing).filter(([name, value]) => OPTIONS[name as keyof Drawing].values[0] !== value)
  return rows.map(([name, value]) => `${name}: ${value}`).join(', ') || 'all as by default'
}
