/**
 * Formats reports of reconciles as lines: cause, duration, outcome and writes.
 *
 * Equal failures and equal successes are folded. A run that only writes of a status caused, and that wrote nothing, has
 * no line.
 */
import { BoundedMap } from '../../../async/bounded_map.ts'
import { firstOf, messageOf } from '../../../core/errors.ts'
import { formatMs } from '../../../core/duration.ts'
import { parseKey } from '../../../core/objects.ts'
import { clockTime, isNamedAfter } from '../../../observe/pretty_log.ts'
import { placeOfError } from '../../../observe/error_place.ts'
import { userFrames } from '../../../observe/stack.ts'
import { shortPath } from '../../../runtime/os/source_place.ts'
import { inCluster } from '../../../controller/change_summary.ts'
import { foldFailures } from '../../../controller/failures.ts'
import type { WriteRecord } from '../../../client/client.ts'
import type { ReconcileReport } from '../../../controller/controller.ts'

export interface Restart {
  readonly changed: string | undefined
  /** Undefined if unknown. */
  readonly downMs: number | undefined
  readonly elects: boolean
}

const INDENT = ' '.repeat(10)

const MAX_CAUSES = 3
/** Equal runs of a key that follow each other within this time fold. */
const FOLD_MS = 1000
/** The maximum number of keys whose last run is stored, and of keys of deleted objects. */
const MAX_KEYS = 10_000

export class LiveView {
  readonly #placeLine: (place: string) => string
  readonly #failures = foldFailures()
  /** A restart without its line yet, and the keys that needed no write. */
  #restart: (Restart & { readonly keys: Set<string> }) | undefined
  /** The last run of each key that succeeded: its outcome, and the equal ones in a row. */
  readonly #runs = new BoundedMap<string, { outcome: string; count: number; beganMs: number; endedMs: number }>(
    MAX_KEYS,
  )
  /** Keys whose object was deleted and not created again. */
  readonly #gone = new BoundedMap<string, true>(MAX_KEYS)

  /** `placeLine` returns the line that shows a `file:line:column`, printed below a failure of the user's code. */
  constructor(placeLine: (place: string) => string) {
    this.#placeLine = placeLine
  }

  /** Starts to count first reconciles that write nothing, for the one line that {@link settled} returns. */
  restarted(restart: Restart): void {
    this.#restart = { ...restart, keys: new Set() }
  }

  /** Whether the line of a restart is pending. */
  get restarting(): boolean {
    return this.#restart !== undefined
  }

  /** Returns the restart's line, once. `converged`: whether every key was reconciled. */
  settled(converged: boolean): string[] {
    const restart = this.#restart
    if (!restart) return []
    this.#restart = undefined
    const { keys, elects, changed, downMs } = restart
    const count = `${keys.size} ${keys.size === 1 ? 'key' : 'keys'}`
    const notes = elects ? [] : ['leader election is off in dev']
    if (converged) notes.push(`this was also a crash test: ${count}, converged`)
    else if (keys.size > 0) notes.push(`${count} unchanged so far`)
    const what = changed ? `${changed} changed, restarted` : 'restarted'
    const time = downMs === undefined ? '' : ` in ${formatMs(downMs)}`
    return [`↻ ${what}${time}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`]
  }

  lines(report: ReconcileReport, nowMs: number): string[] {
    if (this.#restart && report.count === 1 && isQuiet(report)) {
      this.#restart.keys.add(idOf(report))
      return []
    }
    const lines = this.#linesOf(report, nowMs)
    return lines.length > 0 ? [...this.settled(false), ...lines] : []
  }

  #linesOf(report: ReconcileReport, nowMs: number): string[] {
    const { disposition } = report
    const failure = this.#failures(idOf(report), report)
    const wasGone = this.#gone.has(idOf(report))
    const isGone = this.#noteGone(report)
    const failed = disposition.kind === 'retry' || disposition.kind === 'drop'
    const recovery = typeof failure === 'object' ? failure : undefined
    if (failed ? !failure : !recovery && isEcho(report)) return []
    if (failure === 'again') return [`${INDENT}… ${titleOf(report)} failed again  (${nextTry(report)})`]
    if (failed) this.#runs.delete(idOf(report))
    const equal = failed ? 1 : this.#countEqual(report, nowMs)
    if (equal === undefined) return []
    const head = `${clockTime(nowMs)}  ${titleOf(report)}`.padEnd(32)
    // Its dependents are deleted with it, and each of them queues the key again.
    if (isGone && isQuiet(report)) return wasGone ? [] : [`${head}  deleted`]
    const cause = describeCauses(report).padEnd(18)
    const line = `${head}  ${cause} → reconcile #${report.count}  ${formatMs(report.durationMs).padStart(5)}  ${
      outcomeOf(report)
    }${recovery ? `, works again after ${recovery.failures} ${recovery.failures === 1 ? 'failure' : 'failures'}` : ''}`
    if (failed) {
      const wrote = wroteNothing(report) ? [] : [`${INDENT}before that  ${describeWrites(report)}`]
      const place = placeOfError(disposition.error, userFrames)
      return [line, ...wrote, ...(place ? [this.#placeLine(place)] : [])]
    }
    if (equal < 4) return [line]
    return [`${line}  (${equal} equal runs in ${formatMs(nowMs - this.#runs.get(idOf(report))!.beganMs)})`]
  }

  /**
   * Returns the number of equal successes of a key that follow each other closely; undefined if they fold: after the
   * third, only those that have doubled it are shown.
   */
  #countEqual(report: ReconcileReport, nowMs: number): number | undefined {
    const outcome = `${report.disposition.kind} ${describeWrites(report)}`
    const last = this.#runs.get(idOf(report))
    const isEqual = last?.outcome === outcome && nowMs - last.endedMs < FOLD_MS
    const count = isEqual ? last.count + 1 : 1
    this.#runs.set(idOf(report), { outcome, count, beganMs: isEqual ? last.beganMs : nowMs, endedMs: nowMs })
    return count < 4 || (count & (count - 1)) === 0 ? count : undefined
  }

  /** Returns whether the object of a key is known to be gone. */
  #noteGone(report: ReconcileReport): boolean {
    const { causes } = report
    const [deleted, added] = [causes.lastIndexOf('deleted'), causes.lastIndexOf('added')]
    if (added > deleted) this.#gone.delete(idOf(report))
    else if (deleted >= 0) this.#gone.set(idOf(report), true)
    return this.#gone.has(idOf(report))
  }
}

