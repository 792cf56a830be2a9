/** Follows the Namespaces that a label selector selects, and tells who watches their objects. */
import { messageOf } from '../core/errors.ts'
import { type AnyResource, metadataOf } from '../core/resource.ts'
import { abortScope, untilAborted } from '../async/abort.ts'
import { backoffMs, SERVER_BACKOFF } from '../async/backoff.ts'
import { BoundedMap } from '../async/bounded_map.ts'
import { pause, sleep, within } from '../async/clock.ts'
import { Latch } from '../async/latch.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'
import type { Api } from '../client/api.ts'
import type { Informer, InformerOptions } from './informer.ts'
import { type NamespaceInput, type NamespacePhase, namespaceStep } from './namespace_state.ts'

/** Why a Namespace is not watched any more. */
export type Departure = 'left' | 'deleted'

/** What is done for one Namespace while it is selected. */
export interface NamespaceWork {
  /** Resolves when all deletions in a deleted Namespace are reported. Default: at once. */
  caughtUp?(signal: AbortSignal): Promise<void>
  /** Ends the work. The result settles when no key in the Namespace can follow from it. */
  end(why: Departure): Promise<unknown> | void
}

/** Called for each selected Namespace. Returns what it does for it. */
export type NamespaceFollower = (namespace: string) => NamespaceWork

/** What {@link SelectedNamespaces} needs. */
export interface NamespacesSetup extends RandomPartEnvironment {
  readonly api: Api
  /** Makes the informer of the Namespaces. It belongs to the cache, which runs it. */
  readonly inform: (options: Omit<InformerOptions, 'api'>) => Informer
}

const NAMESPACES: AnyResource = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

/** How long the deletions in a deleted Namespace are waited for. */
const REPORT_MS = 10_000
/** How long the watches of a deleted Namespace go on after that: handlers of a large list get their events in turns. */
const LINGER_MS = 1_000
/** How long keys of a deleted Namespace are reconciled: another replica may have ended before it had done so. */
const GONE_MS = 5 * 60_000
/** The max number of deleted Namespaces that are remembered. */
const MAX_DELETED = 1000

export function selectNamespaces(labels: string, setup: NamespacesSetup): SelectedNamespaces {
  return new SelectedNamespaces(labels, setup)
}

interface Known {
  readonly phase: NamespacePhase
  /** Ends what was begun for the phase. */
  readonly stop: AbortController
}

/** The Namespaces that a label selector selects, and what is done for each. */
export class SelectedNamespaces {
  /** For a controller: a key in another namespace is no mistake. */
  readonly vary = true
  readonly informer: Informer
  readonly #setup: NamespacesSetup
  readonly #labels: string
  /** The names that are not `out`. */
  readonly #known = new Map<string, Known>()
  /** When the keys of deleted ones are no longer reconciled; Infinity while their last keys are on their way. */
  readonly #deleted = new BoundedMap<string, number>(MAX_DELETED)
  readonly #followers = new Map<NamespaceFollower, Map<string, NamespaceWork>>()
  readonly #listed = new Latch()
  readonly #ended = new AbortController()

