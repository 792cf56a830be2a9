/** The embedded Kubernetes API server: answers requests from an in-memory store. */
import { type Clock, systemClock } from '../../async/clock.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../core/transport.ts'
import { type Log, silentLog } from '../../observe/log.ts'
import { Access, type AuthorizationMode } from '../access/access.ts'
import { type Context, type FieldValidation, type PodLog, storeKey, toStored } from '../context/context.ts'
import { builtinKinds } from '../kinds/kinds.ts'
import { applyDefinition, finalizeDefinition, removeDefinition } from '../controllers/establish.ts'
import { dispatch } from './dispatch.ts'
import { acceptsYaml, answerError, auditIds, encodeAnswer } from '../wire/respond.ts'
import { yamlWriter } from '../wire/yaml.ts'
import { type ApiObject, newUid } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { countQuotas } from '../controllers/quotas.ts'
import { createSystemNamespaces, deleteContents, finalizeIfEmpty } from '../controllers/namespaces.ts'
import { type Call, Kinds, readCall } from '../model/routes.ts'
import { internal, StatusError } from '../model/status.ts'
import { type SavedStore, Store } from '../storage/store.ts'
import { Watches } from '../verbs/watch.ts'
import type { CallWebhook } from '../webhooks/call.ts'
import { Suspension } from '../model/suspension.ts'
import { Session, Webhooks } from '../webhooks/session.ts'

/** The state of a server as JSON: the objects and the current resource version. */
export interface SavedState {
  readonly format: 'kubeloop-apiserver/1'
  readonly store: SavedStore
  /** The key of the issued service account tokens, PEM; absent if there are none. */
  readonly tokenKey?: string
}

/** Options of {@link ApiServer}. */
export interface ApiServerOptions {
  /** Default: the real clock. */
  readonly clock?: Clock
  /** The result of {@link ApiServer.save} to restore. Default: an empty cluster with its four system namespaces. */
  readonly state?: SavedState
  /**
   * Whether the cluster also has the other objects that a real server creates at its start: the Service `kubernetes`,
   * the default roles and their bindings, priority classes, flow schemas and APIServices. They are loaded at the first
   * request. Ignored with `state`. Default: false.
   */
  readonly bootstrap?: boolean
  /** Receives internal failures of the server. Default: no log. */
  readonly log?: Log
  /** Source of uids and generated names: returns numbers in [0, 1). Default: Math.random. */
  readonly random?: () => number
  /** The mode of requests without a `fieldValidation` parameter. Default: `Warn`, as on a real server. */
  readonly fieldValidation?: FieldValidation
  /**
   * Calls admission and conversion webhooks. Default: POST over TLS to `clientConfig.url`, whose certificate `caBundle`
   * must verify; Services cannot be reached.
   */
  readonly callWebhook?: CallWebhook
  /**
   * The bearer token of the administrator. If set, a request with an invalid token gets 401, and one without a token is
   * anonymous. Default: none, requests are the administrator's unless they carry the token of a service account.
   */
  readonly token?: string
  /**
   * Which requests are allowed: with `rbac` those that the stored roles and bindings allow, as on a real server; with
   * `allow` all, except those of anonymous users. The administrator may do everything. Default: `rbac`.
   */
  readonly authorization?: AuthorizationMode
  /**
   * Whether watches have no timers: they get no bookmark after the initial objects, and do not end at their time.
   * Default: false.
   */
  readonly endlessWatches?: boolean
  /**
   * While it returns true, a create keeps what its object states of `status`, `uid`, `generation` and
   * `creationTimestamp`, as for the objects that a test begins with. Default: never.
   */
  readonly keepsStated?: () => boolean
  /**
   * Returns the log of a container of a pod that has a node, for `kubectl logs`. Default: none, so that such a request
   * fails as one to a kubelet that cannot be reached.
   */
  readonly podLog?: PodLog
  /** Called after each write, before its answer. It must neither throw nor change the objects. Default: none. */
  readonly onChange?: (change: StoredChange) => void
}

/** The place of a resource in the API. */
export interface ResourcePlace {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
}

/** A write: the object after and before it. `storage` is that of {@link SavedStore}, such as `deployments.apps`. */
export interface StoredChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly storage: string
  readonly object: ApiObject
  readonly before: ApiObject | undefined
}

const CRDS = 'customresourcedefinitions.apiextensions.k8s.io'
const NAMESPACES = 'namespaces'

