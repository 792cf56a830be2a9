/**
 * The state of the page of `--ui`: objects, runs, failures and queues in bounded memory, and what has changed since it
 * was last read. Has no network and no timers.
 */
import { BoundedMap } from '../../async/bounded_map.ts'
import type { SavedStore, StoredChange } from 'kubeloop/apiserver'
import { formatKey, keyOf, type KubeObject } from '../../core/objects.ts'
import { splitApiVersion } from '../../core/owners.ts'
import { changeSummary } from '../../controller/change_summary.ts'
import { type Difference, differenceOf, shownObject } from './loop_difference.ts'
import type { LoopBatch, LoopCommand, LoopError, LoopQueue, LoopRun, Paused, SessionRequest } from './session.ts'

const [MAX_OBJECTS, MAX_RUNS, MAX_CHANGES, MAX_FAILURES] = [20_000, 2000, 2000, 200]
/** Runs that a page gets at first, and keys that wait for a time. */
const [FIRST_RUNS, MAX_WAITING] = [500, 200]
/** Changes kept of an object to find the one that caused a run: others may follow before the run is reported. */
const MAX_RECENT = 8
/** The clocks of both processes are read at other moments than those of the events. */
const TOLERANCE_MS = 3
/** Kinds that are numerous, and neither written by an operator nor owners. */
const LEFT_OUT = new Set(['events', 'events.events.k8s.io', 'leases.coordination.k8s.io'])

type Stored = StoredChange['object']
type Waiting = { controller: string; key: string; dueMs: number; attempt?: number }

/** Equal failures of a key or a task. `isOver`: it has worked since. */
interface Failure {
  readonly id: string
  readonly title: string
  readonly error: LoopError
  readonly count: number
  readonly run?: number
  readonly isOver: boolean
}

interface Change extends Pick<StoredChange, 'type' | 'object' | 'before'> {
  readonly id: number
  readonly atMs: number
  readonly manager: string | undefined
  run: number | undefined
}

