/** Wraps clients: each function takes a client and returns another, so they can be combined. */
import { formatKey, type KubeObject } from '../core/objects.ts'
import type { AnyResource, Resource } from '../core/resource.ts'
import type { Client, Ensured, SendOptions, WriteOptions } from './client.ts'
import { createIfMissing, createOrUpdate, edit } from './edit.ts'

/** The basic verbs, which the others call. */
type Verb = Exclude<keyof Client, 'edit' | 'createOrUpdate' | 'createIfMissing' | 'live'>
type Verbs = Pick<Client, Verb>

/** Returns a client with other verbs, also in its `live`. */
function clientOf(inner: Client, verbsOf: (inner: Client) => Verbs): Client {
  let live: Client | undefined
  const self: Client = {
    ...verbsOf(inner),
    edit: (resource, ref, change, options = {}) => edit(self, resource, ref, change, options),
    createOrUpdate: (resource, ref, change, options = {}) => createOrUpdate(self, resource, ref, change, options),
    createIfMissing: (resource, object, options = {}) => createIfMissing(self, resource, object, options),
    get live() {
      return (live ??= clientOf(inner.live, verbsOf))
    },
  }
  return self
}

/** Returns the verbs of a client as plain functions, so that they can be spread. */
function verbs(client: Client): Verbs {
  return {
    get: (...call) => client.get(...call),
    list: (...call) => client.list(...call),
    lookup: (...call) => client.lookup(...call),
    pages: (...call) => client.pages(...call),
    watch: (...call) => client.watch(...call),
    create: (...call) => client.create(...call),
    update: (...call) => client.update(...call),
    apply: (...call) => client.apply(...call),
    patch: (...call) => client.patch(...call),
    setStatus: (...call) => client.setStatus(...call),
    delete: (...call) => client.delete(...call),
    deleteAll: (...call) => client.deleteAll(...call),
    subresource: (...call) => client.subresource(...call),
    kindOf: (...call) => client.kindOf(...call),
  }
}

/** A client for one namespace: written objects need no namespace. */
export interface NamespacedClient extends Omit<Client, 'create' | 'createIfMissing' | 'apply' | 'live'> {
  create<T extends KubeObject, D>(resource: Resource<T, D>, object: NoInfer<D>, options?: WriteOptions): Promise<T>
  createIfMissing<T extends KubeObject, D>(
    resource: Resource<T, D>,
    object: NoInfer<D>,
    options?: WriteOptions,
  ): Promise<Ensured<T>>
  apply<T extends KubeObject, D>(
    resource: Resource<T, D>,
    object: NoInfer<D>,
    options?: WriteOptions & { force?: boolean },
  ): Promise<T>
  readonly live: NamespacedClient
}

/**
 * Returns a client for one namespace. A namespaced object, reference, list, watch or deletion without a namespace gets
 * it; one with another namespace throws a TypeError, before anything is sent. Cluster-scoped kinds are not affected,
 * except that `deleteAll` refuses them.
 */
export function namespaced(client: Client, namespace: string): NamespacedClient {
  const check = (resource: AnyResource, given: string | undefined, what: string): void => {
    if (!given || given === namespace) return
    throw new TypeError(`Cannot use ${resource.kind} ${what}: this client is for namespace "${namespace}" only`)
  }
  const isNamespaced = (resource: AnyResource): boolean => resource.scope === 'Namespaced'
  const withNamespace = <R extends object>(resource: AnyResource, ref: R): R => {
    if (!isNamespaced(resource)) return ref
    const object = ref as {
      readonly metadata?: { readonly namespace?: string; readonly name?: string; readonly generateName?: string }
    }
    const key: NonNullable<typeof object.metadata> = object.metadata ?? (ref as object)
    check(resource, key.namespace, `"${formatKey({ ...key, name: key.name ?? key.generateName ?? '' })}"`)
    if (key.namespace) return ref
    return 'metadata' in ref ? { ...ref, metadata: { ...key, namespace } } : { ...ref, namespace }
  }
  const withinNamespace = <O extends { namespace?: string }>(resource: AnyResource, options: O | undefined): O => {
    if (!isNamespaced(resource)) return options ?? ({} as O)
    check(resource, options?.namespace, `in namespace "${options?.namespace}"`)
    return { ...options, namespace } as O
  }
  return clientOf(client, (inner) => ({
    get: async (resource, ref, ...forWrite) => inner.get(resource, withNamespace(resource, ref), ...forWrite),
    list: async (resource, options) => inner.list(resource, withinNamespace(resource, options)),
    lookup: async (index, key, options) => inner.lookup(index, key, withinNamespace(index.resource, options)),
    pages: (resource, options) => inner.pages(resource, withinNamespace(resource, options)),
    watch: (resource, options) => inner.watch(resource, withinNamespace(resource, options)),
    create: async (resource, object, options) =>
      inner.create(resource, withNamespace(resource, object as object) as typeof object, options),
    update: async (resource, object, options) => inner.update(resource, withNamespace(resource, object), options),
    apply: async (resource, object, options) =>
      inner.apply(resource, withNamespace(resource, object as object) as typeof object, options),
    patch: async (resource, ref, patch, options) => inner.patch(resource, withNamespace(resource, ref), patch, options),
    setStatus: async (resource, ref, status, options) =>
      inner.setStatus(resource, withNamespace(resource, ref), status, options),
    delete: async (resource, ref, options) => inner.delete(resource, withNamespace(resource, ref), options),
    deleteAll: async (resource, options) =>
      inner.deleteAll(resource, { ...withinNamespace(resource, options), namespace }),
    subresource: (resource, ref, name) => inner.subresource(resource, withNamespace(resource, ref), name),
    kindOf: (kind) => inner.kindOf(kind),
  }))
}

