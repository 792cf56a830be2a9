/** The client interface for reconcilers, implemented by `kube_client.ts`. */
import type { Index } from '../core/object_indexer.ts'
import type { DesiredMeta, Draft, KubeObject, ObjectKey, Ref, StatusOf } from '../core/objects.ts'
import type { AnyResource, Resource, ResourceOf, Writable } from '../core/resource.ts'
import type { Patch } from './requests.ts'
import type { KindName } from './rest_mapper.ts'
import type { SubresourceAnswer, SubresourceBody, SubresourceName } from './subresources.ts'

/** Selects the objects of a list. */
export interface ListOptions {
  /** Default: all namespaces. */
  namespace?: string
  /** A label selector: text in the API's syntax, or labels that must be equal. */
  labels?: string | Readonly<Record<string, string>>
  /**
   * A field selector, such as `metadata.name=a`. The list is read from the server; if only a part of the kind is
   * cached, within that part.
   */
  fields?: string
}

/** Selects among the objects that an index has under a key. */
export type LookupOptions = Omit<ListOptions, 'fields'>

/** Options of a list that is read page by page. */
export interface PageOptions extends ListOptions {
  /** Max objects per page. Default: 500. */
  limit?: number
  /** Continues after the page with this token. Tokens are valid for about 5 minutes. */
  continue?: string
  signal?: AbortSignal
}

/** One page of a list. */
export interface ListPage<T> {
  readonly items: readonly T[]
  /** The version of the page. A watch from this version misses nothing. */
  readonly resourceVersion: string
  /** The token of the next page; `undefined` on the last page. */
  readonly continue: string | undefined
}

/** Options of a watch. */
export interface WatchOptions<Bookmarks extends boolean = boolean> extends ListOptions {
  /** Starts after this version, such as a list's. Default: starts with an ADDED event for every existing object. */
  resourceVersion?: string
  /** Yields the server's bookmarks, too. Default: false. */
  bookmarks?: Bookmarks
  signal?: AbortSignal
}

/** One watch event with an object. */
export interface WatchChange<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** For DELETED: the last state. */
  readonly object: T
}

/** The version that a watch has reached, about once a minute. A later watch from it misses nothing. */
export interface WatchBookmark {
  readonly type: 'BOOKMARK'
  readonly resourceVersion: string
}

/** Options of every write. */
export interface SendOptions {
  /** Makes the server check and respond, but store nothing. Default: false. */
  dryRun?: boolean
  /** The field manager that owns the written fields. Default: the operator's name. */
  fieldManager?: string
  /**
   * How the server treats unknown fields; warnings are logged. Default: the client's setting, else the server's,
   * `Warn`.
   */
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  /** Aborts this call. */
  signal?: AbortSignal
}

/** Options of writes of whole objects. */
export interface WriteOptions extends SendOptions {
  /** Sets this object as the controlling owner; its namespace is used if the written object has none. */
  owner?: KubeObject
}

/** Carries the owner's type. */
export interface OwnedBy<O extends KubeObject | undefined> {
  owner?: O
}

/**
 * Requires `metadata.namespace` of a namespaced object that gets no namespace from its owner: without an owner, or with
 * one of a cluster-scoped kind. An owner whose scope is known only at run time may have a namespace.
 */
export type Placed<T extends KubeObject, O extends KubeObject | undefined> =
  [NamespaceOf<O>, T['metadata']['namespace']] extends [undefined, string]
    ? { readonly metadata: { readonly namespace: string } }
    : unknown

/** @internal The namespace of an owner. */
type NamespaceOf<O extends KubeObject | undefined> = O extends KubeObject ? O['metadata']['namespace'] : undefined

/** Options of {@link Client.patch}. */
export interface PatchOptions extends SendOptions {
  /** The patched subresource, such as `status`. If its response has another kind, use {@link Client.subresource}. */
  subresource?: string
  /** Patches only this version; throws Conflict otherwise. */
  resourceVersion?: string
}

/** Options of every deletion. */
export interface DeletionOptions {
  /** What happens to dependents. Default: `Background`, they are deleted afterwards. */
  propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** The grace period in seconds; 0 deletes at once. Default: the kind's own, such as 30 s for a Pod. */
  gracePeriodSeconds?: number
  /** Makes the server check and respond, but delete nothing. Default: false. */
  dryRun?: boolean
  signal?: AbortSignal
}

/** Options of {@link Client.delete}. */
export interface DeleteOptions extends DeletionOptions {
  /** Deletes only the object with this uid; throws Conflict otherwise. */
  uid?: string
  /** Deletes only this version; throws Conflict otherwise. */
  resourceVersion?: string
}

/** Selects the objects to delete, and how to delete them. */
export interface DeleteAllOptions extends ListOptions, DeletionOptions {}

