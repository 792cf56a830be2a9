/**
 * Owner-reference collection: what kube-controller-manager's garbage collector does, for the embedded API.
 * It watches every kind that can be deleted, those of CustomResourceDefinitions that come and go included.
 */
import {
  type AnyResource,
  type Client,
  type Clock,
  Cluster,
  Controller,
  KindSource,
  type KubeObject,
  type Log,
  type ObjectKey,
  type Runnable,
  type Transport,
} from 'kubeloop'
import { abortScope, untilAborted } from '../async/abort.ts'
import { backoffMs } from '../async/backoff.ts'
import { Latch } from '../async/latch.ts'
import { formatMs } from '../core/duration.ts'
import { discoverKinds } from '../client/discovery.ts'
import { messageOf } from '../core/errors.ts'
import type { OwnerReference } from '../core/objects.ts'
import { groupResourceOf } from '../core/resource.ts'
import { ORPHAN, type OwnerState, plan, stateOfOwner } from './collectable.ts'

export interface GarbageCollectorOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly log: Log
  /** For back-off. Default: Math.random. */
  readonly random?: (() => number) | undefined
}

const CRD: AnyResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
}

/** Records of what happens rather than things that are: they own nothing, go by age, and come in crowds. */
const IGNORED = new Set(['Event'])

/** Between tries to see which kinds there are. */
const RETRY = { baseMs: 1000, maxMs: 60_000 }

export class GarbageCollector implements Runnable {
  readonly name = 'garbage-collector'
  readonly #cluster: Cluster
  /** Reads from the server: what the cache has is asked for by {@link GarbageCollector.#read}. */
  readonly #client: Client
  readonly #controller: Controller
  readonly #options: GarbageCollectorOptions
  /** Every kind that is watched, by `group/kind` as owner references name it. */
  readonly #kinds = new Map<string, AnyResource>()
  /** The objects that name each uid as an owner: `uid → keys`. */
  readonly #dependents = new Map<string, Set<string>>()
  /** The sources of the controller that are not in sync yet. */
  readonly #beginning = new Set<Promise<void>>()
  /** Opened when it must look for kinds again. */
  #again = new Latch()
  #looking = false
  /** How many looks in a row have failed. */
  #failures = 0
  #stopTimer: (() => void) | undefined

  constructor(options: GarbageCollectorOptions) {
    const { transport, clock, log, random } = options
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

  /** Whether nothing waits to be collected. A look for kinds that waits for its next try does not count. */
  get idle(): boolean {
    return !this.#looking && !this.#again.isOpen && this.#controller.idle
  }

  async start(signal: AbortSignal): Promise<void> {
    const scope = abortScope(signal)
    const [crds] = this.#cluster.cache.declare(CRD)
    crds!.addHandler(() => this.#again.open())
    const parts = [this.#cluster, this.#controller, { start: (signal: AbortSignal) => this.#followKinds(signal) }].map(
      async (part) => {
        try {
          await part.start(scope.signal)
        } finally {
          // The parts end together: each is useless without the others.
          scope.abort(new DOMException('The garbage collector has ended', 'AbortError'))
        }
      },
    )
    await Promise.allSettled(parts)
    await Promise.allSettled(this.#beginning)
    scope[Symbol.dispose]()
    await Promise.all(parts)
  }

  /** Looks for kinds at the start and after every change of a definition; after a failure again by itself. */
  async #followKinds(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#stopTimer?.()
      // Before the look: a change that comes in its middle needs another one.
      const again = (this.#again = new Latch())
      this.#looking = true
      try {
        await this.#look(signal)
        this.#failures = 0
      } catch (error) {
        if (!signal.aborted) this.#retry('see which kinds there are', error)
      }
      this.#looking = false
      await untilAborted(again.opened, signal).catch(() => {})
    }
    this.#stopTimer?.()
  }

  #retry(what: string, error: unknown): void {
    const { clock, log } = this.#options
    const ms = backoffMs(this.#failures++, RETRY, () => 0)
    log.error(`The garbage collector cannot ${what}: ${messageOf(error)}; it tries again in ${formatMs(ms)}`)
    this.#stopTimer?.()
    this.#stopTimer = clock.after(ms, () => this.#again.open())
  }

  /** Watches kinds that are new, and no longer those that went. */
  async #look(signal: AbortSignal): Promise<void> {
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
      for (const informer of informers) {
        informer.addHandler((delta) =>
          this.#index(
            resource,
            delta.kind === 'updated' ? delta.old : undefined,
            delta.object,
            delta.kind === 'deleted',
          )
        )
      }
      this.#watch(
        id,
        resource,
        new KindSource({ informers, map: (object) => this.#concerned(resource, object), own: true, clock, log }),
        signal,
      )
    }
  }