/** Returns the first causes, without the namespace of the key. Writes of a status are named only if nothing else is. */
function describeCauses({ causes, key }: ReconcileReport): string {
  const { namespace } = parseKey(key)
  const others = causes.filter((cause) => !OF_STATUS.test(cause))
  const named = (others.length > 0 ? others : causes).map((cause) =>
    namespace ? cause.replace(` ${namespace}/`, ' ') : cause
  )
  return firstOf(named, MAX_CAUSES).join(', ') || 'queued'
}

/** Returns the kind and key, with the cluster if it is another one, and the controller if it has a name of its own. */
function titleOf({ controller, kind, key, cluster }: ReconcileReport): string {
  const own = isNamedAfter(kind, controller) ? '' : ` (${controller.split('@', 1)[0]})`
  return `${kind} ${key}${inCluster(cluster)}${own}`
}

export function reportFields(report: ReconcileReport): Record<string, unknown> {
  const { disposition, durationMs, ...rest } = report
  const fields = { ...rest, durationMs: Math.round(durationMs * 10) / 10, outcome: disposition.label }
  if (disposition.kind !== 'retry' && disposition.kind !== 'drop') return fields
  const place = placeOfError(disposition.error, userFrames)
  return { ...fields, error: messageOf(disposition.error), ...(place && { place: shortPath(place) }) }
}

function idOf({ controller, key }: ReconcileReport): string {
  return `${controller} ${key}`
}

function isQuiet(report: ReconcileReport): boolean {
  const { kind } = report.disposition
  return (kind === 'forget' || kind === 'later') && wroteNothing(report)
}

function wroteNothing({ writes }: Pick<ReconcileReport, 'writes'>): boolean {
  return writes.every(({ result }) => result === 'unchanged')
}

/** Returns whether a run wrote nothing, and only writes of a status caused it, of the object or one that it follows. */
function isEcho(report: ReconcileReport): boolean {
  if (report.count === 1 || !isQuiet(report)) return false
  return report.causes.length > 0 && report.causes.every((cause) => OF_STATUS.test(cause))
}

/** The cause is a write of a status, of the object or of one that it follows. */
const OF_STATUS = /^(?:[A-Z]\w* [^ :]+(?: in .+)?: )?(?:status\.|status changed$|metadata changed$)/

function outcomeOf(report: ReconcileReport): string {
  const { disposition, attempt, retryInMs } = report
  switch (disposition.kind) {
    case 'forget':
      return `ok       ${describeWrites(report)}`
    case 'later':
      return `ok       ${describeWrites(report)}, again in ${formatMs(disposition.ms)}`
    case 'requeue':
      return `ok       ${describeWrites(report)}, again in ${formatMs(retryInMs ?? 0)} (requeue ${attempt})`
    case 'retry':
    case 'drop':
      return `failed   ${messageOf(disposition.error)}  (${nextTry({ attempt, retryInMs })})`
  }
}

function nextTry({ attempt, retryInMs }: Pick<ReconcileReport, 'attempt' | 'retryInMs'>): string {
  return retryInMs === undefined ? 'not retried until it changes' : `retry ${attempt} in ${formatMs(retryInMs)}`
}

const PAST: Readonly<Record<WriteRecord['verb'], string>> = {
  create: 'created',
  update: 'updated',
  apply: 'applied',
  patch: 'patched',
  status: 'status',
  delete: 'deleted',
}

/** Names objects without the namespace of the key, and without the operator's own cluster. */
function describeWrites({ writes, ...report }: ReconcileReport): string {
  const { namespace: namespaceOfKey } = parseKey(report.key)
  const done = writes.filter(({ result }) => result !== 'unchanged')
  if (done.length === 0) return 'nothing to write'
  return done.map(({ verb, kind, key, cluster, result }) => {
    const { namespace, name } = parseKey(key)
    const title = !namespace || namespace === namespaceOfKey ? `${kind}/${name}` : `${kind} ${key}`
    const isOwn = kind === report.kind && key === report.key && cluster === report.cluster
    return verb === 'status' && isOwn
      ? 'status'
      : `${PAST[verb]} ${title}${inCluster(cluster)}${verb === 'apply' ? ` (${result})` : ''}`
  }).join(', ')
}
