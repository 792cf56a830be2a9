/** Garbage collection by owner references for the embedded API, like kube-controller-manager's. */
import {
  type AnyResource,
  type Client,
  type Clock,
  Cluster,
  Controller,
  type Delta,
  KindSource,
  type KubeObject,
  type Log,
  type ObjectKey,
  type Result,
  type Runnable,
  type Transport,
} from 'kubeloop'
import { abortScope, untilAborted } from '../async/abort.ts'
import { backoffMs } from '../async/backoff.ts'
import { Latch } from '../async/latch.ts'
import { formatMs } from '../core/duration.ts'
import { discoverKinds } from '../client/rest_mapper.ts'
import { messageOf } from '../core/errors.ts'
import type { OwnerReference } from '../core/objects.ts'
import { splitApiVersion } from '../core/owners.ts'
import { CRD, groupResourceOf } from '../core/resource.ts'
import { type Dependents, isWaiting, ORPHAN, type OwnerState, plan, stateOfOwner } from './collectable.ts'

export interface GarbageCollectorOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly log: Log
  /** Source of back-off jitter: returns numbers in [0, 1). Default: Math.random. */
  readonly random?: (() => number) | undefined
}

/** Kinds that are not watched: Events own nothing, expire by age, and are numerous. */
const IGNORED = new Set(['Event'])

/** Back-off of failed discovery. */
const RETRY = { baseMs: 1000, maxMs: 60_000 }

export class GarbageCollector implements Runnable {
  readonly name = 'garbage-collector'
  readonly #cluster: Cluster
  /** Reads from the server; {@link GarbageCollector.#read} reads from the cache. */
  readonly #client: Client
  readonly #controller: Controller
  readonly #options: GarbageCollectorOptions
  /** The watched kinds by `group/kind`, the form that owner references use. */
  readonly #kinds = new Map<string, AnyResource>()
  /** The keys of the dependents of each owner, by the owner's uid. */
  readonly #dependents = new Map<string, Set<string>>()
  /** Sources of the controller that are not in sync yet. */
  readonly #starting = new Set<Promise<void>>()
  /** Opened to request another discovery of kinds. */
  #rescan = new Latch()
  #scanning = false
  /** Number of consecutive failures. */
  #failures = 0
  #stopTimer: (() => void) | undefined

