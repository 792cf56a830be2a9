/** The Client: the API's verbs, with what a reconciler wants around them — owners, no-op writes left out, retries on conflict. */
import { ApiError, isReason } from '../core/errors.ts'
import { asJson, jsonEqual } from '../core/equal.ts'
import type { Fence } from '../core/fence.ts'
import type { Index } from '../core/index.ts'
import { draft, formatKey, keyOf, type KubeObject, type Ref, type StatusOf, type Thawed } from '../core/objects.ts'
import type { AnyResource, Resource } from '../core/resource.ts'
import { describe, type Api, type Written } from './api.ts'
import { AppliedMemory } from './applied_memory.ts'
import type { CachingReader, Client, DeleteOptions, ListOptions, Patch, Reader, WriteOptions, WriteRecord } from './client.ts'
import { isMissingObject } from './codec.ts'
import { LiveReader } from './live_reader.ts'
import { owned, targetOf, targetOfNew, uidIn, type NamedTarget } from './placement.ts'
import { wireObject, type PatchType, type Target, type WriteQuery } from './requests.ts'

// deno-lint-ignore no-explicit-any -- reading does not depend on D
type Of<T extends KubeObject> = Resource<T, any>

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
  readonly applied?: AppliedMemory
}

/** Enough for ordinary contention; a write that loses five times against others is better retried by its reconcile. */
const EDIT_TRIES = 5

export class KubeClient implements Client {
  readonly #options: KubeClientOptions
  readonly #api: Api
  readonly #reader: Reader
  readonly #applied: AppliedMemory
  #live: Client | undefined

  constructor(options: KubeClientOptions) {
    this.#options = options
    this.#api = options.api
    const live = new LiveReader(options.api)
    this.#reader = options.reader?.(live) ?? live
    this.#applied = options.applied ?? new AppliedMemory()
  }

