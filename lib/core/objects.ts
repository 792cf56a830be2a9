/**
 * What a Kubernetes object is to a TypeScript program: readonly when it was read, partial when it is written,
 * mutable only as a draft.
 */

import { copyMarks } from './partial.ts'

type Atom = string | number | boolean | bigint | symbol | null | undefined | ((...args: never[]) => unknown)

/** `T` with every field readonly, at any depth. What the cache hands out is shared, so nobody may change it. */
export type DeepReadonly<T> = T extends Atom ? T : { readonly [K in keyof T]: DeepReadonly<T[K]> }

/** The opposite of {@link DeepReadonly}: what {@link draft} returns. */
export type Draft<T> = T extends Atom ? T : { -readonly [K in keyof T]: Draft<T[K]> }

/** One entry of `metadata.ownerReferences`. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** The metadata of an object that exists. Instants are RFC 3339 strings, as on the wire. */
export interface ObjectMeta<Namespace extends string | undefined = string | undefined> {
  readonly name: string
  readonly namespace: Namespace
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly generateName?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
}

/** What every object has, whatever its kind. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/** An object of a kind made by `defineResource`. */
export interface CustomObject<Spec, Status, Namespace extends string | undefined> extends KubeObject {
  readonly metadata: ObjectMeta<Namespace>
  readonly spec: DeepReadonly<Spec>
  readonly status?: DeepReadonly<Status>
}

/** The metadata of an object to write. A namespace is filled in from `owner` where one is given. */
export interface DesiredMeta {
  readonly name?: string | undefined
  readonly generateName?: string | undefined
  readonly namespace?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
  readonly finalizers?: readonly string[] | undefined
  readonly ownerReferences?: readonly OwnerReference[] | undefined
  readonly resourceVersion?: string | undefined
}

/** An object to write: apiVersion and kind come from its Resource, and `undefined` means absent. */
export interface DesiredObject<SpecInput> {
  readonly metadata: DesiredMeta
  readonly spec: DeepReadonly<SpecInput>
}

/** The name of one object. A cluster-scoped object has no namespace. */
export interface ObjectKey {
  readonly namespace?: string | undefined
  readonly name: string
}

/** How one object is named: its key or the object itself. A namespace is required where the kind has one. */
export type Ref<T extends KubeObject> =
  | { readonly metadata: Pick<T['metadata'], 'name' | 'namespace'> }
  | KeyIn<T['metadata']['namespace']>

/** Keys of objects, or the objects themselves, at once or later. The array is there for shorter messages of the compiler. */
export type Keys<Key> = readonly Named<Key>[] | Iterable<Named<Key>> | Promise<Iterable<Named<Key>>>

/** A key, or an object that has it. */
export type Named<Key> = Key | { readonly metadata: Key }

/** The key of an object in this scope; one whose scope is known at run time only may have a namespace. */
export type KeyIn<Namespace extends string | undefined> = [Namespace] extends [string]
  ? { readonly namespace: string; readonly name: string }
  : [Namespace] extends [undefined] ? { readonly name: string }
  : { readonly namespace?: string | undefined; readonly name: string }

/** The status type of a kind. For a kind without one, a text that no object is, for the compiler's message. */
export type StatusOf<T> = [NonNullable<T['status' & keyof T]>] extends [never]
  ? 'a status, but this kind is defined without one'
  : NonNullable<T['status' & keyof T]>

/** A mutable deep copy. `structuredClone` would keep the readonly types. */
export function draft<T>(object: T): Draft<T> {
  return copyMarks(object, structuredClone(object) as Draft<T>)
}

/** The key of an object or of anything that names one. */
export function keyOf(
  ref: ObjectKey | {
    readonly metadata: { readonly name?: string | undefined; readonly namespace?: string | undefined }
  },
): ObjectKey {
  const { name, namespace } = 'metadata' in ref ? ref.metadata : ref
  if (!name) throw new TypeError('Cannot name an object: its name is missing')
  return namespace ? { namespace, name } : { name }
}

/** `namespace/name`, or `name` for a cluster-scoped object: the form in which keys are compared, queued and printed. */
export function formatKey(key: ObjectKey): string {
  return key.namespace ? `${key.namespace}/${key.name}` : key.name
}

/** The inverse of {@link formatKey}. Neither a namespace nor a name can contain a slash. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/')
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}
