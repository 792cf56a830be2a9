/** The client as a reconciler sees it: a contract. `kube_client.ts` keeps it. */
import type { Index } from '../core/object_indexer.ts'
import type { DesiredMeta, Draft, KubeObject, Ref, StatusOf } from '../core/objects.ts'
import type { AnyResource, Resource, Writable } from '../core/resource.ts'
import type { KindName } from './rest_mapper.ts'
import type { SubresourceAnswer, SubresourceBody, SubresourceName } from './subresources.ts'

/** What narrows a list. */
export interface ListOptions {
  /** Default: all namespaces. */
  namespace?: string
  /** A label selector: text in the API's grammar, or labels to be equal to. */
  labels?: string | Readonly<Record<string, string>>
  /** A field selector, such as `metadata.name=a`. Read live, of a kind that is cached in part: that part. */
  fields?: string
}

/** What narrows a list that is read page by page. */
export interface PageOptions extends ListOptions {
  /** How many objects a page has at most. Default: 500. */
  limit?: number
  /** Goes on after the page that had this token. Tokens are good for some five minutes. */
  continue?: string
  signal?: AbortSignal
}

/** One page of a list. */
export interface ListPage<T> {
  readonly items: readonly T[]
  /** The version that the page is of: a watch from here on misses nothing. */
  readonly resourceVersion: string
  /** What the next page is asked for with; `undefined` on the last one. */
  readonly continue: string | undefined
}

/** What narrows a watch. */
export interface WatchOptions extends ListOptions {
  /** Events after this version, such as a list's. Default: begin with an ADDED for every object there is. */
  resourceVersion?: string
  signal?: AbortSignal
}

/** One change, as the server tells it. */
export interface WatchChange<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** For DELETED: as it was last. */
  readonly object: T
}

/** What every write may be asked for. */
export interface SendOptions {
  /** Let the server check and answer, but store nothing. Default: false. */
  dryRun?: boolean
  /** Who owns the fields that are written. Default: the operator's name. */
  fieldManager?: string
  /** What the server does about fields it does not know; warnings are for the log. Default: the client's, or the server's own, `Warn`. */
  fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  /** Ends this call, beside what ends the client itself. */
  signal?: AbortSignal
}

/** What writes of whole objects may be given. */
export interface WriteOptions extends SendOptions {
  /** Become this object's dependent: it is set as the controlling owner, and its namespace is taken over. */
  owner?: KubeObject
}

/** Options that say who the owner is, for its type. */
export interface OwnedBy<O extends KubeObject | undefined> {
  owner?: O
}

/** What an object of a namespaced kind must say of itself when no owner says it. */
export type Placed<T extends KubeObject, O extends KubeObject | undefined> = [O, T['metadata']['namespace']] extends
  [undefined, string] ? { readonly metadata: { readonly namespace: string } }
  : unknown

/** Options of {@link Client.patch}. */
export interface PatchOptions extends WriteOptions {
  /** What the patch is for, such as `status`. Answers that are not objects of the kind are for {@link Client.subresource}. */
  subresource?: string
  /** Change only this version; a Conflict otherwise. */
  resourceVersion?: string
}

/** What any deletion may be asked for. */
export interface DeletionOptions {
  /** What becomes of dependents. Default: `Background`, they go afterwards. */
  propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** How long the object has to end by itself; 0 deletes at once. Default: the kind's own, such as 30 s for a Pod. */
  gracePeriodSeconds?: number
  /** Let the server check and answer, but delete nothing. Default: false. */
  dryRun?: boolean
  signal?: AbortSignal
}

/** Options of {@link Client.delete}. */
export interface DeleteOptions extends DeletionOptions {
  /** Delete only the object with this uid; a Conflict otherwise. */
  uid?: string
  /** Delete only this version of it; a Conflict otherwise. */
  resourceVersion?: string
}

/** Which objects go, and how. */
export interface DeleteAllOptions extends ListOptions, DeletionOptions {}

/** What {@link Client.createOrUpdate} did. */
export interface Ensured<T> {
  readonly object: T
  readonly result: 'created' | 'updated' | 'unchanged'
}

/** An object that is there, or one to be: nothing beside the metadata is certain. */
export type Editable<D> =
  & { metadata: Draft<MetaOf<D>> }
  & { -readonly [K in Exclude<keyof D, 'metadata'>]?: Draft<D[K]> }

/** @internal The metadata that is written of an object. */
type MetaOf<D> = D extends { readonly metadata: infer M } ? M : DesiredMeta

/** A part of an object that has verbs of its own. */
export interface Subresource<Body, Answer> {
  get(options?: { signal?: AbortSignal }): Promise<Answer>
  /** `apiVersion`, `kind` and the object's name are filled in, as for the others. */
  create(body: Body, options?: SendOptions): Promise<Answer>
  update(body: Body, options?: SendOptions): Promise<Answer>
  patch(patch: Patch, options?: SendOptions): Promise<Answer>
  /** Server-side apply, forced: states what it wants and leaves the rest to others. It is sent each time. */
  apply(body: Body, options?: SendOptions & { force?: boolean }): Promise<Answer>
}

/** A change in one of the API's patch formats. */
export type Patch = { readonly merge: object } | { readonly json: readonly object[] } | { readonly strategic: object }

/** @internal A kind that is read as T. */
// deno-lint-ignore no-explicit-any -- a bound on D would be inferred from, and refuse kinds that can be read
type Of<T extends KubeObject> = Resource<T, any>

/** Reads of kinds that the operator watches come from its cache, all others go to the server. There are no hidden informers. */
export interface Reader {
  /** `undefined` when there is no such object. Throws when the server does not serve this kind. */
  get<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined>
  list<T extends KubeObject>(resource: Of<T>, options?: ListOptions): Promise<readonly T[]>
  /** The objects that an index has under a key. Of a kind that is not read from a cache, each lookup lists them all, and the log warns once. */
  lookup<T extends KubeObject>(index: Index<T>, key: string): Promise<readonly T[]>
}

