/** Garbage collection by owner references for the embedded API, like kube-controller-manager's. */
import {
  type AnyResource,
  type Client,
  type Clock,
  Cluster,
  Controller,
  type Delta,
  type Draft,
  finalizers,
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
import { jsonEqual } from '../core/equal.ts'
import { messageOf } from '../core/errors.ts'
import { formatKey, type OwnerReference } from '../core/objects.ts'
import { splitApiVersion } from '../core/owners.ts'
import { CRD, groupResourceOf } from '../core/resource.ts'
import { ORPHAN, type OwnerState, plan, stateOfOwner } from './collectable.ts'

export interface GarbageCollectorOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly log: Log
  /** Source of back-off jitter: returns numbers in [0, 1). Default: Math.random. */
  readonly random?: (() => number) | undefined
}

/** Kinds that are not watched: Events own nothing, expire by age, and are numerous. */
const IGNORED = new Set(['Event'])

/**
 * How often a key is deleted within a second. An operator whose watch is late makes an object again as soon as it is
 * deleted: without a limit, the two would go on until the watch has caught up, and time would not pass meanwhile.
 */
const MAX_DELETES = 10
const DELETES_MS = 1000

/** Back-off of failed discovery. */
const RETRY = { baseMs: 1000, maxMs: 60_000 }

interface Found {
  readonly resource: AnyResource
  readonly object: KubeObject
}