  constructor(options: GarbageCollectorOptions) {
    const { clock, log, random } = options
    const transport = withoutWarnings(options.transport)
    this.#options = options
    this.#cluster = new Cluster({ name: this.name, transport, clock, log, random })
    this.#client = this.#cluster.client.live
    this.#controller = new Controller({
      name: this.name,
      kind: 'object',
      sources: [],
      clock,
      log,
      concurrency: 4,
      reconcile: ({ key }) => this.#collect(key.name),
    })
  }

  /** Whether no work is queued or running. A retry of discovery that waits for its back-off does not count. */
  get idle(): boolean {
    return !this.#scanning && !this.#rescan.isOpen && this.#controller.idle
  }

  async start(signal: AbortSignal): Promise<void> {
    const scope = abortScope(signal)
    const [crds] = this.#cluster.cache.declare(CRD)
    crds!.addHandler(() => this.#rescan.open())
    const parts = [this.#cluster, this.#controller, { start: (signal: AbortSignal) => this.#scanKinds(signal) }].map(
      async (part) => {
        try {
          await part.start(scope.signal)
        } finally {
          // End all parts together: none works without the others.
          scope.abort(new DOMException('The garbage collector has stopped', 'AbortError'))
        }
      },
    )
    await Promise.allSettled(parts)
    await Promise.allSettled(this.#starting)
    scope[Symbol.dispose]()
    await Promise.all(parts)
  }

  /** Discovers kinds at the start, after every change of a definition, and after the back-off of a failure. */
  async #scanKinds(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#stopTimer?.()
      // Replace the latch before the scan: a change during the scan requires another one.
      const rescan = (this.#rescan = new Latch())
      this.#scanning = true
      try {
        await this.#scan(signal)
        this.#failures = 0
      } catch (error) {
        if (!signal.aborted) this.#retry('discover kinds', error)
      }
      this.#scanning = false
      await untilAborted(rescan.opened, signal).catch(() => {})
    }
    this.#stopTimer?.()
  }

  #retry(action: string, error: unknown): void {
    const { clock, log } = this.#options
    const ms = backoffMs(this.#failures++, RETRY, () => 0)
    log.error(`The garbage collector cannot ${action}: ${messageOf(error)}; retrying in ${formatMs(ms)}`)
    this.#stopTimer?.()
    this.#stopTimer = clock.after(ms, () => this.#rescan.open())
  }

  /** Starts watches of new kinds, and stops those of removed kinds. */
  async #scan(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const served = new Map<string, AnyResource>()
    for (const resource of await discoverKinds(this.#cluster.api, ['list', 'watch', 'delete'], signal)) {
      if (!IGNORED.has(resource.kind)) served.set(`${resource.group}/${resource.kind}`, resource)
    }
    for (const [id, resource] of this.#kinds) {
      if (served.has(id)) continue
      this.#kinds.delete(id)
      this.#cluster.cache.remove(resource)
    }
    for (const [id, resource] of served) {
      if (this.#kinds.has(id)) continue
      this.#kinds.set(id, resource)
      const informers = this.#cluster.cache.declare(resource)
      for (const informer of informers) informer.addHandler((delta) => this.#index(resource, delta))
      const map = (object: KubeObject): ObjectKey[] => this.#affectedKeys(resource, object)
      this.#watch(id, resource, new KindSource({ informers, map, own: true, clock, log }), signal)
    }
  }

  /** Never waits: a kind whose first list does not arrive must not block the watches of other kinds. */
  #watch(id: string, resource: AnyResource, source: KindSource, signal: AbortSignal): void {
    const started = this.#controller.watch(source).catch((error: unknown) => {
      if (signal.aborted || this.#kinds.get(id) !== resource) return
      this.#kinds.delete(id)
      this.#cluster.cache.remove(resource)
      this.#retry(`watch ${groupResourceOf(resource)}`, error)
    }).finally(() => this.#starting.delete(started))
    this.#starting.add(started)
  }

  /** Updates the index of dependents. */
  #index(resource: AnyResource, delta: Delta<KubeObject>): void {
    const key = keyFor(resource, delta.object)
    const old = delta.kind === 'updated' ? delta.old.metadata.ownerReferences : undefined
    for (const { uid } of old ?? []) this.#dependents.get(uid)?.delete(key)
    for (const { uid } of delta.object.metadata.ownerReferences ?? []) {
      const keys = this.#dependents.get(uid) ?? new Set()
      if (delta.kind === 'deleted') keys.delete(key)
      else keys.add(key)
      if (keys.size > 0) this.#dependents.set(uid, keys)
      else this.#dependents.delete(uid)
    }
  }

  /** Returns the keys that a change affects: the object, its dependents, and its owners, which may wait for it. */
  #affectedKeys(resource: AnyResource, object: KubeObject): ObjectKey[] {
    const { uid, namespace, ownerReferences = [] } = object.metadata
    const keys = [keyFor(resource, object), ...(this.#dependents.get(uid) ?? [])]
    for (const reference of ownerReferences) {
      const owner = this.#kindOf(reference)
      if (owner) keys.push(keyFor(owner, { metadata: { name: reference.name, namespace: namespace ?? undefined } }))
    }
    return keys.map((name) => ({ name }))
  }

  async #collect(key: string): Promise<Result> {
    const { resource, namespace, name } = this.#parse(key)
    if (!resource) return
    const object = this.#read(resource, namespace, name)
    if (!object) return
    const references = object.metadata.ownerReferences ?? []
    const owners = await Promise.all(references.map((reference) => this.#ownerOf(reference, namespace)))
    const { uid } = object.metadata
    const step = plan(object, owners.map(({ state }) => state), this.#countDependents(uid))
    switch (step.do) {
      case 'nothing':
        // The owner may be gone before a watch delivers it: then no event tells of that.
        return owners.some(({ isSeen }) => !isSeen) ? { requeue: true } : undefined
      case 'delete': {
        const { propagation } = step
        if (step.unblock) await this.#edit(resource, object, unblocked)
        await this.#client.delete(resource, { namespace: namespace ?? '', name }, { uid, propagation })
        return
      }
      case 'forgetOwners':
        return void await this.#edit(resource, object, withoutOwners(step.uids))
      case 'finish':
        return void await this.#edit(resource, object, withoutFinalizer(step.finalizer))
      case 'orphan':
        for (const dependent of this.#dependentsOf(uid)) {
          await this.#edit(dependent.resource, dependent.object, withoutOwners([uid]))
        }
        return void await this.#edit(resource, object, withoutFinalizer(ORPHAN))
    }
  }

  /**
   * Returns the state of an owner, and whether an event will tell when that changes. On a cache miss, asks the server:
   * the cache may be behind, and a deletion cannot be undone.
   */
  async #ownerOf(
    reference: OwnerReference,
    namespace: string | undefined,
  ): Promise<{ readonly state: OwnerState; readonly isSeen: boolean }> {
    const resource = this.#kindOf(reference)
    // A kind may be missing from discovery only for a moment, so delete nothing.
    if (!resource) return { state: 'present', isSeen: false }
    // A cluster-scoped object cannot have a namespaced owner: like the real collector, keep it.
    if (resource.scope === 'Namespaced' && !namespace) return { state: 'present', isSeen: true }
    const where = resource.scope === 'Namespaced' ? namespace : undefined
    const cached = this.#read(resource, where, reference.name)
    if (cached?.metadata.uid === reference.uid) return { state: stateOfOwner(cached, reference), isSeen: true }
    const live = (await this.#client.get(resource, { namespace: where ?? '', name: reference.name })) as
      | KubeObject
      | undefined
    return { state: stateOfOwner(live, reference), isSeen: false }
  }

  #countDependents(uid: string): Dependents {
    const blocks = (reference: OwnerReference): boolean =>
      reference.uid === uid && reference.blockOwnerDeletion === true
    const all = this.#dependentsOf(uid).map(({ object }) => object)
    return {
      count: all.length,
      blocking: all.filter((object) => object.metadata.ownerReferences?.some(blocks)).length,
      waiting: all.filter(isWaiting).length,
    }
  }

  /** Returns the cached dependents of an owner. */
  #dependentsOf(uid: string): { readonly resource: AnyResource; readonly object: KubeObject }[] {
    return [...this.#dependents.get(uid) ?? []].flatMap((key) => {
      const { resource, namespace, name } = this.#parse(key)
      const object = resource && this.#read(resource, namespace, name)
      return object ? [{ resource, object }] : []
    })
  }

  async #edit(resource: AnyResource, { metadata }: KubeObject, change: (metadata: Draft) => void): Promise<void> {
    const { namespace = '', name, uid } = metadata
    await this.#client.edit(resource, { namespace, name }, (draft: { metadata: Draft & { uid: string } }) => {
      if (draft.metadata.uid === uid) change(draft.metadata)
    })
  }

  #read(resource: AnyResource, namespace: string | undefined, name: string): KubeObject | undefined {
    const [informer] = this.#cluster.cache.informersOf(resource) ?? []
    return informer?.store.get(namespace ? `${namespace}/${name}` : name)
  }

  #kindOf({ apiVersion, kind }: OwnerReference): AnyResource | undefined {
    return this.#kinds.get(`${splitApiVersion(apiVersion).group}/${kind}`)
  }

  #parse(key: string): { resource: AnyResource | undefined; namespace: string | undefined; name: string } {
    const [group, kind, namespace, ...name] = key.split('~')
    return { resource: this.#kinds.get(`${group}/${kind}`), namespace: namespace || undefined, name: name.join('~') }
  }
}

