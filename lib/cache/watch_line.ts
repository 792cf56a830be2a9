/** One line of a watch, as what it means. */
import type { KubeObject } from '../core/objects.ts'
import type { Status } from '../core/errors.ts'
import { errorOf } from '../client/codec.ts'

export type WatchEvent =
  | { readonly kind: 'applied'; readonly object: KubeObject }
  | { readonly kind: 'deleted'; readonly object: KubeObject }
  /** `ends`: all that there was when the watch began has come; only watches that send it say so. */
  | { readonly kind: 'bookmark'; readonly resourceVersion: string; readonly ends?: true }

/**
 * Reads one line. Nothing malformed is dropped: a line that is not an event throws, and so does an ERROR event,
 * as the ApiError that it carries.
 */
export function parseWatchLine(line: string, what: string): WatchEvent {
  const { type, object } = parseLine(line, what)
  if (type === 'ERROR') throw errorOf((object ?? {}) as Status, `watch ${what}`)
  const resourceVersion = (object as Partial<KubeObject> | null | undefined)?.metadata?.resourceVersion
  if (!resourceVersion) throw new TypeError(`Cannot watch ${what}: the server sent a ${String(type)} event without a resourceVersion`)
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { kind: 'applied', object: object as KubeObject }
    case 'DELETED':
      return { kind: 'deleted', object: object as KubeObject }
    case 'BOOKMARK':
      return { kind: 'bookmark', resourceVersion, ...(endsInitialEvents(object as KubeObject) ? { ends: true } : {}) }
    default:
      throw new TypeError(`Cannot watch ${what}: the server sent an event of unknown type "${String(type)}"`)
  }
}

function endsInitialEvents({ metadata }: KubeObject): boolean {
  return metadata.annotations?.['k8s.io/initial-events-end'] === 'true'
}

function parseLine(line: string, what: string): { readonly type?: unknown; readonly object?: unknown } {
  let event: unknown
  try {
    event = JSON.parse(line)
  } catch {
    // Without its cause: V8's message quotes the line, and that may be a Secret.
    throw new SyntaxError(`Cannot watch ${what}: the server sent a line that is not JSON (${line.length} characters)`)
  }
  if (typeof event === 'object' && event !== null) return event
  throw new TypeError(`Cannot watch ${what}: the server sent a line that is not an event (${line.length} characters)`)
}
