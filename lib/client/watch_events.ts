/** Reads watch events: single lines, or a whole watch. */
import { abortScope } from '../async/abort.ts'
import type { Deadline } from '../async/deadline.ts'
import { silenceDeadline } from './silence.ts'
import { lineBatches } from '../async/lines.ts'
import type { Status } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import type { Api } from './api.ts'
import type { WatchBookmark, WatchChange } from './client.ts'
import { errorOf, readAs } from './codec.ts'
import type { SelectOptions, Target } from './requests.ts'

/** A watch event for a store: ADDED and MODIFIED are the same to it. */
export type WatchEvent =
  | { readonly kind: 'applied'; readonly object: KubeObject }
  | { readonly kind: 'deleted'; readonly object: KubeObject }
  /** `ends` is set on the bookmark after the initial objects, if the watch requested them. */
  | { readonly kind: 'bookmark'; readonly resourceVersion: string; readonly ends?: true }

/**
 * Parses one line of a watch.
 *
 * @throws ApiError for an ERROR event, TypeError if the line is malformed or has no resourceVersion to resume from.
 */
export function parseWatchLine(line: string, what: string): WatchEvent {
  const { type, object } = readWatchEvent(line, what)
  const resourceVersion = (object as Partial<KubeObject> | null | undefined)?.metadata?.resourceVersion
  if (!resourceVersion) {
    throw new TypeError(`Cannot watch ${what}: the server sent a ${String(type)} event without a resourceVersion`)
  }
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { kind: 'applied', object: object as KubeObject }
    case 'DELETED':
      return { kind: 'deleted', object: object as KubeObject }
    case 'BOOKMARK':
      return { kind: 'bookmark', resourceVersion, ...(endsInitialEvents(object as KubeObject) ? { ends: true } : {}) }
    default:
      throw unknownType(type, what)
  }
}

function endsInitialEvents({ metadata }: KubeObject): boolean {
  return metadata.annotations?.['k8s.io/initial-events-end'] === 'true'
}

/**
 * Yields the changes of one watch, and its bookmarks if they are wanted. It opens at the first `next()` and closes when
 * the iteration ends. Throws a NetworkError when the server is silent.
 */
export async function* watchChanges<T extends KubeObject>(
  api: Api,
  target: Target,
  { bookmarks, ...options }: SelectOptions & { resourceVersion?: string | undefined; bookmarks?: boolean | undefined },
  signal: AbortSignal | undefined,
): AsyncGenerator<WatchChange<T> | WatchBookmark, void, undefined> {
  const scope = abortScope(api.signal, signal)
  const what = api.describe(target)
  const listen = (): Deadline => silenceDeadline(api.clock, { action: `watch ${what}`, phase: 'body' }, scope.abort)
  let silence = listen()
  try {
    scope.signal.throwIfAborted()
    const { body } = await api.watch(
      target,
      { ...options, resourceVersion: options.resourceVersion ?? '' },
      scope.signal,
    )
    if (body.endless) silence.cancel()
    for await (const lines of lineBatches(body)) {
      // Nothing is read while the consumer works, so the server's silence does not count. A timer would keep the
      // process of a consumer that never asks again.
      silence.cancel()
      for (const line of lines) {
        const change = readChange(line, what)
        if (change.type !== 'BOOKMARK') {
          yield { ...change, object: api.handOut(readAs(target.resource, change.object)) as T }
        } else if (bookmarks) yield change
        // The consumer may have aborted meanwhile.
        scope.signal.throwIfAborted()
      }
      if (!body.endless) silence = listen()
    }
  } finally {
    silence.cancel()
    scope.abort(new DOMException(`The watch of ${what} was closed by its consumer`, 'AbortError'))
    scope[Symbol.dispose]()
  }
}

/** Parses one line. A change without a resourceVersion is accepted. */
function readChange(line: string, what: string): WatchChange<KubeObject> | WatchBookmark {
  const { type, object } = readWatchEvent(line, what)
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (typeof object === 'object' && object !== null) return { type, object: object as KubeObject }
      throw new TypeError(`Cannot watch ${what}: the server sent a ${type} event without an object`)
    case 'BOOKMARK':
      return { type, resourceVersion: (object as Partial<KubeObject> | undefined)?.metadata?.resourceVersion ?? '' }
    default:
      throw unknownType(type, what)
  }
}

/** Parses a line's JSON. Throws if it is not an event, and throws an ERROR event as the ApiError that it carries. */
function readWatchEvent(line: string, what: string): { readonly type?: unknown; readonly object?: unknown } {
  let event: { readonly type?: unknown; readonly object?: unknown } | null | undefined
  try {
    event = JSON.parse(line)
  } catch {
    // No cause: V8's message quotes the line, which may be a Secret.
  }
  if (typeof event !== 'object' || event === null) {
    throw new TypeError(
      `Cannot watch ${what}: the server sent a line that is not an event in JSON (${line.length} characters)`,
    )
  }
  if (event.type === 'ERROR') throw errorOf((event.object ?? {}) as Status, `watch ${what}`)
  return event
}

function unknownType(type: unknown, what: string): TypeError {
  return new TypeError(`Cannot watch ${what}: the server sent an event of unknown type "${String(type)}"`)
}
