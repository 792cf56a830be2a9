/** Implements Client: the API's verbs with owners, cached reads and without no-op writes. */
import { clusterSuffix } from '../core/resource.ts'
import { ApiError, fileMissing } from '../core/errors.ts'
import type { Fence } from '../core/fence.ts'
import type { Index } from '../core/object_indexer.ts'
import { formatKey, keyOf, type KubeObject, type Ref, type StatusOf } from '../core/objects.ts'
import { isPartial } from '../core/partial.ts'
import {
  type AnyResource,
  apiVersionOf,
  checkWritable,
  groupResourceOf,
  type Resource,
  type ResourceOf,
  wholeOf,
  type Writable,
} from '../core/resource.ts'
import { untilAborted } from '../async/abort.ts'
import { type Api, resultOf, type Written } from './api.ts'
import { ApplyCache } from './apply_cache.ts'
import type {
  CachingReader,
  Client,
  DeleteAllOptions,
  DeleteOptions,
  DraftToWrite,
  Editable,
  Ensured,
  ListOptions,
  ListPage,
  LookupOptions,
  OwnedBy,
  PageOptions,
  PatchOptions,
  Placed,
  Reader,
  SendOptions,
  Subresource,
  WatchBookmark,
  WatchChange,
  WatchOptions,
  WriteOptions,
  WriteRecord,
} from './client.ts'
import { checked, deletion } from './call_options.ts'
import { isMissingObject } from './codec.ts'
import { createIfMissing, createOrUpdate, edit, type Reads, refuseStatus } from './edit.ts'
import { type KindName, RestMapper } from './rest_mapper.ts'
import { LiveReader } from './live_reader.ts'
import { pages } from './pages.ts'
import { type StatedStatuses, writeStatus } from './set_status.ts'
import { refuseSharing } from './sharing.ts'
import { type NamedTarget, owned, targetOf, targetOfNew, wholeObject } from './target.ts'
import { type Patch, patchBody, type Target, type WriteQuery } from './requests.ts'
import type { OnWrite } from './subresource_verbs.ts'
import type { SubresourceAnswer, SubresourceBody, SubresourceName } from './subresources.ts'
import { watchChanges } from './watch_events.ts'

/** Rejects if an owner of an object to write is in another cluster. `action`: the write, for the error. */
export type OwnerCheck = (object: object, action: () => string, api: Api, signal?: AbortSignal) => Promise<void>

/** Options of {@link KubeClient}. */
export interface KubeClientOptions {
  readonly api: Api
  /** Returns the reader; `live` reads from the server, and is aborted with the client. Default: `live`. */
  readonly reader?: ((live: Reader) => Reader) | undefined
  /** The field manager that owns the written fields. */
  readonly fieldManager: string
  /** How the server treats unknown fields. Default: the server's own, `Warn`. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined
  /** The controller that writes, if the operator has several. */
  readonly writer?: string | undefined
  /** Called after every successful write except dry runs. */
  readonly onWrite?: ((write: WriteRecord) => void) | undefined
  /** Called for an object that a lookup on the server leaves out, as the index's function threw. Default: ignored. */
  readonly onIndexError?: ((object: KubeObject, error: unknown) => void) | undefined
  /** The results of earlier applies, shared by the clients of one operator. */
  readonly applied?: ApplyCache
  /** Called before each create, update and apply. Default: none, as for a client of one cluster. */
  readonly checkOwners?: OwnerCheck | undefined
  /** The kinds that the server serves, shared likewise. */
  readonly kinds?: RestMapper
}

/** The client: reads by its reader, writes by its Api. */
export class KubeClient implements Client {
  readonly #options: KubeClientOptions & { readonly applied: ApplyCache; readonly kinds: RestMapper }
  readonly #api: Api
  readonly #reader: Reader
  #stated: StatedStatuses = new WeakMap()
  #live: Client | undefined

  constructor(options: KubeClientOptions) {
    const { applied = new ApplyCache(), kinds = new RestMapper(options.api) } = options
    this.#options = { ...options, applied, kinds }
    this.#api = options.api
    const live = new LiveReader(options.api, options.onIndexError)
    this.#reader = options.reader?.(live) ?? live
  }

