/** Handles GET with `watch`: sends the initial state if requested, then each change. */
import type { HttpResponse } from '../../core/transport.ts'
import { type Backend, fromStored } from '../context/context.ts'
import { selectedName } from '../model/selectors.ts'
import type { ApiObject, JsonObject } from '../model/json.ts'
import { apiVersionOf, type Kind } from '../model/kinds.ts'
import { warningHeaders } from '../wire/respond.ts'
import { type Call, flag, type ResourceRoute } from '../model/routes.ts'
import { type Cause, fault, invalid, StatusError } from '../model/status.ts'
import type { Change } from '../storage/store.ts'
import { OrderedWork } from '../webhooks/ordered_work.ts'
import { SharedEvents, type WatchEvent } from './shared_events.ts'
import { WatchBody } from './watch_body.ts'
import { intParam, prefixOf, selectorOf, tooLargeVersion, watchVersion } from './list.ts'

/** Renders an object: in full, as a table, or as metadata only. */
export type Rendering = (object: ApiObject, isFirst: boolean) => string

const encoder = new TextEncoder()

const BOOKMARK_EVERY_MS = 60_000
/** Minimum timeout without `timeoutSeconds`: the real server ends such a watch after 30 to 60 minutes. */
const MIN_TIMEOUT_MS = 30 * 60_000

/** The open watches, so that the server can end them, and the lines that they share. */
export class Watches {
  readonly #open = new Set<WatchBody>()
  readonly shared: SharedEvents = new SharedEvents()

  add(body: WatchBody): void {
    this.#open.add(body)
  }

  delete(body: WatchBody): void {
    this.#open.delete(body)
  }

  get size(): number {
    return this.#open.size
  }