/**
 * A Kubernetes API in memory.
 *
 * Each request runs to its end synchronously when it is sent, so requests never interleave; only the response is a
 * promise. A request that calls a webhook waits for it before it writes anything, and then runs again; other requests
 * run meanwhile, and also while one selects or deletes many objects, or its list is read. A list has one version. The
 * only background work is the clock's timers for bookmarks, timeouts and repeated conversions.
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
  /** Answers a request. A request without credentials is the administrator's, unless the option `token` is set. */
  readonly handle: Transport
  /**
   * Returns the answer to a request that its headers alone refuse: of an unknown user, or without the right. A server
   * asks before it reads a body. Undefined for a request that {@link ApiServer.handle} answers.
   */
  readonly refuse: (request: HttpRequest) => HttpResponse | undefined
  readonly #context: Context
  readonly #store: Store
  /** What is adopted is no change. */
  #isAdopting = false
  readonly #watches = new Watches()
  readonly #log: Log
  readonly #newAuditId: () => string

  constructor(options: ApiServerOptions = {}) {
    const { clock = systemClock, log = silentLog, random = Math.random, fieldValidation = 'Warn' } = options
    const kinds = new Kinds()
    for (const kind of builtinKinds()) kinds.set(kind)
    this.#log = log
    this.#store = new Store(() => clock.monotonic(), (change) => this.#isAdopting || options.onChange?.(change))
    this.#newAuditId = auditIds(options.random !== undefined)
    this.#context = {
      store: this.#store,
      kinds,
      clock,
      log,
      random,
      webhooks: new Webhooks({ clock, log, random, callWebhook: options.callWebhook ?? webhookCaller() }),
      access: new Access({
        store: this.#store,
        mode: options.authorization ?? 'rbac',
        token: options.token,
        nowMs: () => clock.now(),
        uuid: () => newUid(random),
        tokenKey: options.state?.tokenKey,
      }),
      fieldValidation,
      endlessWatches: options.endlessWatches === true,
      keepsStated: options.keepsStated ?? (() => false),
      podLog: options.podLog,
      endWatches: (storage) => this.#watches.end(storage),
      afterWrite: (kind, object, type) => {
        const isWatched = kind.storage.id === CRDS || kind.storage.id === NAMESPACES
        if (
          type === 'put' && !isWatched && this.#store.countIn('resourcequotas', object.metadata.namespace ?? '') === 0
        ) return
        // The server's own writes call no webhooks.
        this.#context.webhooks.within(undefined, () => this.#afterWrite(kind, object, type))
      },
    }
    if (options.state) this.#restore(options.state)
    else createSystemNamespaces(this.#context)
    let bootstrap = options.bootstrap && !options.state ? bootstrapping(this.#context) : undefined
    this.handle = async (request) => {
      if (bootstrap) {
        await bootstrap()
        bootstrap = undefined
      }
      return this.#handle(request)
    }
    // The rights of users need the objects of the start.
    this.refuse = (request) => bootstrap ? undefined : this.#refuse(readCall(request))
  }

  /** Returns a copy of the state, for the `state` option of a new server. */
  save(): SavedState {
    const tokenKey = this.#context.access.tokens.pem
    return structuredClone({
      format: 'kubeloop-apiserver/1',
      store: this.#store.save(),
      ...(tokenKey !== undefined && { tokenKey }),
    })
  }

  /**
   * Goes back to a saved state, as etcd does when a backup is restored with `--bump-revision` and `--mark-compacted`:
   * every open watch ends, and continues with 410.
   *
   * @throws TypeError if it is no saved state.
   */
  restore(state: SavedState): void {
    this.#restore(state)
    this.closeWatches()
  }

  /**
   * Stores objects as another API server has returned them: with their uids, versions, status and owners, without
   * defaults, checks or admission, and as no change for open watches. A CustomResourceDefinition is served at once.
   * Returns what the resource is here; undefined if it is not served, so that nothing was stored.
   */
  adopt(
    { group, version, plural }: ResourcePlace,
    objects: readonly ApiObject[],
  ): 'built-in' | 'custom' | undefined {
    const context = this.#context
    const kind = context.kinds.find(group, version, plural)
    if (!kind?.stored) return undefined
    this.#isAdopting = true
    try {
      for (const object of objects) {
        // A custom object is converted when it is read.
        const stored = kind.custom ? object : toStored(kind, object)
        const { namespace = '', name } = object.metadata
        this.#store.adopt(kind.storage.id, storeKey(kind, namespace, name!), stored)
        if (kind.storage.id === CRDS) context.webhooks.within(undefined, () => applyDefinition(context, stored))
      }
    } finally {
      this.#isAdopting = false
    }
    return kind.custom ? 'custom' : 'built-in'
  }

  /** Drops the history, like an etcd compaction with a restart: older watches and continue tokens get 410. */
  compact(): void {
    this.#store.compact()
  }

  /** Ends every open watch, as a server shutdown does. Clients may reconnect at once. */
  closeWatches(): void {
    this.#watches.end()
  }

  /** Returns the number of open watches. */
  get watches(): number {
    return this.#watches.size
  }

  #handle(request: HttpRequest): HttpResponse | Promise<HttpResponse> {
    if (request.signal?.aborted) throw request.signal.reason
    request.beforeSend?.()
    this.#store.trim()
    const call = readCall(request)
    return this.#context.webhooks.run(new Session(call), () => this.#answer(call))
  }

  #answer(call: Call): HttpResponse {
    // Before the request has an effect, as its answer cannot suspend it any more.
    if (acceptsYaml(call)) yamlWriter()
    return encodeAnswer(call, this.#dispatch(call), this.#newAuditId)
  }

  #dispatch(call: Call): HttpResponse {
    call.warnings.length = 0
    return this.#orError(call, () => {
      const session = this.#context.webhooks.current!
      if (!session.isAdmitted) this.#context.access.admit(call)
      session.isAdmitted = true
      return dispatch(this.#context, this.#watches, call)
    })
  }

  #refuse(call: Call): HttpResponse | undefined {
    // Its answer might need the writer of YAML, which may not be loaded: then the request itself is refused.
    if (acceptsYaml(call)) return undefined
    const refused = this.#orError(call, () => void this.#context.access.admit(call))
    return refused && encodeAnswer(call, refused, this.#newAuditId)
  }

  #orError<T>(call: Call, fn: () => T): T | HttpResponse {
    try {
      return fn()
    } catch (error) {
      if (error instanceof Suspension) throw error
      if (error instanceof StatusError) return answerError(error, call.warnings)
      this.#log.error('The API server failed to handle a request', { method: call.method, path: call.path, error })
      return answerError(internal(error instanceof Error ? error.message : String(error)), call.warnings)
    }
  }

  /** Runs the controllers that are built into a real API server, and the namespace controller. */
  #afterWrite(kind: Kind, object: ApiObject, type: 'put' | 'removed'): void {
    const context = this.#context
    if (kind.storage.id === CRDS) {
      if (type === 'put') applyDefinition(context, object)
      else removeDefinition(context, object)
    }
    if (kind.storage.id === NAMESPACES && type === 'put' && object.metadata.deletionTimestamp) {
      deleteContents(context, object.metadata.name!)
    }
    if (type === 'removed') {
      if (kind.custom) finalizeDefinition(context, kind.storage.id)
      if (kind.namespaced) finalizeIfEmpty(context, object.metadata.namespace!)
    }
    if (kind.namespaced) countQuotas(context, object)
  }

  #restore(state: SavedState): void {
    if (state.format !== 'kubeloop-apiserver/1') {
      throw new TypeError(
        `Cannot restore the API server: the format of the saved state is "${String(state.format)}", ` +
          'expected "kubeloop-apiserver/1"; start without a saved state',
      )
    }
    for (const crd of this.#store.list(CRDS, '')) removeDefinition(this.#context, crd)
    this.#store.restore(structuredClone(state.store))
    for (const crd of this.#store.list(CRDS, '')) applyDefinition(this.#context, crd)
  }
}

/** Returns a function that creates the objects of a new cluster once. Their data is loaded for no other server. */
function bootstrapping(context: Context): () => Promise<void> {
  let done: Promise<void> | undefined
  return () =>
    done ??= import('../controllers/bootstrap.ts').then(({ createBootstrapObjects }) => createBootstrapObjects(context))
}

/** Returns a function that calls webhooks by their URL over TLS, on kept connections. It cannot reach Services. */
function webhookCaller(): CallWebhook {
  let caller: Promise<CallWebhook> | undefined
  // An API server without webhooks starts without the client for HTTPS.
  return async (...call) =>
    (await (caller ??= import('../webhooks/https_caller.ts').then((each) => each.httpsCaller())))(...call)
}
