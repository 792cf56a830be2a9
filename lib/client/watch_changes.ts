/** One watch as its events, for those who follow a kind themselves. */
import { abortScope } from '../async/abort.ts'
import { lineBatches } from '../async/lines.ts'
import type { KubeObject } from '../core/objects.ts'
import type { Api } from './api.ts'
import type { WatchChange } from './client.ts'
import { readAs } from './codec.ts'
import { readWatchEvent, unknownType } from './watch_events.ts'
import type { SelectOptions, Target } from './requests.ts'

/** Opens when it is first asked for an event; the connection ends with the iteration, however that ends. */
export async function* watchChanges(
  api: Api,
  target: Target,
  options: SelectOptions & { resourceVersion?: string | undefined },
  signal: AbortSignal | undefined,
): AsyncGenerator<WatchChange<KubeObject>, void, undefined> {
  const scope = abortScope(api.signal, signal)
  const what = api.describe(target)
  try {
    scope.signal.throwIfAborted()
    const { body } = await api.watch(
      target,
      { ...options, resourceVersion: options.resourceVersion ?? '' },
      scope.signal,
    )
    for await (const lines of lineBatches(body)) {
      for (const line of lines) {
        const change = readChange(line, what)
        if (change) yield { ...change, object: api.handOut(readAs(target.resource, change.object)) }
        // While the consumer was at work.
        scope.signal.throwIfAborted()
      }
    }
  } finally {
    scope.abort(new DOMException(`The watch of ${what} is not wanted any more`, 'AbortError'))
    scope[Symbol.dispose]()
  }
}

/** What a line says; nothing for a bookmark. */
function readChange(line: string, what: string): WatchChange<KubeObject> | undefined {
  const { type, object } = readWatchEvent(line, what)
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (typeof object === 'object' && object !== null) return { type, object: object as KubeObject }
      throw new TypeError(`Cannot watch ${what}: the server sent a ${type} event without an object`)
    case 'BOOKMARK':
      return undefined
    default:
      throw unknownType(type, what)
  }
}
