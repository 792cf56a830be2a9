/** GET with `watch`: the state, if it is asked for, then each change as it happens. */
import type { HttpResponse } from '../../core/transport.ts'
import { type Backend, present } from '../backend.ts'
import { selectedName } from '../selectors/field_selector.ts'
import { type ApiObject, type JsonObject } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import { warningHeaders } from '../http/respond.ts'
import { type Call, flag, type ResourceRoute } from '../http/routes.ts'
import { fault, invalid, StatusError } from '../http/status.ts'
import type { Change } from '../storage/store.ts'
import { WatchBody } from '../http/watch_body.ts'
import { parseVersion, prefixOf, selectorOf, tooLargeVersion } from './list.ts'

/** How an object is written: as itself, as a table, as its metadata. */
export type Rendering = (object: ApiObject, isFirst: boolean) => string

const BOOKMARK_EVERY_MS = 60_000
/** The real server ends a watch that says nothing of a timeout after 30 to 60 minutes. */
const MIN_TIMEOUT_MS = 30 * 60_000

/** The watches that are open, so that they end with the server. */
export class Watches {
  readonly #open = new Set<WatchBody>()

  add(body: WatchBody): void {
    this.#open.add(body)
  }

  delete(body: WatchBody): void {
    this.#open.delete(body)
  }

  get size(): number {
    return this.#open.size
  }