/** A reader that can say whether an answer costs a request. */
export interface CachingReader extends Reader {
  /** Whether this kind is read from the cache. */
  watches(resource: AnyResource): boolean
}

/** Reads and writes objects of every kind. */
export interface Client extends Reader {
  /**
   * The objects page by page, from the server. The pages are of one moment. When reading takes longer than the server keeps
   * that moment, the rest is of a later one, where the server can go on from there: what exists all the while comes exactly
   * once. Where it cannot, the iteration throws `Expired`.
   */
  pages<T extends KubeObject>(resource: Of<T>, options?: PageOptions): AsyncIterable<ListPage<T>>
  /**
   * What changes, as the server tells it: one request, from one version on. It ends when the server ends it, after half an
   * hour or so. It is not opened again, a connection that has died is not found out, and an ERROR is thrown as an `ApiError`:
   * to follow a kind reliably is what the operator's own watches do. An abort throws the signal's reason.
   */
  watch<T extends KubeObject>(resource: Of<T>, options?: WatchOptions): AsyncIterable<WatchChange<T>>
  create<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options?: WriteOptions & OwnedBy<O>,
  ): Promise<T>
  /** Replaces an object that was read, at the version that was read: `Conflict` when it has changed since. */
  update<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    object: NoInfer<T>,
    options?: WriteOptions,
  ): Promise<T>
  /** Server-side apply, forced. Not sent when the last answer to the same desired object still stands in the cache. */
  apply<T extends KubeObject, D, O extends KubeObject | undefined = undefined>(
    resource: Resource<T, D>,
    object: NoInfer<D> & Placed<NoInfer<T>, NoInfer<O>>,
    options?: WriteOptions & OwnedBy<O> & { force?: boolean },
  ): Promise<T>
  /**
   * Reads, changes a draft, writes at that version; again on a conflict. `change` must not wait. No write without a change;
   * `undefined` when it is gone.
   */
  edit<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    change: (draft: Draft<NoInfer<T>>) => void,
    options?: WriteOptions,
  ): Promise<T | undefined>
  /**
   * Reads the object, changes a draft of it, and updates it if that made a difference; creates one of what `change` makes of an
   * empty draft when there is none. `change` must not wait, nor rename. Not atomic: `AlreadyExists` and `Conflict` are the
   * caller's. `apply` needs no reading and takes back what is desired no longer; prefer it where the server owns the merging.
   */
  createOrUpdate<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    change: (draft: Editable<NoInfer<D>>) => void,
    options?: WriteOptions,
  ): Promise<Ensured<T>>
  patch<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>, patch: Patch, options?: PatchOptions): Promise<T>
  /**
   * States the whole status: a field left out or undefined goes. No write without a change. Given an object, it writes to
   * that one only: Conflict when a namesake has come in its place.
   */
  setStatus<T extends KubeObject, D>(
    resource: Resource<T, D> & Writable<D>,
    ref: Ref<NoInfer<T>>,
    status: StatusOf<NoInfer<T>>,
    options?: SendOptions,
  ): Promise<T>
  /** Resolves to false when there was nothing to delete. */
  delete<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>, options?: DeleteOptions): Promise<boolean>
  /**
   * Deletes what is selected, by one request; everything in the namespace where nothing selects. Namespaced kinds need a
   * namespace: the server deletes in one at a time. Answers with the objects that are gone or have begun to go, which of the two it
   * does not say: cached reads show them until the watch tells.
   */
  deleteAll<T extends KubeObject>(resource: Of<T>, options: DeleteAllOptions): Promise<readonly T[]>
  /**
   * `scale`, `eviction`, `token`, `approval`, `binding` and others: always the server's, never the cache's. The server refuses
   * an eviction that a disruption budget forbids with `TooManyRequests`.
   */
  subresource<T extends KubeObject, N extends SubresourceName>(
    resource: Of<T>,
    ref: Ref<NoInfer<T>>,
    name: N,
  ): Subresource<SubresourceBody<N, T>, SubresourceAnswer<N, T>>
  /**
   * A kind with the plural and the scope that the server serves it with, for kinds known only at run time. Costs one request for
   * each version of a group, and one whenever the kind is not found. Throws `NotFound` when the server does not serve it.
   *
   * @example
   * ```ts
   * import type { Client, KubeObject } from 'kubeloop'
   * const ownersOf = (client: Client, { metadata: { namespace = '', ownerReferences = [] } }: KubeObject) =>
   *   Promise.all(ownerReferences.map(async (owner) => client.get(await client.kindOf(owner), { namespace, name: owner.name })))
   * ```
   */
  kindOf<T extends KubeObject = KubeObject & { readonly [field: string]: unknown }, D = object>(
    kind: KindName | { readonly group: string; readonly version: string; readonly kind: string },
  ): Promise<Resource<T, D>>
  /** The same client, reading from the server. */
  readonly live: Client
}

/** One write, as the live view of `kubeloop dev` tells it. */
export interface WriteRecord {
  readonly verb: 'create' | 'update' | 'apply' | 'patch' | 'status' | 'delete'
  /** The kind; with the subresource where one was written other than the status, as in `Deployment/scale`. */
  readonly kind: string
  /** The object; `*` in the name's place for all that were selected. */
  readonly key: string
  /** Where, as `app.cluster` named it; absent for the operator's own cluster. */
  readonly cluster?: string
  /** Whether the server made the object, changed it, or found nothing to change. */
  readonly result: 'created' | 'changed' | 'unchanged' | 'deleted'
}