  /** Never waits: a kind whose first list does not come must not keep the others from being watched. */
  #watch(id: string, resource: AnyResource, source: KindSource, signal: AbortSignal): void {
    const beginning = this.#controller.watch(source).catch((error: unknown) => {
      if (signal.aborted || this.#kinds.get(id) !== resource) return
      this.#kinds.delete(id)
      this.#cluster.cache.remove(resource)
      this.#retry(`watch ${groupResourceOf(resource)}`, error)
    }).finally(() => this.#beginning.delete(beginning))
    this.#beginning.add(beginning)
  }

  /** Notes whose dependent an object is. */
  #index(resource: AnyResource, old: KubeObject | undefined, now: KubeObject, deleted: boolean): void {
    const key = keyFor(resource, now)
    for (const { uid } of old?.metadata.ownerReferences ?? []) this.#dependents.get(uid)?.delete(key)
    for (const { uid } of now.metadata.ownerReferences ?? []) {
      const keys = this.#dependents.get(uid) ?? new Set()
      if (deleted) keys.delete(key)
      else keys.add(key)
      if (keys.size > 0) this.#dependents.set(uid, keys)
      else this.#dependents.delete(uid)
    }
  }

  /** A change concerns the object itself, its dependents, and owners that wait for it. */
  #concerned(resource: AnyResource, object: KubeObject): ObjectKey[] {
    const { uid, namespace, ownerReferences = [] } = object.metadata
    const keys = [keyFor(resource, object), ...(this.#dependents.get(uid) ?? [])]
    for (const reference of ownerReferences) {
      const owner = this.#kindOf(reference)
      if (owner) keys.push(keyFor(owner, { metadata: { name: reference.name, namespace: namespace ?? undefined } }))
    }
    return keys.map((name) => ({ name }))
  }

  async #collect(key: string): Promise<void> {
    const { resource, namespace, name } = this.#parse(key)
    if (!resource) return
    const object = this.#read(resource, namespace, name)
    if (!object) return
    const references = object.metadata.ownerReferences ?? []
    const states = await Promise.all(references.map((reference) => this.#stateOf(reference, namespace)))
    const decided = plan(object, states, this.#blocking(object.metadata.uid))
    const ref = { namespace: namespace ?? '', name }
    switch (decided.do) {
      case 'nothing':
        return
      case 'delete':
        await this.#client.delete(resource, ref, {
          uid: object.metadata.uid,
          propagation: decided.foreground ? 'Foreground' : 'Background',
        })
        return
      case 'forgetOwners':
        await this.#edit(resource, ref, object.metadata.uid, (metadata) => {
          metadata.ownerReferences = metadata.ownerReferences?.filter(({ uid }) => !decided.uids.includes(uid))
        })
        return
      case 'finish':
        await this.#edit(resource, ref, object.metadata.uid, (metadata) => {
          metadata.finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== decided.finalizer)
        })
        return
      case 'orphan':
        await this.#orphan(object, resource)
        return
    }
  }

  async #orphan(owner: KubeObject, resource: AnyResource): Promise<void> {
    const { uid } = owner.metadata
    for (const key of this.#dependents.get(uid) ?? []) {
      const { resource: kind, namespace, name } = this.#parse(key)
      const dependent = kind && this.#read(kind, namespace, name)
      if (!dependent) continue
      await this.#edit(kind, { namespace: namespace ?? '', name }, dependent.metadata.uid, (metadata) => {
        metadata.ownerReferences = metadata.ownerReferences?.filter((reference) => reference.uid !== uid)
      })
    }
    await this.#edit(
      resource,
      { namespace: owner.metadata.namespace ?? '', name: owner.metadata.name },
      uid,
      (metadata) => {
        metadata.finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== ORPHAN)
      },
    )
  }

  /** An owner that the cache does not have is asked for: the cache may be behind, and a deletion cannot be undone. */
  async #stateOf(reference: OwnerReference, namespace: string | undefined): Promise<OwnerState> {
    const resource = this.#kindOf(reference)
    // A kind that is not served may be so for a moment only: nothing is deleted for that.
    if (!resource) return 'present'
    // Owners do not reach out of their namespace: the real collector leaves such a dependent alone, too.
    if (resource.scope === 'Namespaced' && !namespace) return 'present'
    const where = resource.scope === 'Namespaced' ? namespace : undefined
    const cached = this.#read(resource, where, reference.name)
    if (cached?.metadata.uid === reference.uid) return stateOfOwner(cached, reference)
    const live = (await this.#client.get(resource, { namespace: where ?? '', name: reference.name })) as
      | KubeObject
      | undefined
    return stateOfOwner(live, reference)
  }

  /** How many dependents keep their owner from going. */
  #blocking(uid: string): number {
    let count = 0
    for (const key of this.#dependents.get(uid) ?? []) {
      const { resource, namespace, name } = this.#parse(key)
      const dependent = resource && this.#read(resource, namespace, name)
      if (
        dependent?.metadata.ownerReferences?.some((reference) => reference.uid === uid && reference.blockOwnerDeletion)
      ) count++
    }
    return count
  }

  async #edit(
    resource: AnyResource,
    ref: { namespace: string; name: string },
    uid: string,
    change: (metadata: Draft) => void,
  ): Promise<void> {
    await this.#client.edit(resource, ref, (object: { metadata: Draft & { uid: string } }) => {
      if (object.metadata.uid === uid) change(object.metadata)
    })
  }

  #read(resource: AnyResource, namespace: string | undefined, name: string): KubeObject | undefined {
    const [informer] = this.#cluster.cache.informersOf(resource) ?? []
    return informer?.store.get(namespace ? `${namespace}/${name}` : name)
  }

  #kindOf({ apiVersion, kind }: OwnerReference): AnyResource | undefined {
    return this.#kinds.get(`${apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''}/${kind}`)
  }

  #parse(key: string): { resource: AnyResource | undefined; namespace: string | undefined; name: string } {
    const [group, kind, namespace, ...name] = key.split('~')
    return { resource: this.#kinds.get(`${group}/${kind}`), namespace: namespace || undefined, name: name.join('~') }
  }
}

interface Draft {
  finalizers?: string[] | undefined
  ownerReferences?: OwnerReference[] | undefined
}

/** One key for objects of all kinds. It has no slash, which would make it a key with a namespace. */
function keyFor(
  resource: AnyResource,
  { metadata }: { readonly metadata: { readonly name: string; readonly namespace?: string | undefined } },
): string {
  const namespace = resource.scope === 'Namespaced' ? (metadata.namespace ?? '') : ''
  return [resource.group, resource.kind, namespace, metadata.name].join('~')
}