  /** Ends all: their readers see the end of the stream, as when a real server restarts. */
  endAll(): void {
    for (const body of [...this.#open]) body.end()
  }
}

export function watch(
  backend: Backend,
  watches: Watches,
  kind: Kind,
  route: ResourceRoute,
  call: Call,
  render: Rendering,
): HttpResponse {
  const plan = planOf(backend, call)
  const matches = selectorOf(kind, call.query)
  const within = scopeOf(kind, route, call)
  const undo: (() => void)[] = []
  const body = new WatchBody(() => {
    for (const each of undo.splice(0)) each()
    watches.delete(body)
  })
  let isFirst = true
  const lineOf = (type: string, object: ApiObject): string => {
    const line = `{"type":"${type}","object":${render(object, isFirst)}}\n`
    isFirst = false
    return line
  }
  const sendBookmark = (annotations?: JsonObject): void => {
    const metadata = {
      resourceVersion: String(backend.store.revision),
      creationTimestamp: null,
      ...(annotations && { annotations }),
    }
    body.push(
      `{"type":"BOOKMARK","object":${JSON.stringify({ kind: kind.kind, apiVersion: apiVersionOf(kind), metadata })}}\n`,
    )
  }
  const sendChange = (change: Change): void => {
    if (change.revision <= plan.after || !change.key.startsWith(within.prefix)) return
    const event = seenThrough(change, (object) => within.isNamed(object) && matches(object))
    // The definition of a custom kind may have changed since.
    const current = backend.kinds.find(kind.group, kind.version, kind.plural) ?? kind
    if (event) body.push(lineOf(event.type, present(current, event.object)))
  }

  try {
    const missed = plan.from === 'version' ? backend.store.since(kind.storage.id, plan.after) : []
    if (plan.from === 'state') {
      for (const object of backend.store.list(kind.storage.id, within.prefix)) {
        if (within.isNamed(object) && matches(object)) body.pushInitial(lineOf('ADDED', present(kind, object)))
      }
      if (plan.marksEnd) sendBookmark({ 'k8s.io/initial-events-end': 'true' })
    }
    missed.forEach(sendChange)
  } catch (error) {
    // A watch from a forgotten version begins, and says so: clients look for this event.
    if (!(error instanceof StatusError)) throw error
    body.push(`{"type":"ERROR","object":${JSON.stringify(error.body())}}\n`)
    body.end()
    return answer(body, call)
  }
  watches.add(body)
  undo.push(backend.store.listen(kind.storage.id, sendChange))
  undo.push(backend.clock.after(plan.timeoutMs, () => body.end()))
  if (plan.bookmarks) undo.push(repeat(backend, () => sendBookmark()))
  const { signal } = call
  if (signal) {
    const onAbort = (): void => body.fail(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    undo.push(() => signal.removeEventListener('abort', onAbort))
  }
  return answer(body, call)
}

function answer(body: WatchBody, call: Call): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json', ...warningHeaders(call.warnings) }, body }
}

function repeat(backend: Backend, fn: () => void): () => void {
  let cancel = backend.clock.after(BOOKMARK_EVERY_MS, next)
  function next(): void {
    cancel = backend.clock.after(BOOKMARK_EVERY_MS, next)
    fn()
  }
  return () => cancel()
}

interface Plan {
  /** What comes first: everything there is, what was missed since a version, or nothing. */
  readonly from: 'state' | 'version' | 'now'
  /** Changes up to this revision are not told. */
  readonly after: number
  readonly marksEnd: boolean
  readonly bookmarks: boolean
  readonly timeoutMs: number
}

function planOf(backend: Backend, call: Call): Plan {
  const { query } = call
  const version = query.get('resourceVersion') ?? ''
  const bookmarks = flag(query, 'allowWatchBookmarks')
  const seconds = Number(query.get('timeoutSeconds') ?? '0')
  const timeoutMs = seconds > 0 ? seconds * 1000 : MIN_TIMEOUT_MS * (1 + backend.random())
  const current = backend.store.revision
  const initial = query.has('sendInitialEvents') ? flag(query, 'sendInitialEvents') : undefined
  checkOptions(query, initial)
  const base = { bookmarks, timeoutMs, marksEnd: initial === true && bookmarks }
  const revision = version === '' || version === '0' ? 0 : parseVersion(version)
  if (initial === true) {
    if (revision > current) throw tooLargeVersion(revision, current)
    return { ...base, from: 'state', after: current }
  }
  if (revision > 0) return { ...base, from: 'version', after: revision }
  return { ...base, from: initial === false ? 'now' : 'state', after: current }
}

function checkOptions(query: URLSearchParams, initial: boolean | undefined): void {
  const match = query.get('resourceVersionMatch') ?? ''
  const refuse = (field: string, detail: string): StatusError =>
    invalid(
      { group: 'meta.k8s.io', kind: 'ListOptions' },
      '',
      [fault.forbidden(field, detail)],
    )
  if (initial === undefined) {
    if (match) {
      throw refuse(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      )
    }
    return
  }
  if (match !== 'NotOlderThan') {
    const faults = [
      fault.forbidden(
        'resourceVersionMatch',
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    ]
    if (match) faults.push(fault.notSupported('resourceVersionMatch', match, ['NotOlderThan']))
    throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', faults)
  }
}

/** Which objects a watch is about, apart from its selectors. */
function scopeOf(
  kind: Kind,
  route: ResourceRoute,
  call: Call,
): { prefix: string; isNamed: (object: ApiObject) => boolean } {
  const fields = call.query.get('fieldSelector')
  const name = route.name || (fields ? selectedName(fields) : undefined)
  const prefix = kind.namespaced ? prefixOf(route) : ''
  return { prefix, isNamed: (object) => !name || object.metadata.name === name }
}

/** A change as a watcher with a selector sees it: what enters is added, what leaves is deleted. */
function seenThrough(
  change: Change,
  matches: (object: ApiObject) => boolean,
): { type: string; object: ApiObject } | undefined {
  const wasThere = change.before !== undefined && matches(change.before)
  if (change.type === 'DELETED') return wasThere ? { type: 'DELETED', object: change.object } : undefined
  const isThere = matches(change.object)
  if (isThere) return { type: wasThere ? 'MODIFIED' : 'ADDED', object: change.object }
  if (!wasThere) return undefined
  // The last state that matched, at the revision at which it ceased to.
  const { resourceVersion } = change.object.metadata
  return {
    type: 'DELETED',
    object: { ...change.before!, metadata: { ...change.before!.metadata, resourceVersion: resourceVersion! } },
  }
}