/** Drops the server's warnings, as kube-controller-manager does: it watches all kinds, deprecated ones too. */
function withoutWarnings(transport: Transport): Transport {
  return async (request) => {
    const { headers: { warning: _, ...headers }, ...response } = await transport(request)
    return { ...response, headers }
  }
}

interface Draft {
  finalizers?: string[] | undefined
  ownerReferences?: OwnerReference[] | undefined
}

function withoutOwners(uids: readonly string[]): (metadata: Draft) => void {
  return (metadata) => {
    metadata.ownerReferences = metadata.ownerReferences?.filter(({ uid }) => !uids.includes(uid))
  }
}

/** The references of an object stop to block the deletion of its owners. */
function unblocked(metadata: Draft): void {
  metadata.ownerReferences = metadata.ownerReferences?.map((each) => ({ ...each, blockOwnerDeletion: false }))
}

function withoutFinalizer(name: string): (metadata: Draft) => void {
  return (metadata) => {
    metadata.finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== name)
  }
}

/** Returns one form of key for objects of all kinds. It has no slash, which would separate a namespace. */
function keyFor(
  resource: AnyResource,
  { metadata }: { readonly metadata: { readonly name: string; readonly namespace?: string | undefined } },
): string {
  const namespace = resource.scope === 'Namespaced' ? (metadata.namespace ?? '') : ''
  return [resource.group, resource.kind, namespace, metadata.name].join('~')
}