  /** Returns a copy for one run: the run's signal aborts its calls, and `onWrite` is called after its writes. */
  bound(run: { readonly signal: AbortSignal }, onWrite?: (write: WriteRecord) => void): KubeClient {
    return this.#copy({ api: this.#api.bound(run), onWrite })
  }

  /** Returns a copy for the holder of a lease: no write begins once the fence has fallen. */
  fenced(fence: Fence): KubeClient {
    return this.#copy({ api: this.#api.fenced(fence) })
  }

  /** Returns a copy for one of several controllers, with its own field manager if it has one. */
  as(writer: string | undefined, fieldManager: string | undefined): KubeClient {
    return this.#copy({ writer, fieldManager: fieldManager ?? this.#options.fieldManager })
  }

  get live(): Client {
    if (this.#live) return this.#live
    const live = this.#copy({ reader: undefined })
    live.#stated = this.#stated
    return (this.#live = live)
  }

  #copy(changes: Partial<KubeClientOptions>): KubeClient {
    return new KubeClient({ ...this.#options, ...changes })
  }

  /** See {@link Reads}. */
  get<T extends KubeObject>(resource: ResourceOf<T>, ref: Ref<NoInfer<T>>, forWrite?: boolean): Promise<T | undefined> {
    return (this.#reader as Reads).get(resource, ref, forWrite)
  }

  async list<T extends KubeObject>(resource: ResourceOf<T>, options?: ListOptions): Promise<readonly T[]> {
    return await this.#reader.list(resource, checked(options))
  }

  lookup<T extends KubeObject>(index: Index<T>, key: string, options?: LookupOptions): Promise<readonly T[]> {
    return this.#reader.lookup(index, key, checked(options))
  }

  pages<T extends KubeObject>(resource: ResourceOf<T>, options: PageOptions = {}): AsyncIterable<ListPage<T>> {
    return pages(this.#api, { resource, namespace: options.namespace }, checked(options)) as AsyncIterable<ListPage<T>>
  }

  watch<T extends KubeObject, Bookmarks extends boolean = false>(
    resource: ResourceOf<T>,
    options: WatchOptions<Bookmarks> = {},
  ): AsyncIterable<WatchChange<T> | (true extends Bookmarks ? WatchBookmark : never)> {
    const { namespace, signal, ...rest } = checked(options)
    return watchChanges<T>(this.#api, { resource, namespace }, rest, signal) as AsyncIterable<WatchChange<T>>
  }

  async create<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options: WriteOptions & OwnedBy<O> = {},
  ): Promise<T> {
    const wanted = wholeObject(resource, object as object, options, 'create')
    const target = targetOfNew(resource, wanted)
    await this.#checkOwners('create', target, wanted, options)
    const written = await this.#api.create(target, wanted, this.#query(options), options.signal)
    return this.#report('create', resource, written, 'created', options) as T
  }

  async update<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    object: NoInfer<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    const wanted = wholeObject(resource, object, options, 'update')
    const target = targetOf(resource, wanted, 'update')
    await this.#checkOwners('update', target, wanted, options)
    const cached = 'status' in wanted ? await this.#current(resource, target) : undefined
    const written = await this.#api.update(target, wanted, this.#query(options), options.signal)
    // A status that is left out is no change. Without the cached object, nothing shows what was changed.
    if (cached && cached.metadata.resourceVersion === object.metadata.resourceVersion) {
      refuseStatus(`update ${this.#api.describe(target)}`, wanted, cached, written.object)
    }
    return this.#report('update', resource, written, resultOf(written, object), options) as T
  }

  async apply<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options: WriteOptions & OwnedBy<O> & { force?: boolean } = {},
  ): Promise<T> {
    const wanted = wholeObject(resource, object as object, options, 'apply')
    const target = targetOf(resource, wanted, 'apply')
    const query = this.#query(options)
    const current = await this.#current(resource, target)
    // By one field manager, two owners would take the object from each other without an error of the server.
    if (current) owned(resource, current, options.owner)
    // Without a cached object there is nothing to compare a remembered result with.
    const memory = options.dryRun || !this.#isCached(resource, target)
      ? undefined
      : this.#options.applied.of(resource, target, query.fieldManager)
    if (current && memory?.isUpToDate(wanted, current)) {
      return this.#report('apply', resource, { object: current, created: false }, 'unchanged', options) as T
    }
    await this.#checkOwners('apply', target, wanted, options)
    await this.#checkSharing(target, wanted, query.fieldManager, options)
    const forced = { ...query, force: options.force ?? true }
    const written = await this.#api.patch(target, 'apply', wanted, forced, options.signal)
    memory?.remember(wanted, written.object)
    return this.#report('apply', resource, written, resultOf(written, current), options) as T
  }

  async createIfMissing<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options: WriteOptions & OwnedBy<O> = {},
  ): Promise<Ensured<T>> {
    return await createIfMissing(this, resource, object, options)
  }

  async edit<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    change: (draft: DraftToWrite<NoInfer<T>, NoInfer<D>>) => void,
    options: WriteOptions = {},
  ): Promise<T | undefined> {
    return await edit(this, resource, ref, change, options)
  }

  async createOrUpdate<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    change: (draft: Editable<NoInfer<D>>) => void,
    options: WriteOptions = {},
  ): Promise<Ensured<T>> {
    return await createOrUpdate(this, resource, ref, change, options)
  }