export class GarbageCollector implements Runnable {
  readonly name = 'garbage-collector'
  readonly #cluster: Cluster
  readonly #client: Client
  readonly #controller: Controller
  readonly #options: GarbageCollectorOptions
  /** The watched kinds by `group/kind`, the form that owner references use. */
  readonly #kinds = new Map<string, AnyResource>()
  /** The keys of the dependents of each owner, by the owner's uid. */
  readonly #dependents = new Map<string, Set<string>>()
  /** Sources of the controller that are not in sync yet. */
  readonly #starting = new Set<Promise<void>>()
  /** How often keys were deleted since then. */
  readonly #deletes = new Map<string, number>()
  #deletesMs = 0
  /** Opened to request another discovery of kinds. */
  #rescan = new Latch()
  #scanning = false
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
    // All parts end together: none works without the others.
    const end = (): void => scope.abort(new DOMException('The garbage collector has stopped', 'AbortError'))
    const { signal: own } = scope
    const parts = [this.#cluster.start(own), this.#controller.start(own), this.#scanKinds(own)]
      .map((part) => part.finally(end))
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

  /**
   * Starts watches of new kinds, and stops those of removed kinds. A kind whose version or scope has changed is watched
   * anew.
   */
  async #scan(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const all = await discoverKinds(this.#cluster.api, ['list', 'watch', 'delete'], signal)
    const watched = all.filter(({ kind }) => !IGNORED.has(kind))
    const served = new Map(watched.map((resource) => [`${resource.group}/${resource.kind}`, resource]))
    for (const [id, resource] of this.#kinds) {
      if (jsonEqual(served.get(id), resource)) continue
      this.#kinds.delete(id)
      this.#cluster.cache.remove(resource)
    }
    for (const [id, resource] of served) {
      if (this.#kinds.has(id)) continue
      this.#kinds.set(id, resource)
      const informers = this.#cluster.cache.declare(resource)
      for (const informer of informers) informer.addHandler((delta) => this.#index(resource, delta))
      const map = (object: KubeObject): ObjectKey[] => this.#affectedKeys(resource, object)
      // Never waits: a kind whose first list does not arrive must not block the watches of other kinds.
      const started = this.#controller.watch(new KindSource({ informers, map, own: true, clock, log }))
        .catch((error: unknown) => {
          if (signal.aborted || this.#kinds.get(id) !== resource) return
          this.#kinds.delete(id)
          this.#cluster.cache.remove(resource)
          this.#retry(`watch ${groupResourceOf(resource)}`, error)
        }).finally(() => this.#starting.delete(started))
      this.#starting.add(started)
    }
  }

  #index(resource: AnyResource, delta: Delta<KubeObject>): void {
    const key = keyFor(resource, delta.object.metadata)
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
  #affectedKeys(resource: AnyResource, { metadata }: KubeObject): ObjectKey[] {
    const { uid, namespace, ownerReferences = [] } = metadata
    const owners = ownerReferences.flatMap((reference) => {
      const owner = this.#kindOf(reference)
      return owner ? [keyFor(owner, { namespace, name: reference.name })] : []
    })
    return [keyFor(resource, metadata), ...(this.#dependents.get(uid) ?? []), ...owners].map((name) => ({ name }))
  }

  async #collect(key: string): Promise<Result> {
    const found = this.#read(key)
    if (!found) return
    const { object } = found
    const { uid, namespace, ownerReferences = [] } = object.metadata
    const owners = await Promise.all(ownerReferences.map((reference) => this.#ownerOf(reference, namespace)))
    const dependents = [...this.#dependents.get(uid) ?? []].flatMap((key) => this.#read(key) ?? [])
    const step = plan(object, owners.map(({ state }) => state), dependents.map(({ object }) => object))
    switch (step.do) {
      case 'nothing':
        // The owner may be gone before a watch delivers it: then no event tells of that.
        return { requeue: owners.some(({ isSeen }) => !isSeen) }
      case 'delete':
        if (!this.#mayDelete(key)) return { requeueAfter: DELETES_MS }
        if (step.unblock) {
          await this.#editOwners(found, (all) => all.map((each) => ({ ...each, blockOwnerDeletion: false })))
        }
        return void await this.#client.delete(found.resource, object, { uid, propagation: step.propagation })
      case 'forgetOwners':
        return void await this.#editOwners(found, (all) => all.filter(({ uid }) => !step.uids.includes(uid)))
      case 'finish':
        for (const dependent of step.finalizer === ORPHAN ? dependents : []) {
          await this.#editOwners(dependent, (all) => all.filter((each) => each.uid !== uid))
        }
        return void await this.#edit(found, (draft) => void finalizers.remove(draft, step.finalizer))
    }
  }

  #mayDelete(key: string): boolean {
    const nowMs = this.#options.clock.monotonic()
    if (nowMs - this.#deletesMs >= DELETES_MS) {
      this.#deletesMs = nowMs
      this.#deletes.clear()
    }
    const count = (this.#deletes.get(key) ?? 0) + 1
    if (count <= MAX_DELETES) this.#deletes.set(key, count)
    return count <= MAX_DELETES
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
    const where = { namespace: namespace ?? '', name: reference.name }
    const cached = this.#read(keyFor(resource, where))?.object
    if (cached?.metadata.uid === reference.uid) return { state: stateOfOwner(cached, reference), isSeen: true }
    const live = (await this.#client.get(resource, where)) as KubeObject | undefined
    return { state: stateOfOwner(live, reference), isSeen: false }
  }

  async #editOwners(found: Found, change: (all: OwnerReference[]) => OwnerReference[]): Promise<void> {
    await this.#edit(found, ({ metadata }) => {
      metadata.ownerReferences = change(metadata.ownerReferences ?? [])
    })
  }

  async #edit({ resource, object: { metadata } }: Found, change: (draft: Draft<KubeObject>) => void): Promise<void> {
    const { namespace = '', name, uid } = metadata
    await this.#client.edit(resource, { namespace, name }, (draft: Draft<KubeObject>) => {
      if (draft.metadata.uid === uid) change(draft)
    })
  }

  #read(key: string): Found | undefined {
    const [group, kind, namespace, ...name] = key.split('~')
    const resource = this.#kinds.get(`${group}/${kind}`)
    const [informer] = (resource && this.#cluster.cache.informersOf(resource)) ?? []
    const object = informer?.store.get(formatKey({ namespace, name: name.join('~') })) as KubeObject | undefined
    return resource && object && { resource, object }
  }

  #kindOf({ apiVersion, kind }: OwnerReference): AnyResource | undefined {
    return this.#kinds.get(`${splitApiVersion(apiVersion).group}/${kind}`)
  }
}

/** Drops the server's warnings, as kube-controller-manager does: it watches all kinds, deprecated ones too. */
function withoutWarnings(transport: Transport): Transport {
  return async (request) => {
    const { headers: { warning: _, ...headers }, ...response } = await transport(request)
    return { ...response, headers }
  }
}

/** Returns one form of key for objects of all kinds. It has no slash, which would separate a namespace. */
function keyFor({ group, kind, scope }: AnyResource, { namespace = '', name }: ObjectKey): string {
  return [group, kind, scope === 'Namespaced' ? namespace : '', name].join('~')
}
