/** Handles GET with `watch`: sends the initial state if requested, then each change. */
import type { HttpResponse } from '../../core/transport.ts'
import { type Context, fromStored } from '../context/context.ts'
import { turnBudgetOf } from '../../async/clock.ts'
import { selectedName } from '../model/selectors.ts'
import type { ApiObject, JsonObject } from '../model/json.ts'
import { type Kind } from '../model/kinds.ts'
import { warningHeaders } from '../wire/respond.ts'
import { flag } from '../../core/requested_action.ts'
import { type Call, type ResourceRoute } from '../model/routes.ts'
import { type Cause, fault, invalid, StatusError } from '../model/status.ts'
import type { Change } from '../storage/store.ts'
import { type Term, withTerm } from '../storage/terms.ts'
import { OrderedWork } from '../webhooks/ordered_work.ts'
import { SharedEvents, type WatchEvent } from './shared_events.ts'
import { WatchBody } from './watch_body.ts'
import { intParam, prefixOf, tooLargeVersion, watchVersion } from './list.ts'
import { nameTerm, type Selection, selectionOf } from './selection.ts'

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

/** The open watches, so that the server can end them, and the lines that they share. */
export class Watches {
  /** With the ids of the kinds in the store. */
  readonly #open = new Map<WatchBody, string>()
  readonly shared: SharedEvents = new SharedEvents()

  add(body: WatchBody, storage: string): void {
    this.#open.set(body, storage)
  }

  delete(body: WatchBody): void {
    this.#open.delete(body)
  }

  get size(): number {
    return this.#open.size
  }