  async patch<T extends KubeObject>(
    resource: ResourceOf<T>,
    ref: Ref<NoInfer<T>>,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    if ((options as WriteOptions).owner) {
      throw new TypeError(`Cannot patch ${resource.kind}: use edit or apply to set its owner`)
    }
    const target: Target = { ...targetOf(resource, ref, 'patch'), subresource: options.subresource }
    const [type, body] = patchBody(patch, options.resourceVersion)
    const written = await this.#api.patch(target, type, body, this.#query(options), options.signal)
    const verb = options.subresource === 'status' ? 'status' : 'patch'
    return this.#report(verb, resource, written, resultOf(written, ref), options) as T
  }

  async setStatus<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    status: StatusOf<NoInfer<T>>,
    options: SendOptions = {},
  ): Promise<T> {
    checkWritable(resource)
    const target = targetOf(resource, ref, 'set the status of')
    const { object, before } = await writeStatus({
      api: this.#api,
      target,
      ref,
      status,
      cached: await this.#current(resource, target),
      query: this.#query(options),
      signal: options.signal,
      stated: this.#stated,
    })
    const written = { object, created: false }
    return this.#report('status', resource, written, resultOf(written, before), options) as T
  }

  async delete<T extends KubeObject>(
    resource: ResourceOf<T>,
    ref: Ref<NoInfer<T>>,
    options: DeleteOptions = {},
  ): Promise<boolean> {
    const target = targetOf(resource, ref, 'delete')
    try {
      await this.#api.delete(target, deletion(options), options.signal)
    } catch (error) {
      if (isMissingObject(error)) return false
      throw error
    }
    this.#notify('delete', resource, target, 'deleted', options)
    return true
  }

  async deleteAll<T extends KubeObject>(resource: ResourceOf<T>, options: DeleteAllOptions): Promise<readonly T[]> {
    const { namespace } = options
    const what = `Cannot delete all ${groupResourceOf(resource)}`
    if (resource.scope === 'Namespaced' && !namespace) {
      throw new TypeError(`${what}: it needs a namespace; the server deletes in one namespace at a time`)
    }
    if (resource.scope === 'Cluster' && namespace) {
      throw new TypeError(`${what} in a namespace: it is cluster-scoped, and all its objects would be deleted`)
    }
    const remaining = await this.#api.deleteAll({ resource, namespace }, deletion(options), options.signal)
    this.#notify('delete', resource, { namespace, name: '*' }, 'deleted', options)
    return remaining as T[]
  }

  subresource<T extends KubeObject, N extends SubresourceName>(
    resource: ResourceOf<T>,
    ref: Ref<NoInfer<T>>,
    name: N,
  ): Subresource<SubresourceBody<N, T>, SubresourceAnswer<N, T>> {
    type Verbs = Subresource<SubresourceBody<N, T>, SubresourceAnswer<N, T>>
    const action = `address the ${name} of`
    // Never read as metadata only: the result may be written back.
    const target = { ...targetOf(wholeOf(resource), ref, action), subresource: name }
    const call = <V extends keyof Verbs>(verb: V) => async (...args: Parameters<Verbs[V]>) => {
      const { subresourceOf } = await import('./subresource_verbs.ts')
        .catch(fileMissing(`${action} ${resource.kind}`, 'subresources.js'))
      const verbs = subresourceOf<T, N>(this.#api, target, ref, {
        query: (options) => this.#query(options),
        onWrite: (...write) => this.#notify(...write),
      })
      return await (verbs[verb] as (...args: Parameters<Verbs[V]>) => Promise<SubresourceAnswer<N, T>>)(...args)
    }
    return {
      get: call('get'),
      create: call('create'),
      update: call('update'),
      patch: call('patch'),
      apply: call('apply'),
    }
  }

  async kindOf<T extends KubeObject, D>(
    name: KindName | { readonly group: string; readonly version: string; readonly kind: string },
  ): Promise<Resource<T, D>> {
    const { signal } = this.#api
    signal?.throwIfAborted()
    const { kind } = name
    const apiVersion = 'apiVersion' in name ? name.apiVersion : apiVersionOf(name)
    const found = await untilAborted(this.#options.kinds.find({ apiVersion, kind }), signal)
    if (found) return found
    const place = `the server${clusterSuffix(this.#api)}`
    const message = `Cannot find the kind ${kind} of ${apiVersion}: ${place} does not serve it (is the CRD installed?)`
    const status = { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, message }
    throw new ApiError(message, status, { code: 404 })
  }

  async #checkOwners(verb: string, target: Target, object: object, { signal }: SendOptions): Promise<void> {
    await this.#options.checkOwners?.(object, () => `${verb} ${this.#api.describe(target)}`, this.#api, signal)
  }

  /** Throws if the apply would remove what another controller of this operator applied by the same field manager. */
  async #checkSharing(target: NamedTarget, wanted: object, manager: string, options: SendOptions): Promise<void> {
    const { writer } = this.#options
    if (writer === undefined || options.dryRun) return
    await refuseSharing(this.#api, target, wanted, {
      manager,
      writer,
      applied: this.#options.applied,
      signal: options.signal,
    })
  }

  #query(options: SendOptions): WriteQuery & { fieldManager: string } {
    checked(options)
    return {
      dryRun: options.dryRun,
      fieldManager: options.fieldManager ?? this.#options.fieldManager,
      fieldValidation: options.fieldValidation ?? this.#options.fieldValidation,
    }
  }

  /** Returns whether a read of the object now sends no request, and shows what the server has. */
  #isCached(resource: AnyResource, target: NamedTarget): boolean {
    const reader = this.#reader as Partial<CachingReader>
    return reader.watches?.(resource, target) ?? !(reader instanceof LiveReader)
  }

  /**
   * Returns the cached object before a write. If the object is not cached, reading it would cost the request that it
   * may save, and a permission that the write does not need.
   */
  async #current(resource: AnyResource, target: NamedTarget): Promise<KubeObject | undefined> {
    const object = this.#isCached(resource, target)
      ? await this.#reader.get<KubeObject>(resource, { namespace: target.namespace ?? '', name: target.name })
      : undefined
    // A stripped field may be the one that differs.
    return object && isPartial(object) ? undefined : object
  }

  #report(
    verb: WriteRecord['verb'],
    resource: AnyResource,
    { object }: Written,
    result: WriteRecord['result'],
    options: SendOptions,
  ): KubeObject {
    this.#notify(verb, resource, keyOf(object), result, options)
    return object
  }

  #notify(...[verb, { group, kind }, key, result, { dryRun }]: Parameters<OnWrite>): void {
    if (!dryRun) this.#options.onWrite?.({ verb, group, kind, key: formatKey(key), result })
  }
}