  constructor(labels: string, setup: NamespacesSetup) {
    this.#labels = labels
    this.#setup = setup
    // The options of all cached kinds are not those of the Namespaces.
    const whole = { fields: undefined, strip: undefined }
    const informer = (this.informer = setup.inform({ resource: metadataOf(NAMESPACES), labels, ...whole }))
    const { synced } = informer.addHandler(({ kind, object: { metadata } }) =>
      this.#take(metadata.name, kind === 'deleted' ? 'missed' : 'seen', metadata.uid)
    )
    void informer.ended.then(() => this.#ended.abort())
    synced(this.#ended.signal).then(() => this.#listed.open(), () => {})
  }

  /** Resolves when the first list of Namespaces has reached all followers. */
  get listed(): Promise<void> {
    return this.#listed.opened
  }

  get isListed(): boolean {
    return this.#listed.isOpen
  }

  /** Returns whether keys of a namespace are reconciled. */
  has(namespace: string): boolean {
    return this.#known.has(namespace) || this.#setup.clock.monotonic() < (this.#deleted.get(namespace) ?? -Infinity)
  }

  /** Returns whether a namespace is selected: `in` and `out` are certain. */
  phaseOf(namespace: string): 'in' | 'out' | 'doubted' | 'deleted' {
    return this.#known.get(namespace)?.phase ?? 'out'
  }

  /** @throws Error before the first list: what is read of all Namespaces would lack some of them. */
  checkListed(what: string): void {
    if (this.isListed) return
    const { problem } = this.informer
    const why = problem === undefined ? '' : ` (${problem})`
    throw new Error(`Cannot read ${what}: the Namespaces with the labels "${this.#labels}" are not listed yet${why}`)
  }

  /**
   * Calls a follower for each Namespace that is selected or will be, after the followers before it. Returns what ends
   * the work of the follower.
   */
  each(follower: NamespaceFollower): () => void {
    const works = new Map<string, NamespaceWork>()
    this.#followers.set(follower, works)
    for (const name of this.#known.keys()) works.set(name, follower(name))
    return () => {
      this.#followers.delete(follower)
      for (const work of works.values()) void work.end('left')
    }
  }

  /** Adds an informer for each selected Namespace, and removes it when the Namespace leaves. Returns what ends them. */
  inform(
    add: (of: { readonly namespace: string; readonly optional?: boolean }) => Informer,
    remove: (informer: Informer) => void,
  ): () => void {
    return this.each((namespace) => {
      // No start and no readiness waits for one that joins later.
      const informer = add({ namespace, ...(this.isListed && { optional: true }) })
      return { caughtUp: (signal) => informer.caughtUp(signal), end: () => remove(informer) }
    })
  }

  /** `uid`: of the Namespace in the watch. */
  #take(name: string, input: NamespaceInput, uid?: string): void {
    const known = this.#known.get(name)
    const [phase, effect] = namespaceStep(known?.phase ?? 'out', input)
    if (phase === (known?.phase ?? 'out')) return
    known?.stop.abort()
    const stop = new AbortController()
    if (phase === 'out') this.#known.delete(name)
    else this.#known.set(name, { phase, stop })
    const { log } = this.#setup
    switch (effect) {
      case 'join':
        log.debug(`Namespace "${name}" is watched: it has the labels "${this.#labels}"`)
        for (const [follower, works] of this.#followers) works.set(name, follower(name))
        break
      case 'ask':
        void this.#ask(name, uid, stop.signal)
        break
      case 'report':
        void this.#report(name, stop.signal)
        break
      case 'leave':
        log.debug(`Namespace "${name}" is not watched any more: it no longer has the labels "${this.#labels}"`)
        void this.#end(name, 'left')
        break
      case 'end':
        log.debug(`Namespace "${name}" is not watched any more: it was deleted`)
        void this.#end(name, 'deleted')
    }
  }

  /** Asks until there is an answer: without one, the Namespace stays watched. */
  async #ask(name: string, uid: string | undefined, signal: AbortSignal): Promise<void> {
    const { api, clock, log, random } = this.#setup
    const scope = abortScope(signal, this.#ended.signal)
    for (let failures = 0; !scope.signal.aborted; failures++) {
      try {
        // The right to list Namespaces is there, as they are watched; that to get them may be missing.
        const options = { fields: `metadata.name=${name}`, limit: 1 }
        const { items } = await api.listPage({ resource: NAMESPACES }, options, scope.signal)
        if (!scope.signal.aborted) this.#take(name, items[0]?.metadata.uid === uid ? 'exists' : 'gone')
      } catch (error) {
        log.debug(`Cannot find out whether Namespace "${name}" was deleted (tried again): ${messageOf(error)}`)
        await pause(clock, backoffMs(failures, SERVER_BACKOFF, random), scope.signal)
      }
    }
    scope[Symbol.dispose]()
  }

  async #report(name: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#setup
    const scope = abortScope(signal, this.#ended.signal)
    const works = [...this.#followers.values()].flatMap((each) => each.get(name) ?? [])
    const all = async (limited: AbortSignal): Promise<unknown> =>
      await untilAborted(Promise.all(works.map((work) => work.caughtUp?.(limited))), limited)
    try {
      await within(clock, REPORT_MS, () => new Error('their watches have not caught up in time'), all, scope.signal)
      await sleep(clock, LINGER_MS, scope.signal)
    } catch (error) {
      if (scope.signal.aborted) return
      log.warn(`Deletions of objects in the deleted Namespace "${name}" may not be reconciled: ${messageOf(error)}`)
    } finally {
      scope[Symbol.dispose]()
    }
    this.#take(name, 'reported')
  }

  async #end(name: string, why: Departure): Promise<void> {
    const isDeleted = why === 'deleted'
    if (isDeleted) this.#deleted.set(name, Infinity)
    else this.#deleted.delete(name)
    const ends = [...this.#followers.values()].map((works) => {
      const work = works.get(name)
      works.delete(name)
      return work?.end(why)
    })
    await Promise.allSettled(ends)
    if (isDeleted) this.#deleted.set(name, this.#setup.clock.monotonic() + GONE_MS)
  }
}
