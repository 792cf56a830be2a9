/** The informers of one operator: one for each kind that is declared, however many controllers use it. */
import { messageOf } from '../core/errors.ts'
import type { Index } from '../core/object_indexer.ts'
import type { KubeObject, Ref } from '../core/objects.ts'
import { type AnyResource, groupResourceOf, metadataOf, type Resource, resourceId, wholeOf } from '../core/resource.ts'
import type { Runnable } from '../core/runnable.ts'
import { aborted, abortScope } from '../async/abort.ts'
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Api, WriteInFlight, WriteObserver } from '../client/api.ts'
import type { ListOptions, Reader } from '../client/client.ts'
import type { Target } from '../client/requests.ts'
import { type CacheOptions, describeOptions, isSubsumed, scopesOf } from './cache_options.ts'
import { CachedReader } from './cached_reader.ts'
import { Informer } from './informer.ts'

/** What is kept of kinds whose declaration does not say; and what the informers need. */
export interface CacheDependencies extends CacheOptions {
  readonly api: Api
  /** Default: the real clock. */
  readonly clock?: Clock | undefined
  /** Default: none. One that throws stops nothing. */
  readonly log?: Log | undefined
  readonly random?: (() => number) | undefined
  readonly freeze?: boolean | undefined
  /** The kinds that others start without; see {@link Informer.optional}. Default: none. */
  readonly optional?: ((resource: AnyResource) => boolean) | undefined
  /** Called for each object that is gone from an informer's store. Must not throw. */
  readonly onDeleted?: ((resource: AnyResource, key: string, uid: string) => void) | undefined
}

interface Declared {
  readonly options: CacheOptions
  readonly informers: readonly Informer[]
}

/** @internal A kind that is read as T. */
// deno-lint-ignore no-explicit-any -- reading does not depend on what is written
type Of<T extends KubeObject> = Resource<T, any>

/** Reads that a cache cannot answer: a client asks the server for them. */
const UNREADABLE: Reader = {
  get: (resource) => unreadable(resource),
  list: (resource) => unreadable(resource),
  lookup: ({ resource }) => unreadable(resource),
}

/**
 * The informers of kinds that are declared, as one runnable that is ready when their first lists are in. It is read as a client is.
 *
 * @example
 * ```ts
 * import { Cluster, loadConfig } from 'kubeloop'
 * import { ConfigMap } from 'kubeloop/kinds'
 * const { cache } = new Cluster({ name: 'reader', config: (await loadConfig()).cluster })
 * cache.declare(ConfigMap, { namespaces: ['default'] })
 * const stop = new AbortController()
 * const running = cache.start(stop.signal)
 * await cache.ready(stop.signal)
 * console.log((await cache.list(ConfigMap, { namespace: 'default' })).length)
 * stop.abort()
 * await running
 * ```
 */
export class Cache implements Runnable, Reader, WriteObserver {
  readonly name = 'cache'
  readonly role = 'cache'
  readonly #reader: Reader = new CachedReader(this, UNREADABLE)
  readonly #dependencies: CacheDependencies
  readonly #declared = new Map<string, Declared>()
  #started = false
  /** Set while the cache runs: an informer that is declared then starts at once. */
  #run: ((informer: Informer) => void) | undefined

