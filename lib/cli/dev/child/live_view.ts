/**
 * One line a reconcile: cause, duration, outcome, what was written. Equal failures fold, and a run that our own write
 * of a status caused and that wrote nothing says nothing. Pure: it is given reports, and gives lines.
 */
import { messageOf } from '../../../core/errors.ts'
import { formatMs } from '../../../core/duration.ts'
import { clockTime } from '../../../observe/format_log.ts'
import { userFrames } from '../../../observe/stack.ts'
import { inCluster } from '../../../controller/change_summary.ts'
import { foldFailures } from '../../../controller/failures.ts'
import type { WriteRecord } from '../../../client/client.ts'
import type { ReconcileReport } from '../../../controller/controller.ts'

export interface LiveViewOptions {
  /** The line that shows a `file:line:column`: below a failure, where the user's code failed. */
  readonly placeLine: (place: string) => string
}

/** A start that is not the first. */
export interface Restart {
  readonly changed: string | undefined
  /** Absent when it is not known. */
  readonly downMs: number | undefined
  readonly elects: boolean
}

const INDENT = ' '.repeat(10)

/** How many causes a line names. */
const MAX_CAUSES = 3
/** How many keys without an object are known. */
const MAX_GONE = 10_000

export class LiveView {
  readonly #options: LiveViewOptions
  readonly #telling = foldFailures()
  /** A restart that is not told yet, and the keys that it found as they should be. */
  #restart: (Restart & { readonly keys: Set<string> }) | undefined
  /** Keys whose object was deleted, and not made again. */
  readonly #gone = new Set<string>()

  constructor(options: LiveViewOptions) {
    this.#options = options
  }

  /** From here on, first reconciles with nothing to write are counted and told as one line, by {@link settled}. */
  restarted(restart: Restart): void {
    this.#restart = { ...restart, keys: new Set() }
  }

  /** Whether a restart is still to be told. */
  get restarting(): boolean {
    return this.#restart !== undefined
  }

  /** The restart's line, if it was not told before. `converged` when every key had its turn. */
  settled(converged: boolean): string[] {
    const restart = this.#restart
    if (!restart) return []
    this.#restart = undefined
    const { keys, elects, changed, downMs } = restart
    const count = `${keys.size} ${keys.size === 1 ? 'key' : 'keys'}`
    const notes = [
      ...(elects ? [] : ['leader election is off in dev']),
      ...(converged
        ? [`this was also a crash test: ${count}, converged`]
        : keys.size > 0
        ? [`${count} unchanged so far`]
        : []),
    ]
    const what = changed ? `${changed} changed, restarted` : 'restarted'
    const time = downMs === undefined ? '' : ` in ${formatMs(downMs)}`
    return [`↻ ${what}${time}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`]
  }

  /** The lines for a person. */
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
    const told = this.#telling(idOf(report), report)
    const wasGone = this.#gone.has(idOf(report))
    const isGone = this.#noteGone(report)
    const failed = disposition.kind === 'retry' || disposition.kind === 'drop'
    const recovery = typeof told === 'object' ? told : undefined
    if (failed ? !told : !recovery && isEcho(report)) return []
    if (told === 'again') return [`${INDENT}… ${titleOf(report)} failed again  (${nextTry(report)})`]
    const head = `${clockTime(nowMs)}  ${titleOf(report)}`.padEnd(32)
    // Its dependents are deleted with it, and each of them has a key to queue.
    if (isGone && isQuiet(report)) return wasGone ? [] : [`${head}  deleted`]
    const cause = describeCauses(report).padEnd(18)
    const line = `${head}  ${cause} → reconcile #${report.count}  ${formatMs(report.durationMs).padStart(5)}  ${
      outcomeOf(report)
    }${recovery ? `, works again after ${recovery.failures} ${recovery.failures === 1 ? 'failure' : 'failures'}` : ''}`
    return failed ? [line, ...this.#where(disposition.error)] : [line]
  }

  /** Returns whether the object of a key is known to be gone. */
  #noteGone(report: ReconcileReport): boolean {
    const { causes } = report
    const [deleted, added] = [causes.lastIndexOf('deleted'), causes.lastIndexOf('added')]
    if (added > deleted) this.#gone.delete(idOf(report))
    else if (deleted >= 0) {
      if (this.#gone.size >= MAX_GONE) this.#gone.clear()
      this.#gone.add(idOf(report))
    }
    return this.#gone.has(idOf(report))
  }

  /** The user's own frame, with its line of source. */
  #where(error: unknown): string[] {
    const [place] = userFrames(error instanceof Error ? error.stack : undefined)
    return place ? [this.#options.placeLine(place)] : []
  }
}

/** The first causes, without the namespace that is that of the key. */
function describeCauses({ causes, key }: ReconcileReport): string {
  const [namespace] = splitKey(key)
  const named = causes.slice(0, MAX_CAUSES).map((cause) => namespace ? cause.replace(` ${namespace}/`, ' ') : cause)
  if (causes.length > MAX_CAUSES) named.push(`and ${causes.length - MAX_CAUSES} more`)
  return named.join(', ') || 'queued'
}

/** What was reconciled, and where, if that is not the operator's own cluster. */
function titleOf({ kind, key, cluster }: ReconcileReport): string {
  return `${kind} ${key}${inCluster(cluster)}`
}

/** The report as data, for what reads lines of JSON. */
export function reportFields(report: ReconcileReport): Record<string, unknown> {
  const { disposition, durationMs, ...rest } = report
  const error = disposition.kind === 'retry' || disposition.kind === 'drop' ? messageOf(disposition.error) : undefined
  return { ...rest, durationMs: Math.round(durationMs * 10) / 10, outcome: disposition.label, error }
}

function idOf({ controller, key }: ReconcileReport): string {
  return `${controller} ${key}`
}

/** A run that succeeded and wrote nothing. */
function isQuiet({ writes, disposition }: ReconcileReport): boolean {
  return (disposition.kind === 'forget' || disposition.kind === 'later') &&
    writes.every(({ result }) => result === 'unchanged')
}

/** A run that a status write of our own caused, and that found nothing to do. */
function isEcho(report: ReconcileReport): boolean {
  if (report.count === 1 || report.disposition.kind !== 'forget' || !isQuiet(report)) return false
  return report.causes.every((cause) =>
    cause.startsWith('status.') || cause === 'status changed' || cause === 'metadata changed'
  )
}

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

/** An object in the namespace of the key is named without it, and one of the operator's own cluster without that. */
function describeWrites({ writes, ...report }: ReconcileReport): string {
  const [namespaceOfKey] = splitKey(report.key)
  const done = writes.filter(({ result }) => result !== 'unchanged')
  if (done.length === 0) return 'nothing to write'
  return done.map(({ verb, kind, key, cluster, result }) => {
    const [namespace, name] = splitKey(key)
    const title = namespace === '' || namespace === namespaceOfKey ? `${kind}/${name}` : `${kind} ${key}`
    const isOwn = kind === report.kind && key === report.key && cluster === report.cluster
    return verb === 'status' && isOwn
      ? 'status'
      : `${PAST[verb]} ${title}${inCluster(cluster)}${verb === 'apply' ? ` (${result})` : ''}`
  }).join(', ')
}

/** The namespace, empty for a cluster-scoped object, and the name. */
function splitKey(key: string): [string, string] {
  const at = key.indexOf('/')
  return [key.slice(0, Math.max(at, 0)), key.slice(at + 1)]
}