  /** Ends all watches: their readers see the end of the stream, as when a real server restarts. */
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
  const scope = scopeOf(kind, route, call)
  const cleanups: (() => void)[] = []
  const body = new WatchBody(() => {
    for (const each of cleanups.splice(0)) each()
    watches.delete(body)
  })
  /** The definition of a custom kind may have changed since the watch started. */
  const currentKind = (): Kind => backend.kinds.find(kind.group, kind.version, kind.plural) ?? kind
  let isFirst = true
  const { shared } = watches
  const version = shared.numberOf(kind)
  const [selection, form] = [selectionOf(version, route, call), formOf(version, call)]
  const lineOf = (type: string, object: ApiObject, first: boolean): string =>
    `{"type":"${type}","object":${render(object, first)}}\n`
  const sendBookmark = (annotations?: JsonObject): void => {
    const metadata = { resourceVersion: String(backend.store.revision), ...(annotations && { annotations }) }
    const object = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata } as ApiObject
    body.push(encoder.encode(lineOf('BOOKMARK', object, next())))
  }
  const find = (change: Change): WatchEvent | undefined =>
    eventFor(change, (object) => scope.isNamed(object) && matches(object))
  const isInScope = ({ revision, key }: Change): boolean => revision > plan.after && key.startsWith(scope.prefix)
  const next = (): boolean => {
    const first = isFirst
    isFirst = false
    return first
  }
  /** Sends a change in a session of this watch, and not in that of the request that has written. */
  const sendOwn = (change: Change): void => {
    if (!isInScope(change)) return
    const event = backend.webhooks.once(`event ${change.revision}`, () => find(change))
    if (!event) return
    const object = fromStored(currentKind(), event.object)
    body.push(encoder.encode(lineOf(event.type, object, next())))
  }
  const sendShared = (change: Change): void => {
    if (!isInScope(change)) return
    const event = shared.event(change, selection, find)
    if (!event) return
    const first = next()
    body.push(
      shared.line(
        change,
        event,
        first ? `${form} first` : form,
        () => lineOf(event.type, fromStored(currentKind(), event.object), first),
      ),
    )
  }

  try {
    if (plan.error) throw plan.error
    const changes = plan.from === 'version' ? backend.store.since(kind.storage.id, plan.after) : []
    kind.rules.prepare?.(
      plan.from === 'state'
        ? backend.store.list(kind.storage.id, scope.prefix)
        : changes.flatMap(({ object, before }) => before ? [object, before] : [object]),
    )
    if (plan.from === 'state') {
      for (const object of backend.store.list(kind.storage.id, scope.prefix)) {
        if (!scope.isNamed(object) || !matches(object)) continue
        const [shown, first] = [fromStored(kind, object), next()]
        // Rendered when it is read: until then, it takes no memory.
        body.pushInitial(() => encoder.encode(lineOf('ADDED', shown, first)))
      }
      if (plan.endBookmark) sendBookmark({ 'k8s.io/initial-events-end': 'true' })
    }
    for (const change of changes) sendOwn(change)
  } catch (error) {
    // A watch from an expired version returns 200 with an ERROR event: clients expect this event.
    if (!(error instanceof StatusError)) throw error
    body.push(encoder.encode(`{"type":"ERROR","object":${JSON.stringify(error.body())}}\n`))
    body.end()
    return answer(body, call)
  }
  watches.add(body)
  // Events that wait for a conversion stay in order, also with bookmarks.
  const converting = new OrderedWork(backend.webhooks, () => body.isOpen)
  cleanups.push(backend.store.listen(kind.storage.id, (change) => {
    if (converting.isBusy || currentKind().rules.convert) converting.add(() => sendOwn(change))
    else sendShared(change)
  }))
  cleanups.push(backend.clock.after(plan.timeoutMs, () => body.end()))
  if (plan.bookmarks) {
    cleanups.push(repeat(backend, () => {
      if (!converting.isBusy) sendBookmark()
    }))
  }
  const { signal } = call
  if (signal) {
    const onAbort = (): void => body.fail(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    cleanups.push(() => signal.removeEventListener('abort', onAbort))
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
  /** Sent as an ERROR event, after which the watch ends. */
  readonly error?: StatusError
  /** What the watch sends first: the current state, the changes since a version, or nothing. */
  readonly from: 'state' | 'version' | 'now'
  /** Changes up to this revision are not sent. */
  readonly after: number
  readonly endBookmark: boolean
  readonly bookmarks: boolean
  readonly timeoutMs: number
}

function planOf(backend: Backend, call: Call): Plan {
  const { query } = call
  const version = query.get('resourceVersion') ?? ''
  const bookmarks = flag(query, 'allowWatchBookmarks')
  const seconds = intParam(query, 'timeoutSeconds')
  intParam(query, 'limit')
  const timeoutMs = seconds > 0 ? seconds * 1000 : MIN_TIMEOUT_MS * (1 + backend.random())
  const current = backend.store.revision
  const initial = query.has('sendInitialEvents') ? flag(query, 'sendInitialEvents') : undefined
  checkOptions(query, initial)
  // A watch without a version has initial events by default, and so their bookmark.
  const isLegacy = initial === undefined && (version === '' || version === '0')
  const base = { bookmarks, timeoutMs, endBookmark: (initial === true || isLegacy) && bookmarks }
  const revision = version === '' || version === '0' ? 0 : watchVersion(version)
  if (initial === true) {
    const error = revision > current ? tooLargeVersion(revision, current) : undefined
    return { ...base, from: 'state', after: current, ...(error && { error }) }
  }
  if (revision > 0) return { ...base, from: 'version', after: revision }
  return { ...base, from: initial === false ? 'now' : 'state', after: current }
}

/** Throws 422 for invalid combinations of options. */
function checkOptions(query: URLSearchParams, initial: boolean | undefined): void {
  const match = query.get('resourceVersionMatch') ?? ''
  const faults: Cause[] = []
  const forbid = (detail: string): void => void faults.push(fault.forbidden('resourceVersionMatch', detail))
  if (initial !== undefined && match !== 'NotOlderThan') {
    forbid('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
  }
  if (match && initial === undefined) {
    forbid('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
  }
  if (match && match !== 'NotOlderThan') {
    faults.push(fault.notSupported('resourceVersionMatch', match, ['NotOlderThan']))
  }
  if (match && query.get('continue')) forbid('resourceVersionMatch is forbidden when continue is provided')
  if (faults.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', faults)
}

/** Returns the key prefix and the name filter of a watch. */
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

/** Returns what decides which objects a watch selects. Without selectors, all watches of a storage select the same. */
function selectionOf(version: number, { name }: ResourceRoute, { query }: Call): string {
  const [labels, fields] = [query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '']
  return name || labels || fields ? JSON.stringify([version, name, labels, fields]) : ''
}

/** The parameters that do not change how an event looks. */
const NOT_FORM: readonly string[] = [
  'allowWatchBookmarks',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
]

/** Returns what decides how the events of a watch look: the kind, the accepted media types and parameters. */
function formOf(version: number, { headers, query }: Call): string {
  const parameters = [...query].filter(([name]) => !NOT_FORM.includes(name))
  return JSON.stringify([version, headers['accept'] ?? '', ...parameters])
}

/** Converts a change to a watch event: objects that enter the selector are ADDED, objects that leave are DELETED. */
function eventFor(
  change: Change,
  matches: (object: ApiObject) => boolean,
): WatchEvent | undefined {
  const matchedBefore = change.before !== undefined && matches(change.before)
  if (change.type === 'DELETED') return matchedBefore ? { type: 'DELETED', object: change.object } : undefined
  const matchesNow = matches(change.object)
  if (matchesNow) return { type: matchedBefore ? 'MODIFIED' : 'ADDED', object: change.object }
  if (!matchedBefore) return undefined
  // Send the last matching state, at the revision of the change.
  const { resourceVersion } = change.object.metadata
  return {
    type: 'DELETED',
    object: { ...change.before!, metadata: { ...change.before!.metadata, resourceVersion: resourceVersion! } },
  }
}
