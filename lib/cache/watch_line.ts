/** One line of a watch, as what it means. */
import type { KubeObject } from '../core/objects.ts'
import { readWatchEvent, unknownType } from '../client/watch_events.ts'

export type WatchEvent =
  | { readonly kind: 'applied'; readonly object: KubeObject }
  | { readonly kind: 'deleted'; readonly object: KubeObject }
  /** `ends`: all that there was when the watch began has come; only watches that send it say so. */
  | { readonly kind: 'bookmark'; readonly resourceVersion: string; readonly ends?: true }

/** Reads one line, as {@link readWatchEvent} does; what has no version cannot be gone on from, and throws. */
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