/** The result of {@link Client.createOrUpdate} and {@link Client.createIfMissing}. */
export interface Ensured<T> {
  readonly object: T
  readonly result: 'created' | 'updated' | 'unchanged'
}

/**
 * A draft of an existing object. The status is readonly if the kind is written without it, as a subresource:
 * {@link Client.setStatus} writes it.
 */
export type DraftToWrite<T, D> = 'status' extends keyof D ? Draft<T>
  : 'status' extends keyof T ?
      & { -readonly [K in keyof T as K extends 'status' ? never : K]: Draft<T[K]> }
      & { readonly [K in keyof T as K extends 'status' ? K : never]: T[K] }
  : Draft<T>

/** A draft of an existing or a new object: only its metadata is certain to exist. */
export type Editable<D> =
  & { metadata: Draft<MetaOf<D>> }
  & { -readonly [K in Exclude<keyof D, 'metadata'>]?: Draft<D[K]> }

/** @internal The metadata that is written of an object. */
type MetaOf<D> = D extends { readonly metadata: infer M } ? M : DesiredMeta

/** The verbs of one object's subresource. */
export interface Subresource<Body, Answer> {
  get(options?: { signal?: AbortSignal }): Promise<Answer>
  /** Creates it. Every write fills in `apiVersion`, `kind` and the object's name. */
  create(body: Body, options?: SendOptions): Promise<Answer>
  update(body: Body, options?: SendOptions): Promise<Answer>
  patch(patch: Patch, options?: SendOptions): Promise<Answer>
  /** Server-side apply, forced by default. Always sent. */
  apply(body: Body, options?: SendOptions & { force?: boolean }): Promise<Answer>
}

/**
 * Reads kinds that the operator watches from its cache, and all others from the server. A read never starts an
 * informer.
 */
