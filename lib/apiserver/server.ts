/**
 * The embedded Kubernetes API server: a function from request to response over a store in memory.
 *
 * A request is carried out whole, synchronously, when it is sent, so that requests never interleave; only its answer
 * is a promise. Nothing runs by itself but the clock's timers for bookmarks and the end of watches.
 */
import { type Clock, systemClock } from '../async/clock.ts'
import type { HttpRequest, HttpResponse, Transport } from '../core/transport.ts'
import { type Log, silentLog } from '../observe/log.ts'
import type { Backend, FieldValidation } from './backend.ts'
import { builtinKinds } from './builtin/kinds.ts'
import { finishDefinition, followDefinition, forgetDefinition } from './crd/establish.ts'
import { dispatch } from './http/dispatch.ts'
import type { ApiObject } from './json.ts'
import { type Kind, Kinds } from './kinds.ts'
import { createSystemNamespaces, emptyNamespace, finishNamespace, isNamespaceKind } from './storage/namespaces.ts'
import { answerError } from './http/respond.ts'
import { readCall } from './http/routes.ts'
import { internal, StatusError } from './http/status.ts'
import { type SavedStore, Store } from './storage/store.ts'
import { Watches } from './verbs/watch.ts'

/** The state of a server as JSON: objects, uids, and the version that the next write comes after. */
export interface SavedState {
  readonly format: 'kubeloop-apiserver/1'
  readonly store: SavedStore
}

export interface ApiServerOptions {
  /** Default: the real clock. */
  readonly clock?: Clock
  /** What {@link ApiServer.save} gave. Default: an empty cluster with its four namespaces. */
  readonly state?: SavedState
  /** Where failures of the server itself are written. Default: nowhere. */
  readonly log?: Log
  /** Uids and generated names come from here: numbers from 0 up to 1. Default: Math.random. */
  readonly random?: () => number
  /** What a request means that says nothing of `fieldValidation`. Default: `Warn`, as on a real server. */
  readonly fieldValidation?: FieldValidation
}

const CRDS = 'customresourcedefinitions.apiextensions.k8s.io'

/**
 * A Kubernetes API in memory.
 *
 * @example
 * ```ts
 * import { ApiServer } from 'kubeloop/apiserver'
 * const api = new ApiServer()
 * const response = await api.handle({ method: 'GET', path: '/api/v1/namespaces/default' })
 * console.assert(response.status === 200)
 * ```
 */
export class ApiServer {
  /** Answers a request, as the network would. No credentials are asked for. */
  readonly handle: Transport
  readonly #backend: Backend
  readonly #store = new Store()
  readonly #watches = new Watches()
  readonly #log: Log

  constructor(options: ApiServerOptions = {}) {
    const { clock = systemClock, log = silentLog, random = Math.random, fieldValidation = 'Warn' } = options
    const kinds = new Kinds()
    for (const kind of builtinKinds()) kinds.set(kind)
    this.#log = log
    this.#backend = {
      store: this.#store,
      kinds,
      clock,
      log,
      random,
      fieldValidation,
      afterWrite: (kind, object, type) => this.#afterWrite(kind, object, type),
    }
    if (options.state) this.#restore(options.state)
    else createSystemNamespaces(this.#backend)
    this.handle = async (request) => this.#handle(request)
  }

  /** The state, to go on from later. */
  save(): SavedState {
    return structuredClone({ format: 'kubeloop-apiserver/1', store: this.#store.save() })
  }

  /** Forgets the past, as etcd's compaction and a restart would together: watches and pages from before now get 410. */
  compact(): void {
    this.#store.compact()
  }

  /** Ends every open watch, as a server that goes away does. Their readers may come back at once. */
  closeWatches(): void {
    this.#watches.endAll()
  }

  /** The number of open watches. */
  get watches(): number {
    return this.#watches.size
  }

  #handle(request: HttpRequest): HttpResponse {
    if (request.signal?.aborted) throw request.signal.reason
    request.beforeSend?.()
    const call = readCall(request)
    try {
      return dispatch(this.#backend, this.#watches, call)
    } catch (error) {
      if (error instanceof StatusError) return answerError(error, call.warnings)
      this.#log.error('a request failed within the API server', { method: request.method, path: request.path, error })
      return answerError(internal(error instanceof Error ? error.message : String(error)), call.warnings)
    }
  }

  /** What the controllers do that a real API server has within it, and the namespace controller. */
  #afterWrite(kind: Kind, object: ApiObject, type: 'put' | 'removed'): void {
    const backend = this.#backend
    if (kind.storage.id === CRDS) {
      if (type === 'put') followDefinition(backend, object)
      else forgetDefinition(backend, object)
    }
    if (isNamespaceKind(kind) && type === 'put' && object.metadata.deletionTimestamp) {
      emptyNamespace(backend, object.metadata.name!)
    }
    if (type === 'removed') {
      if (kind.custom) finishDefinition(backend, kind.storage.id)
      if (kind.namespaced) finishNamespace(backend, object.metadata.namespace!)
    }
  }

  #restore(state: SavedState): void {
    if (state.format !== 'kubeloop-apiserver/1') {
      throw new TypeError(
        `Cannot restore the API server: its state is of format "${String(state.format)}", not "kubeloop-apiserver/1"`,
      )
    }
    this.#store.restore(structuredClone(state.store))
    for (const crd of this.#store.list(CRDS, '')) followDefinition(this.#backend, crd)
  }
}
