/** The Client: the API's verbs, with what a reconciler wants around them — owners, no-op writes left out, retries on conflict. */
import { asJson, jsonEqual } from '../core/equal.ts'
import { stringifyExact } from '../core/exact_json.ts'
import { ApiError } from '../core/errors.ts'
import type { Fence } from '../core/fence.ts'
import type { Index } from '../core/object_indexer.ts'
import { type Draft, formatKey, keyOf, type KubeObject, type Ref, type StatusOf } from '../core/objects.ts'
import { isPartial } from '../core/partial.ts'
import {
  type AnyResource,
  apiVersionOf,
  checkWritable,
  groupResourceOf,
  type Resource,
  wholeOf,
  type Writable,
} from '../core/resource.ts'
import { untilAborted } from '../async/abort.ts'
import { type Api, clusterSuffix, type Written } from './api.ts'
import { ApplyCache } from './apply_cache.ts'
import type {
  CachingReader,
  Client,
  DeleteAllOptions,
  DeleteOptions,
  Editable,
  Ensured,
  ListOptions,
  ListPage,
  OwnedBy,
  PageOptions,
  Patch,
  PatchOptions,
  Placed,
  Reader,
  SendOptions,
  Subresource,
  WatchChange,
  WatchOptions,
  WriteOptions,
  WriteRecord,
} from './client.ts'
import { isMissingObject } from './codec.ts'
import { createOrUpdate, edit } from './edit.ts'
import { type KindName, RestMapper } from './rest_mapper.ts'
import { LiveReader } from './live_reader.ts'
import { pages } from './pages.ts'
import { patchBody } from './patches.ts'
import { type NamedTarget, owned, targetOf, targetOfNew, uidIn, whole } from './target.ts'
import { type Target, wireObject, type WriteQuery } from './requests.ts'
import { statusError, statusPatch } from './status_patch.ts'
import { type SubresourceAnswer, type SubresourceBody, subresourceBody, type SubresourceName } from './subresources.ts'
import { watchChanges } from './watch_changes.ts'

/** @internal A kind that is read as T. */
// deno-lint-ignore no-explicit-any -- reading does not depend on D
type Of<T extends KubeObject> = Resource<T, any>

/** Options of {@link KubeClient}. */
export interface KubeClientOptions {
  readonly api: Api
  /** Where reads come from, given the reads that go to the server: those end with the client. Default: the server. */
  readonly reader?: ((live: Reader) => Reader) | undefined
  /** Who owns the fields that this client writes. */
  readonly fieldManager: string
  /** What the server does about fields it does not know. Default: the server's own, `Warn`. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined
  /** Hears of every write. */
  readonly onWrite?: ((write: WriteRecord) => void) | undefined
  /** What earlier applies answered; shared by the clients of one operator. */
  readonly applied?: ApplyCache
  /** Which kinds the server serves; shared likewise. */
  readonly kinds?: RestMapper
}

/** The client: reads by its reader, writes by its Api. */
export class KubeClient implements Client {
  readonly #options: KubeClientOptions
  readonly #api: Api
  readonly #reader: Reader
  readonly #applied: ApplyCache
  readonly #kinds: RestMapper
  #live: Client | undefined

  constructor(options: KubeClientOptions) {
    this.#options = options
    this.#api = options.api
    const live = new LiveReader(options.api)
    this.#reader = options.reader?.(live) ?? live
    this.#applied = options.applied ?? new ApplyCache()
    this.#kinds = options.kinds ?? new RestMapper(options.api)
  }

  /** The same client for one run: its calls end with the run's signal, and its writes are told to `onWrite`. */
  bound(run: { readonly signal: AbortSignal }, onWrite?: (write: WriteRecord) => void): KubeClient {
    const api = this.#api.bound(run)
    return new KubeClient({
      ...this.#options,
      applied: this.#applied,
      kinds: this.#kinds,
      api,
      onWrite: onWrite ?? this.#options.onWrite,
    })
  }

  /** The same client for what works in the name of a lease: no write begins once the fence has fallen. */
  fenced(fence: Fence): KubeClient {
    return new KubeClient({
      ...this.#options,
      applied: this.#applied,
      kinds: this.#kinds,
      api: this.#api.fenced(fence),
    })
  }