  /** Ends all watches: their readers see the end of the stream, as when a real server restarts. */
  endAll(): void {
    for (const body of [...this.#open.keys()]) body.end()
  }

  /** Ends the watches of a kind, as when its definition changes. */
  endOf(storage: string): void {
    for (const [body, id] of [...this.#open]) if (id === storage) body.end()
  }
}

export function watch(
  context: Context,
  watches: Watches,
  kind: Kind,
  route: ResourceRoute,
  call: Call,
  render: Rendering,
): HttpResponse {
  const events = new Events(context, watches, kind, route, call, render)
  const { body, plan } = events
  try {
    if (plan.error) throw plan.error
    events.sendFirst()
  } catch (error) {
    // A watch from an expired version returns 200 with an ERROR event: clients expect this event.
    if (!(error instanceof StatusError)) throw error
    body.push(encoder.encode(`{"type":"ERROR","object":${JSON.stringify(error.body())}}\n`))
    body.end()
    return answer(body, call)
  }
  events.follow(call.signal)
  return answer(body, call)
}

/** The events of one watch. */
class Events {
  readonly body: WatchBody
  readonly plan: ReturnType<typeof planOf>
  readonly #context: Context
  readonly #watches: Watches
  readonly #kind: Kind
  readonly #matches: Selection['matches']
  readonly #term: Term | undefined
  readonly #scope: ReturnType<typeof scopeOf>
  readonly #render: Rendering
  /** What the shared texts of events depend on. */
  readonly #selection: string
  readonly #form: string
  readonly #cleanups: (() => void)[] = []
  #isFirst = true

  constructor(
    context: Context,
    watches: Watches,
    kind: Kind,
    route: ResourceRoute,
    call: Call,
    render: Rendering,
  ) {
    this.plan = planOf(context, call)
    this.#context = context
    this.#watches = watches
    this.#kind = kind
    const { matches, term } = selectionOf(kind, call.query)
    this.#matches = matches
    this.#scope = scopeOf(kind, route, call)
    this.#term = this.#scope.term ?? term
    this.#render = render
    const version = watches.shared.numberOf(kind)
    this.#selection = sharedSelection(version, route, call)
    this.#form = formOf(version, call)
    this.body = new WatchBody(
      () => {
        for (const each of this.#cleanups.splice(0)) each()
        watches.delete(this.body)
      },
      turnBudgetOf(context.clock),
      context.endlessWatches,
    )
  }

  /** Sends the objects, or the changes since the version that the client has. */
  sendFirst(): void {
    const { store } = this.#context
    const { storage: { id }, rules } = this.#kind
    const term = this.#term
    const { after, endBookmark, from } = this.plan
    const changes = from === 'version' ? store.since(id, after) : []
    const all = from === 'state' ? store.list(id, this.#scope.prefix) : []
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
      yield this.#isWatched(object) ? { type: 'ADDED', object: fromStored(this.#kind, object) } : undefined
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
  follow(signal: AbortSignal | undefined): void {
    const { body, plan } = this
    const { clock, store, webhooks } = this.#context
    const cleanups = this.#cleanups
    this.#watches.add(body, this.#kind.storage.id)
    // Events that wait for a conversion stay in order, also with bookmarks.
    const converting = new OrderedWork(webhooks, () => body.isOpen)
    cleanups.push(store.listen(this.#kind.storage.id, (change) => {
      if (this.#kind.rules.convert) converting.add(() => this.#sendOwn(change))
      else this.#sendShared(change)
    }, this.#term))
    if (!body.endless) cleanups.push(clock.after(plan.timeoutMs, () => body.end()))
    if (plan.bookmarks && !body.endless) {
      cleanups.push(repeat(this.#context, () => {
        if (!converting.isBusy) this.#sendBookmark()
      }))
    }
    if (!signal) return
    const onAbort = (): void => body.fail(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    cleanups.push(() => signal.removeEventListener('abort', onAbort))
  }

  #isWatched(object: ApiObject): boolean {
    return this.#scope.isNamed(object) && this.#matches(object)
  }

  #isInScope({ revision, key }: Change): boolean {
    return revision > this.plan.after && key.startsWith(this.#scope.prefix)
  }

  readonly #find = (change: Change): WatchEvent | undefined => eventFor(change, (object) => this.#isWatched(object))

  /** Sends a change in a session of this watch, and not in that of the request that has written. */
  #sendOwn(change: Change): void {
    const event = this.#ownEvent(change)
    if (event) this.body.push(encoder.encode(this.#line(event.type, event.object, this.#next())))
  }

  /** Returns the event of a change, in the version of this watch. */
  #ownEvent(change: Change): WatchEvent | undefined {
    if (!this.#isInScope(change)) return undefined
    const event = this.#context.webhooks.once(`event ${change.revision}`, () => this.#find(change))
    return event && { type: event.type, object: fromStored(this.#kind, event.object) }
  }

  #sendShared(change: Change): void {
    if (!this.#isInScope(change)) return
    const { shared } = this.#watches
    const event = shared.event(change, this.#selection, this.#find)
    if (!event) return
    const first = this.#next()
    const form = first && this.#render.first ? `${this.#form} first` : this.#form
    const line = (): string => this.#line(event.type, fromStored(this.#kind, event.object), first)
    this.body.push(shared.line(change, event, form, line))
  }

  #sendBookmark(annotations?: JsonObject): void {
    const metadata = { resourceVersion: String(this.#context.store.revision), ...(annotations && { annotations }) }
    const object = { apiVersion: this.#kind.apiVersion, kind: this.#kind.kind, metadata } as ApiObject
    this.body.push(encoder.encode(this.#line('BOOKMARK', object, this.#next())))
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

function answer(body: WatchBody, call: Call): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json', ...warningHeaders(call.warnings) }, body }
}

function repeat(context: Context, fn: () => void): () => void {
  let cancel = context.clock.after(BOOKMARK_EVERY_MS, next)
  function next(): void {
    cancel = context.clock.after(BOOKMARK_EVERY_MS, next)
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

function planOf(context: Context, call: Call): Plan {
  const { query } = call
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

/** Returns the key prefix and the name filter of a watch, and what finds its objects. */
function scopeOf(
  kind: Kind,
  route: ResourceRoute,
  call: Call,
): { prefix: string; isNamed: (object: ApiObject) => boolean; term: Term | undefined } {
  const fields = call.query.get('fieldSelector')
  const name = route.name || (fields ? selectedName(fields) : undefined)
  const prefix = kind.namespaced ? prefixOf(route) : ''
  const term = name ? nameTerm(name) : undefined
  return { prefix, isNamed: (object) => !name || object.metadata.name === name, term }
}

/** Returns what decides which objects a watch selects. Without selectors, all watches of a storage select the same. */
function sharedSelection(version: number, { name }: ResourceRoute, { query }: Call): string {
  const [labels, fields] = [query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '']
  return name || labels || fields ? JSON.stringify([version, name, labels, fields]) : ''
}

/** The parameters that do not change how an event looks. */
const NOT_FORM: readonly string[] =
  ('allowWatchBookmarks fieldSelector labelSelector limit resourceVersion resourceVersionMatch ' +
    'sendInitialEvents timeoutSeconds watch').split(' ')

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