  constructor(dependencies: CacheDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * The informers of a kind (one for each namespace that is watched), made at the first call. Later calls share them;
   * one that wants something else of the kind than the first throws. The metadata of a kind (`metadataOf`) is a kind of its own.
   */
  declare(resource: AnyResource, options: CacheOptions = {}): readonly Informer[] {
    const id = resourceId(resource)
    const scopes = scopesOf(resource, options, this.#dependencies)
    const known = this.#declared.get(id)
    if (known) {
      if (isSubsumed(options, known.options)) return known.informers
      const differ = `it was declared with ${describeOptions(known.options)}, now with ${describeOptions(options)}`
      throw new Error(`Cannot cache ${groupResourceOf(resource)} twice: ${differ}, and a kind is watched once`)
    }
    const optional = this.#dependencies.optional?.(resource)
    const informers = scopes.map((scope) => new Informer({ ...this.#dependencies, ...scope, resource, optional }))
    this.#declared.set(id, { options, informers })
    for (const informer of informers) this.#run?.(informer)
    return informers
  }

  /** The informers of a kind, or `undefined` for one that is not declared: those are read live. */
  informersOf(resource: AnyResource): readonly Informer[] | undefined {
    return this.#declared.get(resourceId(resource))?.informers
  }

  /** The same, or `undefined` for a kind that is watched for its events only. */
  readableOf(resource: AnyResource): readonly Informer[] | undefined {
    const declared = this.#declared.get(resourceId(resource))
    return declared?.options.read === 'live' ? undefined : declared?.informers
  }

  /**
   * Builds an index of a kind that is declared now, before its objects come, rather than at its first use: the first one to ask
   * does not wait for it. When the kind is removed, so is the index.
   */
  index<T extends KubeObject>(index: Index<T>): void {
    const informers = this.informersOf(index.resource)
    if (!informers) {
      throw new Error(`Cannot index ${groupResourceOf(index.resource)}: the cache does not have it; declare it first`)
    }
    for (const informer of informers) void informer.index(index as unknown as Index<KubeObject>)
  }

  /** Before a write by a client that reads from here, so that what it reads then is not older than what it wrote. */
  begin(target: Target): WriteInFlight | undefined {
    const whole = wholeOf(target.resource)
    const parts: WriteInFlight[] = []
    for (const resource of [whole, metadataOf(whole)]) {
      for (const informer of this.informersOf(resource) ?? []) {
        const part = informer.beginWrite(target)
        if (part) parts.push(part)
      }
    }
    if (parts.length < 2) return parts[0]
    return {
      answered: (answer) => parts.forEach((part) => part.answered(answer)),
      deleted: (answer) => parts.forEach((part) => part.deleted(answer)),
      end: () => parts.forEach((part) => part.end()),
    }
  }

  /** Stops watching a kind and forgets its objects; reads of it go to the server from then on. Its handlers hear nothing more. */
  remove(resource: AnyResource): void {
    const id = resourceId(resource)
    for (const informer of this.#declared.get(id)?.informers ?? []) informer.stop()
    this.#declared.delete(id)
  }

  /** Returns the object, or `undefined` when there is none. Rejects for what the cache cannot know, where a client asks the server. */
  async get<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined> {
    return await this.#reader.get(resource, ref)
  }

  /** Returns the objects of a kind. Rejects as {@link get}, also for `fields`. */
  async list<T extends KubeObject>(resource: Of<T>, options?: ListOptions): Promise<readonly T[]> {
    return await this.#reader.list(resource, options)
  }

  /** Returns the objects that an index has under a key. Rejects as {@link get}. */
  async lookup<T extends KubeObject>(index: Index<T>, key: string): Promise<readonly T[]> {
    return await this.#reader.lookup(index, key)
  }

  /** Resolves and rejects as {@link synced}. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.synced(signal)
  }

  /** Every informer, for health checks. */
  *informers(): Generator<Informer> {
    for (const { informers } of this.#declared.values()) yield* informers
  }

  /**
   * Settles when the first list of every kind that is declared now is in, or its informer was removed; an optional kind is waited
   * for until its first try has failed, and for 5 s at most.
   */
  async synced(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await Promise.all([...this.informers()].map((informer) => Promise.race([informer.tried(signal), informer.ended])))
  }

  /** Kinds whose first list is not in yet, except optional ones, and what keeps them: for the error of a sync that takes too long. */
  unsynced(): string[] {
    return [...this.informers()].filter((informer) => !informer.isSynced && !informer.optional).map(describeUnsynced)
  }

  /** Runs every informer until the signal is aborted; settles when all have ended. */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#started) throw new Error('Cannot start the cache: it was started already')
    this.#started = true
    const scope = abortScope(signal)
    const running = new Set<Promise<void>>()
    const errors: unknown[] = []
    this.#run = (informer) => {
      const run = informer.start(scope.signal).catch((error: unknown) => {
        // One that somebody else has started: the cache would not be what it says.
        errors.push(error)
        scope.abort(error)
      })
      running.add(run)
      void run.finally(() => running.delete(run))
    }
    for (const informer of this.informers()) this.#run(informer)
    await aborted(scope.signal)
    // What is declared from now on ends as soon as it has begun, and is waited for too.
    while (running.size > 0) await Promise.all(running)
    scope[Symbol.dispose]()
    if (errors.length > 0) throw errors[0]
  }
}

/** `deployments.apps (Cannot list …: …)`: what is missing, and why if that is known. */
export function describeUnsynced({ title, failure }: Informer): string {
  return `${title}${failure === undefined ? '' : ` (${messageOf(failure)})`}`
}

async function unreadable(resource: AnyResource): Promise<never> {
  throw new Error(
    `Cannot read ${
      groupResourceOf(resource)
    } from the cache: it is not declared or not synced, or fields are selected; use a client`,
  )
}