export interface Reader {
  /** Resolves with `undefined` if the object does not exist. Throws if the server does not serve the kind. */
  get<T extends KubeObject>(resource: ResourceOf<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined>
  /** Resolves with the selected objects; with none if no object matches. */
  list<T extends KubeObject>(resource: ResourceOf<T>, options?: ListOptions): Promise<readonly T[]>
  /**
   * Resolves with the objects that an index has under a key, of those that the options select. If the kind is not
   * cached, each lookup lists all objects, and a warning is logged once. An object for which the index's function
   * throws has no keys.
   */
  lookup<T extends KubeObject>(index: Index<T>, key: string, options?: LookupOptions): Promise<readonly T[]>
}

/** A reader with a cache. */
export interface CachingReader extends Reader {
  /**
   * Returns whether the kind is read from the cache; with `key`, whether the cache has this object as it is now: its
   * namespace is watched, the first list has arrived, and the watch does not fail.
   */
  watches(resource: AnyResource, key?: ObjectKey): boolean
}

/** Reads and writes objects of every kind. */
export interface Client extends Reader {
  /**
   * Lists the objects page by page, from the server. All pages show one version. If the server drops that version
   * meanwhile, the remaining pages show a later one; an object that exists all the time is listed exactly once. Throws
   * `Expired` if the server cannot continue.
   */
  pages<T extends KubeObject>(resource: ResourceOf<T>, options?: PageOptions): AsyncIterable<ListPage<T>>
  /**
   * Watches changes by one request, from one version on. The server ends it, usually after 30 to 60 minutes. It is not
   * reopened: continue from the version of the last change or bookmark. An ERROR event is thrown as an `ApiError`, and
   * 150 s without a byte, bookmarks included, as a `NetworkError`. To follow a kind reliably, use the operator's own
   * watches. An abort throws the signal's reason.
   */
  watch<T extends KubeObject, Bookmarks extends boolean = false>(
    resource: ResourceOf<T>,
    options?: WatchOptions<Bookmarks>,
  ): AsyncIterable<WatchChange<T> | (true extends Bookmarks ? WatchBookmark : never)>
  /** Creates an object. Throws `AlreadyExists` if there is one of that name. */
  create<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options?: WriteOptions & OwnedBy<O>,
  ): Promise<T>
  /**
   * Creates an object if there is none of that name; else resolves with the existing one, as {@link get} reads it, and
   * changes nothing.
   */
  createIfMissing<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options?: WriteOptions & OwnedBy<O>,
  ): Promise<Ensured<T>>
  /**
   * Replaces an object at the version that was read. Throws `Conflict` if it has changed since, and a TypeError if the
   * status differs from that of the cached object, and the server has ignored that.
   */
  update<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    object: NoInfer<T>,
    options?: WriteOptions,
  ): Promise<T>
  /**
   * Server-side apply, forced by default. Not sent if the last apply was of the same object, and the cached object is
   * what it returned, except for its status; always sent while the watch of the kind fails.
   */
  apply<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options?: WriteOptions & OwnedBy<O> & { force?: boolean },
  ): Promise<T>
  /**
   * Reads the object, calls `change` with a draft, and updates it at that version; retries on a conflict. `change` must
   * not be async or return a copy. Nothing is sent without a change. Resolves with `undefined` if the object does not
   * exist. Throws a TypeError if the server has ignored a change of the status; other changes were sent then.
   */
  edit<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    change: (draft: DraftToWrite<NoInfer<T>, NoInfer<D>>) => void,
    options?: WriteOptions,
  ): Promise<T | undefined>
  /**
   * {@link edit}, or create: without an object, `change` gets an empty draft. Retries on a conflict, and if the object
   * was created or deleted meanwhile. `change` must not be async, and must not rename. Prefer `apply`: it needs no
   * read, and removes fields that are no longer desired.
   */
  createOrUpdate<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    change: (draft: Editable<NoInfer<D>>) => void,
    options?: WriteOptions,
  ): Promise<Ensured<T>>
  /** Patches an object, with the patch type that `patch` names. Throws `NotFound` if the object does not exist. */
  patch<T extends KubeObject>(
    resource: ResourceOf<T>,
    ref: Ref<NoInfer<T>>,
    patch: Patch,
    options?: PatchOptions,
  ): Promise<T>
  /**
   * Sets the whole status: a field left out or undefined is removed. Nothing is sent without a change.
   *
   * If `ref` is the object as it was read, what other writers have changed since is not lost: their items stay in lists
   * that are maps by the schema (without one, in `conditions`), and Conflict is thrown if they changed another list, a
   * field that is left out, or one that is only copied. Throws Conflict, too, if another object with the same name has
   * replaced it. If `ref` is a name, the status is replaced whatever it is. If `status` is `ref.status`, as of a
   * changed copy, it replaces that of this version; Conflict is thrown for a later one.
   */
  setStatus<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    status: StatusOf<NoInfer<T>>,
    options?: SendOptions,
  ): Promise<T>
  /** Resolves with false if the object does not exist. */
  delete<T extends KubeObject>(resource: ResourceOf<T>, ref: Ref<NoInfer<T>>, options?: DeleteOptions): Promise<boolean>
  /**
   * Deletes all selected objects by one request; without selectors, all of the namespace. Namespaced kinds need a
   * namespace, as the server deletes in one namespace at a time. Resolves with the objects that are deleted or being
   * deleted; the server does not say which. Later cached reads ask the server once for those that the watch has not
   * reported yet.
   */
  deleteAll<T extends KubeObject>(resource: ResourceOf<T>, options: DeleteAllOptions): Promise<readonly T[]>
  /**
   * Returns the verbs of a subresource: `scale`, `eviction`, `token`, `approval`, `binding` and others. Reads go to the
   * server. It refuses an eviction that a disruption budget forbids with `TooManyRequests`.
   */
  subresource<T extends KubeObject, N extends SubresourceName>(
    resource: ResourceOf<T>,
    ref: Ref<NoInfer<T>>,
    name: N,
  ): Subresource<SubresourceBody<N, T>, SubresourceAnswer<N, T>>
  /**
   * Resolves with a kind's resource (plural and scope) as the server serves it, for kinds known only at run time. Sends
   * one request per version of a group, and one whenever the kind is not found. Throws `NotFound` if the server does
   * not serve it.
   *
   * @example
   * ```ts
   * import type { Client, KubeObject } from 'kubeloop'
   * const ownersOf = (client: Client, { metadata: { namespace = '', ownerReferences = [] } }: KubeObject) =>
   *   Promise.all(
   *     ownerReferences.map(async (owner) => client.get(await client.kindOf(owner), { namespace, name: owner.name })),
   *   )
   * ```
   */
  kindOf<T extends KubeObject = KubeObject & { readonly [field: string]: unknown }, D = object>(
    kind: KindName | { readonly group: string; readonly version: string; readonly kind: string },
  ): Promise<Resource<T, D>>
  /** This client with all reads from the server. */
  readonly live: Client
}

/** One write, as the live view of `kubeloop dev` shows it. */
export interface WriteRecord {
  readonly verb: 'create' | 'update' | 'apply' | 'patch' | 'status' | 'delete'
  /** Empty for the core group. */
  readonly group: string
  /** The kind, with a subresource other than the status, as in `Deployment/scale`. */
  readonly kind: string
  /** `namespace/name`; the name is `*` for a deletion of all selected objects. */
  readonly key: string
  /** The cluster's name as given to `app.cluster`; absent for the operator's own cluster. */
  readonly cluster?: string
  readonly result: 'created' | 'changed' | 'unchanged' | 'deleted'
}