/** Returns a client whose writes are always dry runs: the server checks and responds, but stores nothing. */
export function dryRun(client: Client): Client {
  return sending(client, (options) => Object.assign({}, options, { dryRun: true }), { dryRun: true })
}

/** Returns a client with default options for writes; a call's own options override them. */
export function withWriteOptions(
  client: Client,
  defaults: Pick<SendOptions, 'fieldManager' | 'fieldValidation'>,
): Client {
  return sending(client, (options) => ({ ...defaults, ...definedOf(options) }), {})
}

/** Returns a client that changes the options of every write, and adds some to every deletion. */
function sending(
  client: Client,
  change: <O extends SendOptions>(options: O | undefined) => O,
  deletion: { dryRun?: boolean },
): Client {
  return clientOf(client, (inner) => ({
    ...verbs(inner),
    create: (resource, object, options) => inner.create(resource, object, change(options)),
    update: (resource, object, options) => inner.update(resource, object, change(options)),
    apply: (resource, object, options) => inner.apply(resource, object, change(options)),
    patch: (resource, ref, patch, options) => inner.patch(resource, ref, patch, change(options)),
    setStatus: (resource, ref, status, options) => inner.setStatus(resource, ref, status, change(options)),
    delete: (resource, ref, options) => inner.delete(resource, ref, { ...options, ...deletion }),
    deleteAll: (resource, options) => inner.deleteAll(resource, { ...options, ...deletion }),
    subresource: (resource, ref, name) => {
      const part = inner.subresource(resource, ref, name)
      return {
        get: (options) => part.get(options),
        create: (body, options) => part.create(body, change(options)),
        update: (body, options) => part.update(body, change(options)),
        patch: (patch, options) => part.patch(patch, change(options)),
        apply: (body, options) => part.apply(body, change(options)),
      }
    },
  }))
}

/** Drops undefined members, so that they do not override defaults. */
function definedOf<O extends object>(options: O | undefined): O {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as O
}

/** Replacements for verbs, called with the inner client and the call's arguments. */
export type Hooks = { readonly [V in Verb]?: (inner: Client, ...call: Parameters<Client[V]>) => ReturnType<Client[V]> }

/**
 * Returns a client with hooks in place of some verbs: to fail in a test, to count, to change a call. A hook may call
 * `inner`. The reads and writes of `edit`, `createOrUpdate` and `createIfMissing` go through the hooks, too.
 *
 * @example
 * ```ts
 * import { clients, type Client } from 'kubeloop'
 * const readOnly = (client: Client): Client =>
 *   clients.intercepted(client, { delete: () => Promise.reject(new Error('Cannot delete: this client is read-only')) })
 * ```
 */
export function intercepted(client: Client, hooks: Hooks): Client {
  return clientOf(client, (inner) => {
    const own = Object.entries(hooks).filter(([, hook]) => hook !== undefined)
      .map((
        [verb, hook],
      ) => [verb, (...call: readonly unknown[]) => (hook as (...all: readonly unknown[]) => unknown)(inner, ...call)])
    return { ...verbs(inner), ...(Object.fromEntries(own) as Partial<Verbs>) }
  })
}