  get live(): Client {
    return (this.#live ??= new KubeClient({
      ...this.#options,
      applied: this.#applied,
      kinds: this.#kinds,
      reader: undefined,
    }))
  }

  get<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined> {
    return this.#reader.get(resource, ref)
  }

  list<T extends KubeObject>(resource: Of<T>, options?: ListOptions): Promise<readonly T[]> {
    return this.#reader.list(resource, options)
  }

  lookup<T extends KubeObject>(index: Index<T>, key: string): Promise<readonly T[]> {
    return this.#reader.lookup(index, key)
  }

  async *pages<T extends KubeObject>(
    resource: Of<T>,
    options: PageOptions = {},
  ): AsyncGenerator<ListPage<T>, void, undefined> {
    yield* pages(this.#api, { resource, namespace: options.namespace }, options) as AsyncGenerator<
      ListPage<T>,
      void,
      undefined
    >
  }

  async *watch<T extends KubeObject>(
    resource: Of<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchChange<T>, void, undefined> {
    const { namespace, signal, ...rest } = options
    yield* watchChanges(this.#api, { resource, namespace }, rest, signal) as AsyncGenerator<
      WatchChange<T>,
      void,
      undefined
    >
  }

  async create<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options: WriteOptions & OwnedBy<O> = {},
  ): Promise<T> {
    const wanted = owned(resource, object as object, options.owner)
    const written = await this.#api.create(targetOfNew(resource, wanted), wanted, this.#query(options), options.signal)
    return this.#tell('create', resource, written, 'created', options) as T
  }

  async update<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    object: NoInfer<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    const wanted = whole(resource, owned(resource, object, options.owner), 'update')
    const written = await this.#api.update(
      targetOf(resource, wanted, 'update'),
      wanted,
      this.#query(options),
      options.signal,
    )
    return this.#tell('update', resource, written, changeSince(object, written), options) as T
  }

  async apply<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options: WriteOptions & OwnedBy<O> & { force?: boolean } = {},
  ): Promise<T> {
    const wanted = wireObject(resource, whole(resource, owned(resource, object as object, options.owner), 'apply'))
    const target = targetOf(resource, wanted, 'apply')
    const query = this.#query(options)
    const current = await this.#current(resource, target)
    // Of a kind that is not cached nothing is remembered: there is nothing to compare it with.
    const memory = options.dryRun || !this.#isCached(resource)
      ? undefined
      : this.#applied.of(resource, target, query.fieldManager)
    if (current && memory?.stands(wanted, current)) {
      return this.#tell('apply', resource, { object: current, created: false }, 'unchanged', options) as T
    }
    const written = await this.#api.patch(
      target,
      'apply',
      wanted,
      { ...query, force: options.force ?? true },
      options.signal,
    )
    memory?.remember(wanted, written.object)
    return this.#tell(
      'apply',
      resource,
      written,
      written.created ? 'created' : changeSince(current ?? {}, written),
      options,
    ) as T
  }

  async edit<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    change: (draft: Draft<NoInfer<T>>) => void,
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
    resource: Of<T>,
    ref: Ref<NoInfer<T>>,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    const target: Target = { ...targetOf(resource, ref, 'patch'), subresource: options.subresource }
    const [type, body] = patchBody(patch, options.resourceVersion)
    const written = await this.#api.patch(target, type, body, this.#query(options), options.signal)
    return this.#tell(
      options.subresource === 'status' ? 'status' : 'patch',
      resource,
      written,
      changeSince(ref, written),
      options,
    ) as T
  }

  async setStatus<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    status: StatusOf<NoInfer<T>>,
    options: SendOptions = {},
  ): Promise<T> {
    checkWritable(resource)
    const target = targetOf(resource, ref, 'set the status of')
    const uid = uidIn(ref)
    const wanted = asJson(status)
    const current = (await this.#current(resource, target)) as (KubeObject & { readonly status?: unknown }) | undefined
    // An empty status and none say the same.
    if (current && (!uid || current.metadata.uid === uid) && jsonEqual(current.status ?? {}, wanted)) {
      return this.#tell('status', resource, { object: current, created: false }, 'unchanged', options) as unknown as T
    }
    const patch = stringifyExact(statusPatch(wanted, uid), `set the status of ${this.#api.describe(target)}`, ref)
    const sent = this.#api.patch(
      { ...target, subresource: 'status' },
      'json',
      patch,
      this.#query(options),
      options.signal,
    )
    const written = await sent.catch((error: unknown) => {
      throw statusError(error, target, uid, this.#api)
    })
    return this.#tell('status', resource, written, changeSince(current ?? ref, written), options) as T
  }

  async delete<T extends KubeObject>(
    resource: Of<T>,
    ref: Ref<NoInfer<T>>,
    options: DeleteOptions = {},
  ): Promise<boolean> {
    const target = targetOf(resource, ref, 'delete')
    if (!options.dryRun) this.#applied.forget(resource, formatKey(target))
    try {
      await this.#api.delete(target, deletion(options), options.signal)
    } catch (error) {
      if (isMissingObject(error)) return false
      throw error
    }
    this.#note({ verb: 'delete', kind: resource.kind, key: formatKey(target), result: 'deleted' }, options)
    return true
  }

  async deleteAll<T extends KubeObject>(resource: Of<T>, options: DeleteAllOptions): Promise<readonly T[]> {
    const { namespace } = options
    if (resource.scope === 'Namespaced' && !namespace) {
      throw new TypeError(
        `Cannot delete all ${groupResourceOf(resource)}: it needs a namespace; the server deletes in one at a time`,
      )
    }
    const left = await this.#api.deleteAll({ resource, namespace }, deletion(options), options.signal)
    if (!options.dryRun) { for (const object of left) this.#applied.forget(resource, formatKey(keyOf(object))) }
    this.#note(
      { verb: 'delete', kind: resource.kind, key: formatKey({ namespace, name: '*' }), result: 'deleted' },
      options,
    )
    return left as T[]
  }

  subresource<T extends KubeObject, N extends SubresourceName>(
    resource: Of<T>,
    ref: Ref<NoInfer<T>>,
    name: N,
  ): Subresource<SubresourceBody<N, T>, SubresourceAnswer<N, T>> {
    // A part of an object is always read as a whole: what is read may be written back.
    const target = { ...targetOf(wholeOf(resource), ref, `address the ${name} of`), subresource: name }
    const told = (
      verb: WriteRecord['verb'],
      { object, created }: Written,
      options: SendOptions,
    ): SubresourceAnswer<N, T> => {
      this.#note({
        verb,
        kind: `${resource.kind}/${name}`,
        key: formatKey(target),
        result: created ? 'created' : 'changed',
      }, options)
      return object as unknown as SubresourceAnswer<N, T>
    }
    const [api, body] = [this.#api, subresourceBody.bind(undefined, target)]
    return {
      get: async (options = {}) => (await api.get(target, options.signal)) as unknown as SubresourceAnswer<N, T>,
      create: async (part, options = {}) =>
        told('create', await api.create(target, body(part), this.#query(options), options.signal), options),
      update: async (part, options = {}) =>
        told('update', await api.update(target, body(part), this.#query(options), options.signal), options),
      patch: async (patch, options = {}) =>
        told('patch', await api.patch(target, ...patchBody(patch), this.#query(options), options.signal), options),
      apply: async (part, options = {}) =>
        told(
          'apply',
          await api.patch(
            target,
            'apply',
            body(part),
            { ...this.#query(options), force: options.force ?? true },
            options.signal,
          ),
          options,
        ),
    }
  }

  async kindOf<T extends KubeObject, D>(
    name: KindName | { readonly group: string; readonly version: string; readonly kind: string },
  ): Promise<Resource<T, D>> {
    const { signal } = this.#api
    signal?.throwIfAborted()
    const { kind } = name
    const apiVersion = 'apiVersion' in name ? name.apiVersion : apiVersionOf(name)
    const found = await untilAborted(this.#kinds.find({ apiVersion, kind }), signal)
    if (found) return found
    const message = `Cannot find the kind ${kind} of ${apiVersion}: the server${
      clusterSuffix(this.#api)
    } does not serve it (is the CRD installed?)`
    throw new ApiError(message, { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, message }, {
      code: 404,
    })
  }

  #query(options: SendOptions): WriteQuery & { fieldManager: string } {
    return {
      dryRun: options.dryRun,
      fieldManager: options.fieldManager ?? this.#options.fieldManager,
      fieldValidation: options.fieldValidation ?? this.#options.fieldValidation,
    }
  }

  #isCached(resource: AnyResource): boolean {
    const reader = this.#reader
    return 'watches' in reader ? (reader as CachingReader).watches(resource) : !(reader instanceof LiveReader)
  }

  /** What the cache has of an object before we write it. A request to save a request is not worth it. */
  async #current(resource: AnyResource, target: NamedTarget): Promise<KubeObject | undefined> {
    const isCached = this.#isCached(resource)
    const object = isCached
      ? await this.#reader.get<KubeObject>(resource, { namespace: target.namespace ?? '', name: target.name })
      : undefined
    // What a strip function took out may be what differs.
    return object && isPartial(object) ? undefined : object
  }

  #tell(
    verb: WriteRecord['verb'],
    resource: AnyResource,
    { object }: Written,
    result: WriteRecord['result'],
    options: SendOptions,
  ): KubeObject {
    this.#note({ verb, kind: resource.kind, key: formatKey(keyOf(object)), result }, options)
    return object
  }

  /** A dry run is no write. */
  #note(write: WriteRecord, { dryRun }: { readonly dryRun?: boolean }): void {
    if (!dryRun) this.#options.onWrite?.(write)
  }
}

function deletion(options: DeleteOptions & DeleteAllOptions): Parameters<Api['delete']>[1] {
  const { propagation = 'Background', labels, fields, uid, resourceVersion, gracePeriodSeconds, dryRun } = options
  return { propagation, labels, fields, uid, resourceVersion, gracePeriodSeconds, dryRun }
}

/** A server leaves the version as it is when a write changes nothing. */
function changeSince(before: object, written: Written): 'changed' | 'unchanged' {
  const version = (before as Partial<KubeObject>).metadata?.resourceVersion
  return version !== undefined && version === written.object.metadata.resourceVersion ? 'unchanged' : 'changed'
}