export class LoopModel {
  readonly #now: () => number
  readonly #objects = new BoundedMap<string, { storage: string; cluster: string | undefined; object: Stored }>(
    MAX_OBJECTS,
  )
  /** The ids of objects that a page may have. */
  readonly #seen = new Set<string>()
  readonly #changes = new BoundedMap<number, Change>(MAX_CHANGES)
  /** The ids of the last changes of each object, by cluster, kind and key. */
  readonly #recent = new BoundedMap<string, readonly number[]>(MAX_OBJECTS)
  readonly #runs = new BoundedMap<number, object>(MAX_RUNS)
  readonly #failures = new BoundedMap<string, Failure>(MAX_FAILURES)
  /** The id of the last failure of each key and task that fails. */
  readonly #failing = new BoundedMap<string, string>(MAX_OBJECTS)
  readonly #waiting = new BoundedMap<string, Waiting>(MAX_RUNS)
  /** The storages of the operator's kinds, with their cluster: `west/foos.example.com`. */
  #kinds = new Set<string>()
  #operator: string | undefined
  #queues: readonly LoopQueue[] = []
  #all = false
  readonly #paused = new Set<string>()
  #dropped = 0
  #lastId = 0
  /** What has changed since the last {@link take}. */
  readonly #dirty = { objects: new Set<string>(), runs: [] as object[], failures: new Set<string>() }
  #hasNews = false
  /** Whether the queues or the waiting keys are among it. */
  #hasQueues = false

  constructor(now: () => number) {
    this.#now = now
  }

  get paused(): Paused {
    return { all: this.#all, keys: [...this.#paused] }
  }

  /** Notes an operator's start, which has forgotten its queues. */
  started({ operator, kinds, clusters }: Pick<SessionRequest, 'operator' | 'kinds' | 'clusters'>): void {
    this.#operator = operator
    this.#kinds = new Set([{ name: '', kinds }, ...clusters].flatMap((cluster) =>
      cluster.kinds.map((id) => {
        const [plural, , group] = id.split('/').reverse()
        return `${cluster.name}/${plural}${group ? `.${group}` : ''}`
      })
    ))
    this.#queues = []
    this.#waiting.clear()
    for (const id of this.#objects.keys()) this.#dirty.objects.add(id)
    this.#hasNews = this.#hasQueues = true
  }

  changed({ type, storage, object, before }: StoredChange, cluster?: string): void {
    if (LEFT_OUT.has(storage)) return
    const id = ++this.#lastId
    const key = idOf(cluster, object.kind, formatKey(keyOf(object)))
    const manager = managerOf(object, before)
    this.#changes.set(id, { id, atMs: this.#now(), type, object, before, manager, run: undefined })
    this.#recent.set(key, [...(this.#recent.get(key) ?? []).slice(1 - MAX_RECENT), id])
    this.#keep(storage, object, cluster, type === 'DELETED')
  }

  /** Notes the objects that are stored at the start. */
  keepAll(objects: SavedStore['objects'], cluster?: string): void {
    for (const [storage, each] of Object.entries(objects)) {
      for (const object of each) this.#keep(storage, object, cluster, false)
    }
  }

  #keep(storage: string, object: Stored, cluster: string | undefined, isGone: boolean): void {
    const uid = object.metadata.uid ?? ''
    if (LEFT_OUT.has(storage)) return
    if (isGone) this.#objects.delete(uid)
    else this.#objects.set(uid, { storage, cluster, object })
    // Without a page nothing takes them, and the next one gets all.
    if (this.#dirty.objects.size >= MAX_OBJECTS) this.#dirty.objects.clear()
    this.#dirty.objects.add(uid)
    this.#hasNews = true
  }

  /** Notes what the operator has done. */
  batch({ runs, queues, tasks, dropped }: LoopBatch): void {
    for (const run of runs) this.#noteRun(run)
    for (const { name, error } of tasks) this.#noteResult(`task ${name}`, `task ${name}`, error)
    if (queues) this.#queues = queues
    this.#dropped += dropped
    this.#hasNews = this.#hasQueues = true
  }

  command({ action, controller, key }: LoopCommand): void {
    const pauses = action === 'pause'
    if (!pauses && action !== 'resume') return
    if (controller === undefined) this.#all = pauses
    else this.#paused[pauses ? 'add' : 'delete'](`${controller} ${key}`)
    this.#hasNews = true
  }

  hasController(name: string): boolean {
    return this.#queues.some(({ controller }) => controller === name)
  }

  all(): object {
    const objects = [...this.#objects.keys()].flatMap((id) => this.#shown(id) ?? [])
    const runs = [...this.#runs.values()].slice(-FIRST_RUNS)
    return { ...this.#common(true), objects, gone: [], runs, failures: [...this.#failures.values()] }
  }

  /** Returns what has changed since the last call; undefined for nothing. */
  take(): object | undefined {
    if (!this.#hasNews) return undefined
    const { objects, runs, failures } = this.#dirty
    const shown = [...objects].map((id) => [id, this.#shown(id)] as const)
    const isGone = (id: string, each: object | undefined): boolean => !each && this.#seen.delete(id)
    const message = {
      ...this.#common(false),
      objects: shown.flatMap(([, each]) => each ?? []),
      gone: shown.flatMap(([id, each]) => isGone(id, each) ? [id] : []),
      runs: runs.splice(0),
      failures: [...failures].flatMap((id) => this.#failures.get(id) ?? []),
    }
    objects.clear()
    failures.clear()
    this.#hasNews = this.#hasQueues = false
    return message
  }

  object(id: string): object | undefined {
    const entry = this.#objects.get(id)
    return entry && shownObject(entry.object)
  }

  difference(id: number): { readonly title: string; readonly fields: readonly Difference[] } | undefined {
    const change = this.#changes.get(id)
    if (!change) return undefined
    const { type, object, before, manager } = change
    const fields = type === 'DELETED' ? differenceOf(before, undefined) : differenceOf(before, object)
    const verb = type === 'ADDED' ? 'created' : type === 'DELETED' ? 'deleted' : 'changed'
    return { title: `${object.kind} ${formatKey(keyOf(object))} ${verb}${manager ? ` by ${manager}` : ''}`, fields }
  }

  #common(isFirst: boolean): object {
    const waiting = (): Waiting[] => [...this.#waiting.values()].sort((a, b) => a.dueMs - b.dueMs).slice(0, MAX_WAITING)
    return {
      ...{ isFirst, nowMs: this.#now(), paused: this.paused, dropped: this.#dropped, operator: this.#operator },
      ...((isFirst || this.#hasQueues) && { queues: this.#queues, waiting: waiting() }),
    }
  }

  #noteRun(report: LoopRun): void {
    const { controller, kind, key, cluster, endedMs, durationMs, againMs, error, attempt } = report
    const id = ++this.#lastId
    const beganMs = endedMs - durationMs
    const writes = report.writes.filter(({ result }) => result !== 'unchanged').map((write) => {
      const change = this.#recentOf(write.cluster, write.kind.split('/')[0]!, write.key)
        .find(({ run, type, atMs, object }) =>
          run === undefined && splitApiVersion(object.apiVersion).group === write.group &&
          atMs >= beganMs - TOLERANCE_MS && atMs <= endedMs + TOLERANCE_MS &&
          (write.result === 'created') === (type === 'ADDED')
        )
      if (change) change.run = id
      return { ...write, change: change?.id }
    })
    const causes = report.causes.map((text) => this.#causeOf(text, report, beganMs))
    const run = { ...report, id, causes, writes }
    this.#runs.set(id, run)
    this.#dirty.runs.push(run)
    if (this.#dirty.runs.length > MAX_RUNS) this.#dirty.runs.splice(0, MAX_RUNS / 2)
    const of = `${controller} ${key}`
    if (againMs === undefined) this.#waiting.delete(of)
    else this.#waiting.set(of, { controller, key, dueMs: endedMs + againMs, ...(error && { attempt }) })
    this.#noteResult(of, `${kind} ${key}${cluster ? ` in ${cluster}` : ''}`, error, id)
  }

  /** Finds the last change of the object that a cause names before the run began. */
  #causeOf(text: string, { kind, key, cluster }: LoopRun, beganMs: number): object {
    const [, otherKind, otherKey, otherCluster] = OTHER.exec(text) ?? []
    if (!otherKind && !isOwn(text)) return { text }
    const before = this.#recentOf(otherKind ? otherCluster : cluster, otherKind ?? kind, otherKey ?? key)
      .filter(({ atMs }) => atMs <= beganMs + TOLERANCE_MS)
    const what = otherKind ? text.slice(text.indexOf(': ') + 2) : text
    const change = before.findLast((each) => summaryOf(each) === what) ?? before.at(-1)
    if (!change) return { text }
    return { text, change: change.id, run: change.run, by: change.run === undefined ? change.manager : undefined }
  }

  #recentOf(cluster: string | undefined, kind: string, key: string): readonly Change[] {
    return (this.#recent.get(idOf(cluster, kind, key)) ?? []).flatMap((id) => this.#changes.get(id) ?? [])
  }

  #noteResult(of: string, title: string, error: LoopError | undefined, run?: number): void {
    const last = this.#failures.get(this.#failing.get(of) ?? '')
    const id = `${of}\n${error?.message}`
    const set = (failure: Failure): void => {
      this.#failures.set(failure.id, failure)
      this.#dirty.failures.add(failure.id)
    }
    if (last && last.id !== id) set({ ...last, isOver: true })
    if (!error) return void this.#failing.delete(of)
    this.#failing.set(of, id)
    set({ id, title, error, count: (last?.id === id ? last.count : 0) + 1, isOver: false, ...(run && { run }) })
  }

  /** Returns an object if it is of the operator's kinds, or has an owner that is shown. */
  #shown(id: string, depth = 0): object | undefined {
    const entry = this.#objects.get(id)
    if (!entry || depth > 10) return undefined
    const { object, cluster, storage } = entry
    const owner = object.metadata.ownerReferences?.map(({ uid }) => String(uid))
      .find((each) => this.#shown(each, depth + 1))
    if (owner === undefined && !this.#kinds.has(`${cluster ?? ''}/${storage}`)) return undefined
    this.#seen.add(id)
    return { id, kind: object.kind, key: formatKey(keyOf(object)), cluster, owner, state: stateOf(object) }
  }
}

/** A cause that names another object: `Deployment default/web in west: added`. */
const OTHER = /^([A-Z]\w*) (\S+?)(?: in (\S+))?: /

/** Whether a cause is a change of the key's own object. */
function isOwn(text: string): boolean {
  return /^(?:added|deleted|deletion began|\S+ (?:changed|.*→))/s.test(text)
}

function summaryOf({ type, object, before }: Change): string {
  if (type !== 'MODIFIED' || !before) return type.toLowerCase()
  const [now, old] = [object, before] as object[] as KubeObject[]
  return changeSummary({ kind: 'updated', object: now!, old: old! }, true)
}

function idOf(cluster: string | undefined, kind: string, key: string): string {
  return `${cluster ?? ''}|${kind}|${key}`
}

/** Returns the field manager of a write: equal entries of both versions are the same objects. */
function managerOf({ metadata }: Stored, before: StoredChange['before']): string | undefined {
  const known = new Set(before?.metadata.managedFields)
  return metadata.managedFields?.find((each) => !known.has(each))?.manager
}

function stateOf({ metadata, status }: Stored): string | undefined {
  if (metadata.deletionTimestamp) return 'deleting'
  const { conditions, phase, readyReplicas, replicas } = Object(status) as Record<string, unknown>
  const [ready] = (Array.isArray(conditions) ? conditions : []).filter(({ type }) => /^(Ready|Available)$/.test(type))
  if (typeof replicas === 'number') return `${Number(readyReplicas ?? 0)}/${replicas} ready`
  return ready ? `${ready.type}=${ready.status}` : typeof phase === 'string' ? phase : undefined
}
