/** Handles GET with `watch`: sends the initial state if requested, then each change. */
import type { HttpResponse } from '../../core/transport.ts'
import { fromStored, type KindRequest } from '../context/context.ts'
import { type Clock, turnBudgetOf } from '../../async/clock.ts'
import { selectedName } from '../model/selectors.ts'
import type { ApiObject, JsonObject } from '../model/json.ts'
import { warningHeaders } from '../wire/respond.ts'
import { flag } from '../../core/requested_action.ts'
import { type Cause, fault, invalid, StatusError } from '../model/status.ts'
import type { Change } from '../storage/store.ts'
import { type Term, withTerm } from '../storage/terms.ts'
import { OrderedWork } from '../webhooks/ordered_work.ts'
import { SharedEvents, type WatchEvent } from './shared_events.ts'
import { WatchBody } from './watch_body.ts'
import {
  intParam,
  LIST_OPTIONS,
  namespaceTerm,
  nameTerm,
  prefixOf,
  readVersion,
  selectionOf,
  tooLargeVersion,
} from './list.ts'

/** Renders objects: in full, as a table, or as metadata only. */
export interface Rendering {
  next(object: ApiObject): string
  /** Renders that of the first event. Default: like the others. */
  first?(object: ApiObject): string
}

const encoder = new TextEncoder()

const BOOKMARK_EVERY_MS = 60_000
/** Minimum timeout without `timeoutSeconds`: the real server ends such a watch after 30 to 60 minutes. */
const MIN_TIMEOUT_MS = 30 * 60_000

/** The open watches, with the ids of their kinds in the store, and the lines that they share. */
export class Watches extends Map<WatchBody, string> {
  readonly shared: SharedEvents = new SharedEvents()

  /** Ends all watches, as the restart of a real server does; with `storage`, as a changed definition does, its own. */
  end(storage?: string): void {
    for (const [body, id] of [...this]) if (storage === undefined || id === storage) body.end()
  }
}

export function watch(request: KindRequest, watches: Watches, render: Rendering): HttpResponse {
  const events = new Events(request, watches, render)
  const { body, plan } = events
  try {
    if (plan.error) throw plan.error
    events.sendFirst()
    events.follow()
  } catch (error) {
    // A watch from an expired version returns 200 with an ERROR event: clients expect this event.
    if (!(error instanceof StatusError)) throw error
    body.push(encoder.encode(`{"type":"ERROR","object":${JSON.stringify(error.body())}}\n`))
    body.end()
  }
  const headers = { 'content-type': 'application/json', ...warningHeaders(request.call.warnings) }
  return { status: 200, headers, body }
}

class Events {
  readonly body: WatchBody
  readonly plan: Plan
  readonly #request: KindRequest
  readonly #watches: Watches
  readonly #scope: Scope
  readonly #render: Rendering
  #isFirst = true

  constructor(request: KindRequest, watches: Watches, render: Rendering) {
    const { context, kind } = request
    this.plan = planOf(request)
    this.#request = request
    this.#watches = watches
    this.#render = render
    this.#scope = scopeOf(request, watches.shared.numberOf(kind))
    this.body = new WatchBody(turnBudgetOf(context.clock), context.endlessWatches)
  }

  /** Sends the objects, or the changes since the version that the client has. */
  sendFirst(): void {
    const { context: { store }, kind: { storage: { id }, rules } } = this.#request
    const { prefix, term } = this.#scope
    const { after, endBookmark, from } = this.plan
    const changes = from === 'version' ? store.since(id, after) : []
    const all = from === 'state' ? store.list(id, prefix) : []
    const objects = term ? withTerm(all, term) : all
    rules.prepare?.(
      from === 'state' ? objects : changes.flatMap(({ object, before }) => before ? [object, before] : [object]),
    )
    const events = this.#initialEvents(objects, changes)
    if (rules.convert || this.#render.first) {
      // Conversions belong to this request. A first event has its own form, so it must be known whether there is one.
      const found = [...events].filter((event) => event !== undefined)
      this.body.startWith(this.#linesOf(found, found.length > 0 && this.#next()))
    } else this.body.startWith(this.#linesOf(events, false))
    if (from === 'state' && endBookmark) this.#sendBookmark({ 'k8s.io/initial-events-end': 'true' })
  }

  *#initialEvents(objects: readonly ApiObject[], changes: readonly Change[]): Generator<WatchEvent | undefined, void> {
    for (const object of objects) {
      yield this.#scope.isWatched(object) ? { type: 'ADDED', object: this.#shown(object) } : undefined
    }
    for (const change of changes) yield this.#ownEvent(change)
  }

  *#linesOf(events: Iterable<WatchEvent | undefined>, isFirst: boolean): Generator<string | undefined, void> {
    let first = isFirst
    for (const event of events) {
      yield event && this.#line(event.type, event.object, first)
      if (event) first = false
    }
  }

