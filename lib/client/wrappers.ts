/** Clients made of clients: each is a function from one to another, so that they nest. */
import { formatKey, type KubeObject } from '../core/objects.ts'
import type { AnyResource, Resource } from '../core/resource.ts'
import type { Client, SendOptions, WriteOptions } from './client.ts'
import { createOrUpdate, edit } from './edit.ts'

/** The verbs that others are made of: `edit` and `createOrUpdate` are reads and writes through these. */
type Verb = Exclude<keyof Client, 'edit' | 'createOrUpdate' | 'live'>
type Verbs = Pick<Client, Verb>

/** A client of other verbs, and so is its `live`. */
function clientOf(inner: Client, verbsOf: (inner: Client) => Verbs): Client {
  let live: Client | undefined
  const self: Client = {
    ...verbsOf(inner),
    edit: (resource, ref, change, options = {}) => edit(self, resource, ref, change, options),
    createOrUpdate: (resource, ref, change, options = {}) => createOrUpdate(self, resource, ref, change, options),
    get live() {
      return (live ??= clientOf(inner.live, verbsOf))
    },
  }
  return self
}

/** The verbs of a client, as they are: bound, so that they can be spread. */
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

/** A client that fills in its namespace: what is written need not have one. */
export interface NamespacedClient extends Omit<Client, 'create' | 'apply' | 'live'> {
  create<T extends KubeObject, D>(resource: Resource<T, D>, object: NoInfer<D>, options?: WriteOptions): Promise<T>
  apply<T extends KubeObject, D>(
    resource: Resource<T, D>,
    object: NoInfer<D>,
    options?: WriteOptions & { force?: boolean },
  ): Promise<T>
  readonly live: NamespacedClient
}

/**
 * A client for one namespace. It is filled in where a namespaced object, reference, list, watch or deletion has none; one that
 * names another is a TypeError, before anything is sent. Cluster-scoped kinds are not touched.
 */
export function namespaced(client: Client, namespace: string): NamespacedClient {
  const check = (resource: AnyResource, given: string | undefined, what: string): void => {
    if (!given || given === namespace) return
    throw new TypeError(`Cannot use ${resource.kind} ${what}: this client is for namespace "${namespace}" only`)
  }
  const isWithin = (resource: AnyResource): boolean => resource.scope === 'Namespaced'
  /** An object, or what names one. */
  const at = <R extends object>(resource: AnyResource, ref: R): R => {
    if (!isWithin(resource)) return ref
    const whole = ref as {
      readonly metadata?: { readonly namespace?: string; readonly name?: string; readonly generateName?: string }
    }
    const key: NonNullable<typeof whole.metadata> = whole.metadata ?? (ref as object)
    check(resource, key.namespace, `"${formatKey({ ...key, name: key.name ?? key.generateName ?? '' })}"`)
    if (key.namespace) return ref
    return 'metadata' in ref ? { ...ref, metadata: { ...key, namespace } } : { ...ref, namespace }
  }
  const among = <O extends { namespace?: string }>(resource: AnyResource, options: O | undefined): O => {
    if (!isWithin(resource)) return options ?? ({} as O)
    check(resource, options?.namespace, `in namespace "${options?.namespace}"`)
    return { ...options, namespace } as O
  }
  return clientOf(client, (inner) => ({
    get: async (resource, ref) => inner.get(resource, at(resource, ref)),
    list: async (resource, options) => inner.list(resource, among(resource, options)),
    lookup: async (index, key) => {
      const found = await inner.lookup(index, key)
      return isWithin(index.resource) ? found.filter(({ metadata }) => metadata.namespace === namespace) : found
    },
    pages: (resource, options) => inner.pages(resource, among(resource, options)),
    watch: (resource, options) => inner.watch(resource, among(resource, options)),
    create: async (resource, object, options) =>
      inner.create(resource, at(resource, object as object) as typeof object, options),
    update: async (resource, object, options) => inner.update(resource, at(resource, object), options),
    apply: async (resource, object, options) =>
      inner.apply(resource, at(resource, object as object) as typeof object, options),
    patch: async (resource, ref, patch, options) => inner.patch(resource, at(resource, ref), patch, options),
    setStatus: async (resource, ref, status, options) => inner.setStatus(resource, at(resource, ref), status, options),
    delete: async (resource, ref, options) => inner.delete(resource, at(resource, ref), options),
    deleteAll: async (resource, options) => inner.deleteAll(resource, among(resource, options)),
    subresource: (resource, ref, name) => inner.subresource(resource, at(resource, ref), name),
    kindOf: (kind) => inner.kindOf(kind),
  }))
}

/** A client whose writes are checked and answered by the server, and not stored. No call can say otherwise. */
export function dryRun(client: Client): Client {
  return sending(client, (options) => Object.assign({}, options, { dryRun: true }), { dryRun: true })
}

/** A client whose writes are sent with these options, where a call does not have its own. */
export function withWriteOptions(
  client: Client,
  defaults: Pick<SendOptions, 'fieldManager' | 'fieldValidation'>,
): Client {
  return sending(client, (options) => ({ ...defaults, ...definedOf(options) }), {})
}

/** The same client, with other options for every write, and some for every deletion. */
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

/** Without the members that are undefined, so that a default is not hidden by nothing. */
function definedOf<O extends object>(options: O | undefined): O {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as O
}

/** What stands in for a verb: it gets the client within, and the call. */
export type Hooks = {
  readonly [V in Verb]?: (inner: Client, ...call: Parameters<Client[V]>) => ReturnType<Client[V]>
}

/**
 * A client some of whose verbs are yours: to fail in a test, to count, to change a call on its way. A hook answers itself or
 * asks `inner`. What `edit` and `createOrUpdate` read and write goes through the hooks of those verbs.
 *
 * @example
 * ```ts
 * import { clients, type Client } from 'kubeloop'
 * const readOnly = (client: Client): Client =>
 *   clients.intercepted(client, { delete: () => Promise.reject(new Error('Cannot delete: nothing may go')) })
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
