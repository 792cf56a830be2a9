/** The client as a reconciler sees it: a contract. `kube_client.ts` keeps it. */
import type { Index } from '../core/index.ts'
import type { KubeObject, Ref, StatusOf, Thawed } from '../core/objects.ts'
import type { AnyResource, Resource } from '../core/resource.ts'

/** What narrows a list. */
export interface ListOptions {
  /** Default: all namespaces. */
  namespace?: string
  /** A label selector: text in the API's grammar, or labels to be equal to. */
  labels?: string | Readonly<Record<string, string>>
  /** A field selector, such as `metadata.name=a`. Read live: caches cannot evaluate them. */
  fields?: string
}

/** What every write may be given. */
export interface WriteOptions {
  /** Let the server check and answer, but store nothing. Default: false. */
  dryRun?: boolean
  /** Who owns the fields that are written. Default: the operator's name. */
  fieldManager?: string
  /** Become this object's dependent: it is set as the controlling owner, and its namespace is taken over. */
  owner?: KubeObject
  /** Ends this call, beside what ends the client itself. */
  signal?: AbortSignal
}

export interface DeleteOptions {
  /** What becomes of dependents. Default: `Background`, they go afterwards. */
  propagation?: 'Background' | 'Foreground' | 'Orphan'
  /** Delete only the object with this uid; a Conflict otherwise. */
  uid?: string
  signal?: AbortSignal
}

/** A change in one of the API's patch formats. */
export type Patch = { readonly merge: object } | { readonly json: readonly object[] } | { readonly strategic: object }

// deno-lint-ignore no-explicit-any -- a bound on D would be inferred from, and refuse kinds that can be read
type Of<T extends KubeObject> = Resource<T, any>

/** Reads of kinds that the operator watches come from its cache, all others go to the server. There are no hidden informers. */
export interface Reader {
  /** `undefined` when there is no such object. Throws when the server does not serve this kind. */
  get<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>): Promise<T | undefined>
  list<T extends KubeObject>(resource: Of<T>, options?: ListOptions): Promise<readonly T[]>
  /** The objects that an index has under a key. */
  lookup<T extends KubeObject>(index: Index<T>, key: string): Promise<readonly T[]>
}

/** A reader that can say whether an answer costs a request. */
export interface CachingReader extends Reader {
  /** Whether this kind is read from the cache. */
  watches(resource: AnyResource): boolean
}

export interface Client extends Reader {
  create<T extends KubeObject, D>(resource: Resource<T, D>, object: NoInfer<D>, options?: WriteOptions): Promise<T>
  /** Replaces an object that was read, at the version that was read: `Conflict` when it has changed since. */
  update<T extends KubeObject>(resource: Of<T>, object: NoInfer<T>, options?: WriteOptions): Promise<T>
  /** Server-side apply, forced. Not sent when the last answer to the same desired object still stands in the cache. */
  apply<T extends KubeObject, D>(
    resource: Resource<T, D>,
    object: NoInfer<D>,
    options?: WriteOptions & { force?: boolean },
  ): Promise<T>
  /**
   * Reads, changes a draft, writes at that version; again on a conflict. `change` must not wait. No write without a change;
   * `undefined` when it is gone.
   */
  edit<T extends KubeObject>(
    resource: Of<T>,
    ref: Ref<NoInfer<T>>,
    change: (draft: Thawed<NoInfer<T>>) => void,
    options?: WriteOptions,
  ): Promise<T | undefined>
  patch<T extends KubeObject>(
    resource: Of<T>,
    ref: Ref<NoInfer<T>>,
    patch: Patch,
    options?: WriteOptions & { subresource?: string },
  ): Promise<T>
  /**
   * States the whole status: a field left out or undefined goes. No write without a change. Given an object, it writes to
   * that one only: Conflict when a namesake has come in its place.
   */
  setStatus<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>, status: StatusOf<NoInfer<T>>): Promise<T>
  /** Resolves to false when there was nothing to delete. */
  delete<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>, options?: DeleteOptions): Promise<boolean>
  /** The same client, reading from the server. */
  readonly live: Client
}

/** One write, as the live view of `kubeloop dev` tells it. */
export interface WriteRecord {
  readonly verb: 'create' | 'update' | 'apply' | 'patch' | 'status' | 'delete'
  readonly kind: string
  readonly key: string
  /** Whether the server made the object, changed it, or found nothing to change. */
  readonly result: 'created' | 'changed' | 'unchanged' | 'deleted'
}