  /** Sends all later changes until the body ends. */
  follow(): void {
    const { body, plan } = this
    const { context: { clock, store, webhooks }, kind: { namespaced, storage: { id }, rules }, route, call } =
      this.#request
    const term = this.#scope.term ?? (namespaced && route.namespace ? namespaceTerm(route.namespace) : undefined)
    this.#watches.set(body, id)
    body.onEnd(() => this.#watches.delete(body))
    // Events that wait for a conversion stay in order, also with bookmarks.
    const converting = new OrderedWork(webhooks, () => body.isOpen)
    body.onEnd(store.listen(id, (change) => {
      if (rules.convert) converting.add(() => this.#sendOwn(change))
      else this.#sendShared(change)
    }, term))
    if (!body.endless) body.onEnd(clock.after(plan.timeoutMs, () => body.end()))
    if (plan.bookmarks && !body.endless) {
      body.onEnd(repeat(clock, () => {
        if (!converting.isBusy) this.#sendBookmark()
      }))
    }
    body.failOn(call.signal)
  }

  #isInScope({ revision, key }: Change): boolean {
    return revision > this.plan.after && key.startsWith(this.#scope.prefix)
  }

  readonly #find = (change: Change): WatchEvent | undefined => eventFor(change, this.#scope.isWatched)

  /** Sends a change in a session of this watch, and not in that of the request that has written. */
  #sendOwn(change: Change): void {
    const event = this.#ownEvent(change)
    if (event) this.body.push(encoder.encode(this.#line(event.type, event.object, this.#next())))
  }

  /** Returns the event of a change, in the version of this watch. */
  #ownEvent(change: Change): WatchEvent | undefined {
    if (!this.#isInScope(change)) return undefined
    const event = this.#request.context.webhooks.once(`event ${change.revision}`, () => this.#find(change))
    return event && { type: event.type, object: this.#shown(event.object) }
  }

  /** Returns an object in the version of this watch. */
  #shown(object: ApiObject): ApiObject {
    return fromStored(this.#request.kind, object)
  }

  #sendShared(change: Change): void {
    if (!this.#isInScope(change)) return
    const { shared } = this.#watches
    const { selection, form } = this.#scope
    const event = shared.event(change, selection, this.#find)
    if (!event) return
    const first = this.#next()
    const line = (): string => this.#line(event.type, this.#shown(event.object), first)
    this.body.push(shared.line(change, event, first && this.#render.first ? `${form} first` : form, line))
  }

  #sendBookmark(annotations?: JsonObject): void {
    const { context, kind: { apiVersion, kind } } = this.#request
    const metadata = { resourceVersion: String(context.store.revision), ...(annotations && { annotations }) }
    this.body.push(encoder.encode(this.#line('BOOKMARK', { apiVersion, kind, metadata } as ApiObject, this.#next())))
  }

  #line(type: string, object: ApiObject, isFirst: boolean): string {
    const { next, first = next } = this.#render
    return `{"type":"${type}","object":${(isFirst ? first : next)(object)}}\n`
  }

  /** Returns whether the next event is the first one. */
  #next(): boolean {
    const first = this.#isFirst
    this.#isFirst = false
    return first
  }
}

function repeat(clock: Clock, fn: () => void): () => void {
  let cancel = clock.after(BOOKMARK_EVERY_MS, next)
  function next(): void {
    cancel = clock.after(BOOKMARK_EVERY_MS, next)
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

function planOf({ context, call: { query } }: KindRequest): Plan {
  const version = query.get('resourceVersion') ?? ''
  const bookmarks = flag(query, 'allowWatchBookmarks')
  const seconds = intParam(query, 'timeoutSeconds')
  intParam(query, 'limit')
  const timeoutMs = seconds > 0 ? seconds * 1000 : MIN_TIMEOUT_MS * (1 + context.random())
  const current = context.store.revision
  const initial = query.has('sendInitialEvents') ? flag(query, 'sendInitialEvents') : undefined
  checkOptions(query, initial)
  // A watch without a version has initial events by default, and so their bookmark.
  const isLegacy = initial === undefined && (version === '' || version === '0')
  const base = { bookmarks, timeoutMs, endBookmark: (initial === true || isLegacy) && bookmarks }
  const revision = version === '' || version === '0' ? 0 : readVersion(version)
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
  if (faults.length > 0) throw invalid(LIST_OPTIONS, '', faults)
}

/** Which objects a watch selects, and how their events look. */
interface Scope {
  /** Of the keys. */
  readonly prefix: string
  readonly isWatched: (object: ApiObject) => boolean
  readonly term: Term | undefined
  /** Equal for watches that select the same objects of a change. Without selectors, these are all of a storage. */
  readonly selection: string
  /** Equal for watches whose events look the same: by the kind, the accepted media types and parameters. */
  readonly form: string
}

/** The parameters that do not change how an event looks. */
const NOT_FORM: readonly string[] =
  ('allowWatchBookmarks fieldSelector labelSelector limit resourceVersion resourceVersionMatch ' +
    'sendInitialEvents timeoutSeconds watch').split(' ')

/** `version`: a number for the version of the kind's definition. */
function scopeOf({ kind, route, call: { query, headers } }: KindRequest, version: number): Scope {
  const [labels, fields] = [query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '']
  const { matches, term } = selectionOf(kind, query)
  const name = route.name || (fields ? selectedName(fields) : undefined)
  const parameters = [...query].filter(([name]) => !NOT_FORM.includes(name))
  return {
    prefix: kind.namespaced ? prefixOf(route) : '',
    isWatched: (object) => (!name || object.metadata.name === name) && matches(object),
    term: name ? nameTerm(name) : term,
    selection: route.name || labels || fields ? JSON.stringify([version, labels, fields]) : '',
    form: JSON.stringify([version, headers['accept'] ?? '', ...parameters]),
  }
}

/** Converts a change to a watch event: objects that enter the selector are ADDED, objects that leave are DELETED. */
function eventFor(change: Change, matches: (object: ApiObject) => boolean): WatchEvent | undefined {
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
