/** What operators with namespaces by labels need: a file of its own beside mod.js. */
import { type KubeObject, parseKey } from '../core/objects.ts'
import type { AnyResource } from '../core/resource.ts'
import { groupResourceOf } from '../core/resource.ts'
import { aborted, abortScope, untilAborted } from '../async/abort.ts'
import type { SelectedNamespaces } from '../cache/selected_namespaces.ts'
import type { Controller } from '../controller/controller.ts'
import type { Result, Run } from '../controller/result.ts'
import type { Sink, Source, SourceFailure } from '../controller/source.ts'
import type { ControllerDescription } from './description/description.ts'
import type { Clients } from './work.ts'

export { selectNamespaces } from '../cache/selected_namespaces.ts'

/** How long a key waits before it is known again whether its Namespace is selected. */
const UNKNOWN_MS = 1000

/**
 * Drops the keys of each Namespace that leaves the selection. Returns a reconcile that leaves alone the objects of
 * others: of one that has the name of a selected one that was deleted, keys of that one may still wait, and its watches
 * may still be open.
 */
export function inSelected(
  namespaces: SelectedNamespaces,
  { resource, options: { cluster } }: ControllerDescription,
  reconcile: (run: Run, clients?: Clients) => Promise<Result>,
  own: Clients,
  controller: () => Pick<Controller, 'drop'>,
): typeof reconcile {
  namespaces.each((namespace) => ({
    end(why) {
      if (why === 'left') controller().drop((key) => parseKey(key).namespace === namespace)
    },
  }))
  return async (run, clients = own) => {
    const phase = namespaces.phaseOf(run.key.namespace!)
    if (phase === 'in' || await clients(cluster).bound(run).get<KubeObject>(resource, run.key as never) === undefined) {
      return await reconcile(run, clients)
    }
    return phase === 'out' ? undefined : { requeueAfter: UNKNOWN_MS }
  }
}

export interface NamespacesSourceOptions {
  readonly resource: AnyResource
  readonly open: (namespace: string) => Source
  readonly warms?: boolean | undefined
  readonly optional?: boolean | undefined
}

const LEFT = new DOMException('The Namespace is not selected any more', 'AbortError')

/** Returns the source of a kind in selected Namespaces: one source for each, which comes and goes with it. */
export function sourceIn(
  namespaces: SelectedNamespaces,
  { resource, open, warms = true, optional }: NamespacesSourceOptions,
): Source {
  const running = new Set<{ readonly source: Source; ended: Promise<void> }>()
  const sources = (): readonly Source[] => Array.from(running, ({ source }) => source)
  return {
    name: groupResourceOf(resource),
    warms,
    get idle() {
      return sources().every(({ idle }) => idle !== false)
    },
    get failing(): readonly SourceFailure[] {
      return sources().flatMap(({ failing = [] }) => failing)
    },
    get missing() {
      return sources().flatMap(({ missing = [] }) => missing)
    },
    async start(sink: Sink, signal: AbortSignal): Promise<void> {
      const all = abortScope(signal)
      const stopFollowing = namespaces.each((namespace) => {
        const source = open(namespace)
        const scope = abortScope(all.signal)
        const own = { source, ended: Promise.resolve() }
        running.add(own)
        own.ended = source.start(sink, scope.signal).catch((error: unknown) => {
          if (!scope.signal.aborted) all.abort(error)
        }).finally(() => {
          running.delete(own)
          scope[Symbol.dispose]()
        })
        return {
          end(why) {
            // That of a deleted Namespace ends with its informer, when its last events are mapped.
            if (why === 'left') scope.abort(LEFT)
            return own.ended
          },
        }
      })
      await aborted(all.signal)
      stopFollowing()
      await Promise.all(Array.from(running, ({ ended }) => ended))
      all[Symbol.dispose]()
      if (!signal.aborted) throw all.signal.reason
    },
    async synced(signal) {
      if (!(optional && !namespaces.isListed)) await untilAborted(namespaces.listed, signal)
      await Promise.all(Array.from(running, ({ source, ended }) => Promise.race([source.synced?.(signal), ended])))
    },
  }
}