  /** The same client for one run: its calls end with the signal, and its writes are told to `onWrite`. */
  bound(signal: AbortSignal, onWrite?: (write: WriteRecord) => void): KubeClient {
    const api = this.#api.bound(signal)
    return new KubeClient({ ...this.#options, applied: this.#applied, api, onWrite: onWrite ?? this.#options.onWrite })
  }

  /** The same client for what works in the name of a lease: no write begins once the fence has fallen. */
  fenced(fence: Fence): KubeClient {
    return new KubeClient({ ...this.#options, applied: this.#applied, api: this.#api.fenced(fence) })
  }

  get live(): Client {
    return (this.#live ??= new KubeClient({ ...this.#options, applied: this.#applied, reader: undefined }))
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

  async create<T extends KubeObject, D>(resource: Resource<T, D>, object: NoInfer<D>, options: WriteOptions = {}): Promise<T> {
    const wanted = owned(resource, object as object, options.owner)
    const written = await this.#api.create(targetOfNew(resource, wanted), wanted, this.#query(options), options.signal)
    return this.#tell('create', resource, written, 'created') as T
  }

  async update<T extends KubeObject>(resource: Of<T>, object: NoInfer<T>, options: WriteOptions = {}): Promise<T> {
    const wanted = owned(resource, object, options.owner)
    const written = await this.#api.update(targetOf(resource, wanted, 'update'), wanted, this.#query(options), options.signal)
    return this.#tell('update', resource, written, changeSince(object, written)) as T
  }

  async apply<T extends KubeObject, D>(
    resource: Resource<T, D>,
    object: NoInfer<D>,
    options: WriteOptions & { force?: boolean } = {},
  ): Promise<T> {
    const wanted = wireObject(resource, owned(resource, object as object, options.owner))
    const target = targetOf(resource, wanted, 'apply')
    const query = this.#query(options)
    const current = await this.#current(resource, target)
    const memory = options.dryRun ? undefined : this.#applied.of(resource, target, query.fieldManager)
    if (current && memory?.stands(wanted, current)) {
      return this.#tell('apply', resource, { object: current, created: false }, 'unchanged') as T
    }
    const written = await this.#api.patch(target, 'apply', wanted, { ...query, force: options.force ?? true }, options.signal)
    memory?.remember(wanted, written.object)
    return this.#tell('apply', resource, written, written.created ? 'created' : changeSince(current ?? {}, written)) as T
  }

  async edit<T extends KubeObject>(
    resource: Of<T>,
    ref: Ref<NoInfer<T>>,
    change: (draft: Thawed<NoInfer<T>>) => void,
    options: WriteOptions = {},
  ): Promise<T | undefined> {
    let current = await this.get(resource, ref)
    for (let attempt = 1; current; attempt++) {
      const changed = draft(current)
      const waiting: unknown = change(changed)
      if (waiting instanceof Promise) {
        waiting.catch(() => {}) // its outcome comes too late for anybody
        const what = `${resource.kind} "${formatKey(keyOf(current))}"`
        throw new TypeError(`Cannot edit ${what}: the change is an async function, and what it does after it has waited would be lost`)
      }
      const wanted = owned(resource, changed as T, options.owner) as T
      if (jsonEqual(wanted, current)) return current
      try {
        return await this.update(resource, wanted, options)
      } catch (error) {
        if (isMissingObject(error)) return undefined
        if (!isReason(error, 'Conflict') || attempt >= EDIT_TRIES) throw error
        // The cache may not have caught up with what we conflicted with; the server has.
        current = await this.live.get(resource, ref)
      }
    }
    return undefined
  }

  async patch<T extends KubeObject>(
    resource: Of<T>,
    ref: Ref<NoInfer<T>>,
    patch: Patch,
    options: WriteOptions & { subresource?: string } = {},
  ): Promise<T> {
    const target: Target = { ...targetOf(resource, ref, 'patch'), subresource: options.subresource }
    const [type, body] = bodyOf(patch)
    const written = await this.#api.patch(target, type, body, this.#query(options), options.signal)
    return this.#tell(options.subresource === 'status' ? 'status' : 'patch', resource, written, changeSince(ref, written)) as T
  }

  async setStatus<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>, status: StatusOf<NoInfer<T>>): Promise<T> {
    const target = targetOf(resource, ref, 'set the status of')
    const uid = uidIn(ref)
    const wanted = asJson(status)
    const current = (await this.#current(resource, target)) as (KubeObject & { readonly status?: unknown }) | undefined
    // An empty status and none say the same.
    if (current && (!uid || current.metadata.uid === uid) && jsonEqual(current.status ?? {}, wanted)) {
      return this.#tell('status', resource, { object: current, created: false }, 'unchanged') as unknown as T
    }
    // "add" replaces the whole member: what is left out goes. No version is stated, so that a status is not lost to a
    // change of the spec; the uid keeps it from landing on a namesake that came later.
    const patch = [...(uid ? [{ op: 'test', path: '/metadata/uid', value: uid }] : []), { op: 'add', path: '/status', value: wanted }]
    const written = await this.#api.patch({ ...target, subresource: 'status' }, 'json', patch, this.#query({})).catch((error: unknown) => {
      throw uid && isFailedTest(error) ? otherObject(target, uid, error) : error
    })
    return this.#tell('status', resource, written, changeSince(current ?? ref, written)) as T
  }

  async delete<T extends KubeObject>(resource: Of<T>, ref: Ref<NoInfer<T>>, options: DeleteOptions = {}): Promise<boolean> {
    const target = targetOf(resource, ref, 'delete')
    try {
      await this.#api.delete(target, { propagation: options.propagation ?? 'Background', uid: options.uid }, options.signal)
    } catch (error) {
      if (isMissingObject(error)) return false
      throw error
    }
    this.#options.onWrite?.({ verb: 'delete', kind: resource.kind, key: formatKey(target), result: 'deleted' })
    return true
  }

  #query(options: WriteOptions): WriteQuery & { fieldManager: string } {
    return {
      dryRun: options.dryRun,
      fieldManager: options.fieldManager ?? this.#options.fieldManager,
      fieldValidation: this.#options.fieldValidation,
    }
  }

  /** What the cache has of an object before we write it. A request to save a request is not worth it. */
  async #current(resource: AnyResource, target: NamedTarget): Promise<KubeObject | undefined> {
    const reader = this.#reader
    const isCached = 'watches' in reader ? (reader as CachingReader).watches(resource) : !(reader instanceof LiveReader)
    return isCached ? await reader.get(resource, { namespace: target.namespace ?? '', name: target.name }) : undefined
  }

  #tell(verb: WriteRecord['verb'], resource: AnyResource, written: Written, result: WriteRecord['result']): KubeObject {
    this.#options.onWrite?.({ verb, kind: resource.kind, key: formatKey(keyOf(written.object)), result })
    return written.object
  }
}

function bodyOf(patch: Patch): readonly [PatchType, unknown] {
  if ('merge' in patch) return ['merge', patch.merge]
  if ('json' in patch) return ['json', patch.json]
  return ['strategic', patch.strategic]
}

/** A JSON Patch whose test failed is Invalid without a word; a status that is Invalid says which object and field. */
function isFailedTest(error: unknown): boolean {
  return isReason(error, 'Invalid') && !error.status.details?.name && error.causes.length === 0
}

/** What a delete with the wrong uid is answered with. */
function otherObject(target: NamedTarget, uid: string, cause: unknown): ApiError {
  const message = `it is another one than the object with uid "${uid}", which was deleted since`
  const details = { name: target.name, kind: target.resource.kind }
  const status = { kind: 'Status', status: 'Failure', reason: 'Conflict', code: 409, message, details }
  return new ApiError(`Cannot set the status of ${describe(target)}: ${message}`, status, { code: 409, cause })
}

/** A server leaves the version as it is when a write changes nothing. */
function changeSince(before: object, written: Written): 'changed' | 'unchanged' {
  const version = (before as Partial<KubeObject>).metadata?.resourceVersion
  return version !== undefined && version === written.object.metadata.resourceVersion ? 'unchanged' : 'changed'
}
