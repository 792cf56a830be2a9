/** Types of Kubernetes objects: readonly when read, partial when written, mutable as a draft. */

import { copyMarks } from './partial.ts'

/** @internal */
type Atom = string | number | boolean | bigint | symbol | null | undefined | ((...args: never[]) => unknown)

/** `T` with every field readonly, at any depth. Objects of the cache are shared and must not be changed. */
export type DeepReadonly<T> = unknown extends T ? T
  : T extends Atom ? T
  : { readonly [K in keyof T]: DeepReadonly<T[K]> }

/** The opposite of {@link DeepReadonly}: what {@link draft} returns. */
export type Draft<T> = unknown extends T ? T : T extends Atom ? T : { -readonly [K in keyof T]: Draft<T[K]> }

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

/** The fields of every object of any kind. */
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

/** Names one object by its key or by the object itself. A namespace is required where the kind has one. */
export type Ref<T extends KubeObject> =
  | { readonly metadata: Pick<T['metadata'], 'name' | 'namespace'> }
  | KeyIn<T['metadata']['namespace']>
  | UnplacedIn<T['metadata']['namespace']>

/** An object of a cluster-scoped kind, reduced to its name. An object that has a namespace is of another kind. */
/** @internal A reference without a namespace. */
type UnplacedIn<Namespace extends string | undefined> = [Namespace] extends [undefined]
  ? { readonly metadata: { readonly name: string; readonly namespace?: undefined } }
  : never

/** Keys of objects, or the objects themselves, also as a promise. The array shortens the compiler's messages. */
export type Keys<Key> = readonly Named<Key>[] | Iterable<Named<Key>> | Promise<Iterable<Named<Key>>>

/** A key, or an object with this key. */
export type Named<Key> = Key | { readonly metadata: Key }

/** The key of an object in this scope. A kind whose scope is known only at run time may have a namespace. */
export type KeyIn<Namespace extends string | undefined> = [Namespace] extends [string]
  ? { readonly namespace: string; readonly name: string }
  : [Namespace] extends [undefined] ? { readonly name: string }
  : { readonly namespace?: string | undefined; readonly name: string }

/** The status type of a kind. For a kind without a status, a text that the compiler shows in its error. */
export type StatusOf<T> = [NonNullable<T['status' & keyof T]>] extends [never]
  ? 'a status, but this kind is defined without one'
  : NonNullable<T['status' & keyof T]>

/** Returns a mutable deep copy. `structuredClone` keeps the readonly types. */
export function draft<T>(object: T): Draft<T> {
  return copyMarks(object, structuredClone(object) as Draft<T>)
}

/** Returns the key of an object. Throws a TypeError if the name is missing, or for a text. */
export function keyOf(
  ref: ObjectKey | {
    readonly metadata: { readonly name?: string | undefined; readonly namespace?: string | undefined }
  },
): ObjectKey {
  if (typeof ref === 'string') {
    throw new TypeError(`Cannot name an object by the text ${JSON.stringify(ref)}: write { namespace, name }`)
  }
  const { name, namespace } = 'metadata' in ref ? ref.metadata : ref
  if (!name) throw new TypeError('Cannot name an object: its name is missing')
  return namespace ? { namespace, name } : { name }
}

/** Returns `namespace/name`, or `name` for a cluster-scoped object: the form of keys in maps, queues and logs. */
export function formatKey(key: ObjectKey): string {
  return key.namespace ? `${key.namespace}/${key.name}` : key.name
}

/** The inverse of {@link formatKey}. Neither a namespace nor a name can contain a slash. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/')
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}

const DECIMAL = /^[1-9][0-9]*$/

/**
 * Returns whether a resourceVersion is certainly newer than another one; any version is newer than `undefined`.
 * Versions are decimal integers of any length (API conventions since 1.35); any other text is not comparable, and newer
 * than nothing.
 */
export function isNewerVersion(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || !DECIMAL.test(version)) return false
  if (than === undefined) return true
  if (than !== '0' && !DECIMAL.test(than)) return false
  return version.length === than.length ? version > than : version.length > than.length
}
