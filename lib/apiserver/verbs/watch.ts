/** Handles GET with `watch`: sends the initial state if requested, then each change. */
import type { HttpBody, HttpResponse } from '../../core/transport.ts'
import { type Backend, fromStored } from '../backend.ts'
import { selectedName } from '../selectors.ts'
import type { ApiObject, JsonObject } from '../json.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import { warningHeaders } from '../http/respond.ts'
import { type Call, flag, type ResourceRoute } from '../http/routes.ts'
import { fault, invalid, StatusError } from '../http/status.ts'
import type { Change } from '../storage/store.ts'
import { OrderedWork } from '../webhooks/ordered_work.ts'
import { parseVersion, prefixOf, selectorOf, tooLargeVersion } from './list.ts'

/** Renders an object: in full, as a table, or as metadata only. */
export type Rendering = (object: ApiObject, isFirst: boolean) => string

const BOOKMARK_EVERY_MS = 60_000
/** Minimum timeout without `timeoutSeconds`: the real server ends such a watch after 30 to 60 minutes. */
const MIN_TIMEOUT_MS = 30 * 60_000

/** The open watches, so that the server can end them. */
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
  /** `isOwn`: whether it runs in a session of this watch, and not in that of the request that has written. */
  const sendChange = (change: Change, isOwn: boolean): void => {
    if (change.revision <= plan.after || !change.key.startsWith(scope.prefix)) return
    const find = (): ReturnType<typeof eventFor> =>
      eventFor(change, (object) => scope.isNamed(object) && matches(object))
    const event = isOwn ? backend.webhooks.once(`event ${change.revision}`, find) : find()
    if (event) body.push(lineOf(event.type, fromStored(currentKind(), event.object)))
  }

  try {
    const changes = plan.from === 'version' ? backend.store.since(kind.storage.id, plan.after) : []
    kind.rules.prepare?.(
      plan.from === 'state'
        ? backend.store.list(kind.storage.id, scope.prefix)
        : changes.flatMap(({ object, before }) => before ? [object, before] : [object]),
    )
    if (plan.from === 'state') {
      for (const object of backend.store.list(kind.storage.id, scope.prefix)) {
        if (scope.isNamed(object) && matches(object)) body.pushInitial(lineOf('ADDED', fromStored(kind, object)))
      }
      if (plan.endBookmark) sendBookmark({ 'k8s.io/initial-events-end': 'true' })
    }
    for (const change of changes) sendChange(change, true)
  } catch (error) {
    // A watch from an expired version returns 200 with an ERROR event: clients expect this event.
    if (!(error instanceof StatusError)) throw error
    body.push(`{"type":"ERROR","object":${JSON.stringify(error.body())}}\n`)
    body.end()
    return answer(body, call)
  }
  watches.add(body)
  // Events that wait for a conversion stay in order, also with bookmarks.
  const converting = new OrderedWork(backend.webhooks, () => body.isOpen)
  cleanups.push(backend.store.listen(kind.storage.id, (change) => {
    if (converting.isBusy || currentKind().rules.convert) converting.add(() => sendChange(change, true))
    else sendChange(change, false)
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
  const seconds = Number(query.get('timeoutSeconds') ?? '0')
  const timeoutMs = seconds > 0 ? seconds * 1000 : MIN_TIMEOUT_MS * (1 + backend.random())
  const current = backend.store.revision
  const initial = query.has('sendInitialEvents') ? flag(query, 'sendInitialEvents') : undefined
  checkOptions(query, initial)
  const base = { bookmarks, timeoutMs, endBookmark: initial === true && bookmarks }
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

/** Converts a change to a watch event: objects that enter the selector are ADDED, objects that leave are DELETED. */
function eventFor(
  change: Change,
  matches: (object: ApiObject) => boolean,
): { type: string; object: ApiObject } | undefined {
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

const encoder = new TextEncoder()

/** Maximum number of buffered lines. A slower reader is disconnected, as on the real server, and lists again. */
const MAX_BUFFERED_LINES = 100_000
/** Maximum number of lines per chunk of a long backlog. */
const MAX_CHUNK_LINES = 1000

/** The response body of a watch: buffers pushed lines for the reader. */
export class WatchBody implements HttpBody {
  readonly #lines: string[] = []
  readonly #onEnd: () => void
  #max = MAX_BUFFERED_LINES
  #state: 'open' | 'ended' | 'failed' = 'open'
  #failure: unknown
  #wake: (() => void) | undefined

  /** `onEnd` is called once, when the reader has cancelled or the writer has ended the body. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Adds a line of the initial state, which does not count against the limit: no reader could have read it yet. */
  pushInitial(line: string): void {
    this.#max++
    this.push(line)
  }

  push(line: string): void {
    if (this.#state !== 'open') return
    this.#lines.push(line)
    if (this.#lines.length > this.#max) this.end()
    this.#wake?.()
  }

  /** Ends the body. Buffered lines can still be read. */
  end(): void {
    this.#close('ended')
  }

  /** Called when the reader's signal is aborted: drops buffered lines and throws the reason to the reader. */
  fail(reason: unknown): void {
    if (this.#state !== 'open') return
    this.#failure = reason
    this.#lines.length = 0
    this.#close('failed')
  }

  cancel(): void {
    this.#lines.length = 0
    this.#close('ended')
  }

  async text(): Promise<string> {
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of this) text += decoder.decode(chunk, { stream: true })
    return text + decoder.decode()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        if (this.#lines.length > 0) yield encoder.encode(this.#nextChunk())
        else if (this.#state === 'failed') throw this.#failure
        else if (this.#state === 'ended') return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      this.cancel()
    }
  }

  /** Returns the buffered lines, or only the first 1000 of a long backlog, which bounds the chunk size. */
  #nextChunk(): string {
    const count = this.#lines.length > 2 * MAX_CHUNK_LINES ? MAX_CHUNK_LINES : this.#lines.length
    return this.#lines.splice(0, count).join('')
  }

  #close(state: 'ended' | 'failed'): void {
    if (this.#state !== 'open') return
    this.#state = state
    this.#onEnd()
    this.#wake?.()
  }
}
