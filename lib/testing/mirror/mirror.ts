/** Reads what an operator asks for from a cluster, once, and keeps its writes in an embedded API. */
import {
  type ApiObject,
  ApiServer,
  type ApiServerOptions,
  internals,
  type JsonObject,
  type ResourcePlace,
} from 'kubeloop/apiserver'
import { messageOf } from '../../core/errors.ts'
import { formatKey } from '../../core/objects.ts'
import { type RequestedAction, requestedAction, splitTarget } from '../../core/requested_action.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../core/transport.ts'
import { nameIn } from '../rights_recorder.ts'

export interface MirrorOptions {
  /** The connection to the cluster, to which only GET is sent. */
  readonly cluster: Transport
  /** Names the cluster in notes and errors, as in ` of the cluster "west"`. */
  readonly where: string
  readonly api: Pick<ApiServerOptions, 'clock' | 'random' | 'callWebhook'>
  /** Called with what the user should know. */
  readonly note: (text: string) => void
  /** Called if the cluster does not answer, or not as an API server. */
  readonly fail: (error: Error) => void
}

/** A refusal of the cluster, which the operator gets as it is. */
export interface Refusal {
  readonly path: string
  readonly status: number
  readonly text: string
}

/** An object as it was read from this place in the cluster. */
interface Loaded {
  readonly place: ResourcePlace
  readonly object: ApiObject
}

/** An object that was written: as the cluster had it, and as it is now. Undefined where it does not exist. */
export interface Written {
  readonly place: ResourcePlace
  readonly namespace: string
  readonly name: string
  readonly before: ApiObject | undefined
  readonly after: ApiObject | undefined
  /** Whether the kind is known by discovery alone. */
  readonly isAssumed: boolean
  /** Whether each API server has the kind. */
  readonly isBuiltIn: boolean
}

export const DEFINITIONS = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
} as const
export const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' } as const

const LIMITS = { group: '', version: 'v1', plural: 'limitranges' } as const
/** What the embedded API reads when it creates an object: defaults and classes. */
const NEEDED: Readonly<Record<string, readonly ResourcePlace[]>> = {
  'pods.': [
    LIMITS,
    { group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses' },
    { group: 'node.k8s.io', version: 'v1', plural: 'runtimeclasses' },
  ],
  'persistentvolumeclaims.': [LIMITS, { group: 'storage.k8s.io', version: 'v1', plural: 'storageclasses' }],
  'ingresses.networking.k8s.io': [{ group: 'networking.k8s.io', version: 'v1', plural: 'ingressclasses' }],
}

/** The maximum number of objects in an answer. */
const PAGE = '1000'

/**
 * A mirror of a cluster. The first read of an object or a list is sent to the cluster, and its answer is stored as it
 * is; later reads, watches and all writes are answered from there. A write loads its object first.
 */
export class Mirror {
  reads = 0
  readonly refused: Refusal[] = []
  readonly #options: MirrorOptions
  readonly #server: ApiServer
  /** What the cluster has, by `plural.group` and `namespace/name`. Undefined: it has no such object. */
  readonly #known = new Map<string, Map<string, Loaded | undefined>>()
  /** The answers of the cluster by their paths. Without a body: a refusal. */
  readonly #answers = new Map<string, Promise<Refusal & { readonly body?: JsonObject }>>()
  readonly #lists = new Set<string>()
  /** Definitions without a schema, of kinds that are known by discovery alone. */
  readonly #assumed = new Map<string, ApiObject>()
  readonly #written = new Map<string, Pick<Written, 'place' | 'namespace' | 'name'>>()

  constructor(options: MirrorOptions) {
    this.#options = options
    this.#server = emptyServer({
      ...options.api,
      onChange: ({ storage, object: { apiVersion, metadata: { namespace = '', name } } }) => {
        const [plural = '', ...groups] = storage.split('.')
        const [group, version] = [groups.join('.'), apiVersion.split('/').at(-1)!]
        const id = `${storage} ${formatKey({ namespace, name: name! })}`
        if (!this.#written.has(id)) this.#written.set(id, { place: { group, version, plural }, namespace, name: name! })
      },
    })
  }

  /** Yields the objects that the cluster has, as far as they were read. */
  *loaded(): Generator<Loaded> {
    for (const objects of this.#known.values()) {
      for (const each of objects.values()) if (each) yield each
    }
  }

  /** Definitions without a schema, of kinds that are known by discovery alone. */
  get assumed(): readonly ApiObject[] {
    return [...this.#assumed.values()]
  }

  /** What was refused, for the user. */
  get refusals(): readonly string[] {
    return this.refused.map((each) => `The cluster refused ${each.path}${this.#options.where}: ${reasonOf(each)}`)
  }

  /** The paths that the cluster was asked for. */
  get asked(): readonly string[] {
    return [...this.#answers.keys()]
  }

  /** Resolves with the objects that were written, in the order of their first write. */
  async written(): Promise<readonly Written[]> {
    return await Promise.all([...this.#written.values()].map(async ({ place: at, namespace, name }) => {
      const loaded = this.#known.get(idOf(at))?.get(formatKey({ namespace, name }))
      const isAssumed = this.#assumed.has(idOf(at))
      const isBuiltIn = this.#isBuiltIn(at)
      const found = { place: loaded?.place ?? at, namespace, name, before: loaded?.object, isAssumed, isBuiltIn }
      // In the version in which it was read, unless that is not served any more.
      for (const place of [found.place, at]) {
        const { status, body } = await this.#server.handle({ method: 'GET', path: pathOf(place, namespace, name) })
        const text = await body.text()
        if (status === 200) return { ...found, place, after: JSON.parse(text) as ApiObject }
      }
      return { ...found, after: undefined }
    }))
  }

  readonly handle: Transport = async (request) => {
    const { path, query } = splitTarget(request.path)
    const action = requestedAction(request.method, path, query)
    // The lines of a log are not stored, nor is what concerns the whole server.
    const passes = action.isResource ? action.verb === 'get' && action.subresource === 'log' : !GROUP_VERSION.test(path)
    if (passes && request.method === 'GET') return await this.#ask(request)
    const refused = await (action.isResource ? this.#load(request, action, query) : this.#discover(path))
    return refused ? internals.answerJson(refused.status, refused.text, []) : await this.#server.handle(request)
  }

  /** Serves the kinds of a group and version, beside those whose definitions the operator has written. */
  async #discover(path: string): Promise<undefined> {
    const [, group, version] = GROUP_VERSION.exec(path) ?? []
    const { body } = group ? await this.#read(path) : {}
    for (const { name } of (body?.['resources'] ?? []) as JsonObject[]) {
      const plural = String(name)
      if (!plural.includes('/')) await this.#place({ group: group!, version: version!, plural })
    }
  }

  /** Loads what a request reads and changes. Resolves with the cluster's refusal of a read. */
  async #load(request: HttpRequest, action: RequestedAction, query: URLSearchParams): Promise<Refusal | undefined> {
    const { verb, group, version, resource: plural, subresource } = action
    const asked = { group, version, plural }
    const namespace = idOf(asked) === idOf(NAMESPACES) ? '' : action.namespace
    if (REVIEWS.test(group)) {
      this.#note(`${plural} are answered as for an administrator of an empty cluster, and not by the cluster`)
      return undefined
    }
    const place = await this.#place(asked)
    if (subresource === '' && (verb === 'create' || verb === 'patch')) await this.#prepareCreate(asked, namespace)
    if (!place) {
      if (!this.#server.adopt(asked, [])) this.#note(`Version ${version} of ${idOf(asked)} is not served`)
      return undefined
    }
    if (COLLECTIVE.test(verb)) {
      return await this.#list(place, namespace, query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '')
    }
    if (verb === 'get') return await this.#object(place, namespace, action.name)
    // Nothing reads Events, and they are many.
    if (plural === 'events') return undefined
    const name = action.name || nameIn(request)
    const refused = name === '' ? undefined : await this.#object(place, namespace, name)
    if (refused) {
      const what = `${idOf(place)} "${formatKey({ namespace, name })}"`
      this.#note(`Whether ${what} exists is not known, so it is written as if it did not: ${reasonOf(refused)}`)
    }
    return undefined
  }

  async #prepareCreate(place: ResourcePlace, namespace: string): Promise<void> {
    const refused = namespace === '' ? undefined : await this.#object(NAMESPACES, '', namespace)
    if (refused) {
      this.#note(`The Namespace "${namespace}" is taken to exist: ${reasonOf(refused)}`)
      this.#adopt(NAMESPACES, [namespaceOf(namespace)])
    }
    for (const needed of NEEDED[idOf(place)] ?? []) await this.#list(needed, needed === LIMITS ? namespace : '', '', '')
  }

  #isBuiltIn(place: ResourcePlace): boolean {
    return this.#server.adopt(place, []) === 'built-in'
  }

  /** Resolves with a version that the cluster serves, at best the one asked for; undefined if the cluster has none. */
  async #place(asked: ResourcePlace): Promise<ResourcePlace | undefined> {
    if (this.#isBuiltIn(asked)) return asked
    if (asked.group === '') return undefined
    const id = idOf(asked)
    const refused = await this.#object(DEFINITIONS, '', id)
    const { object } = this.#known.get(idOf(DEFINITIONS))?.get(id) ?? {}
    if (object) {
      const { versions } = object['spec'] as { [field: string]: JsonObject[] }
      const served = versions!.filter((each) => each['served'] === true)
      const found = served.find(({ name }) => name === asked.version) ?? served.find(({ storage }) => storage === true)
      return { ...asked, version: String((found ?? served[0])?.['name'] ?? asked.version) }
    }
    const { body } = await this.#read(`/apis/${asked.group}/${asked.version}`)
    const all = (body?.['resources'] ?? []) as readonly JsonObject[]
    const kind = all.find(({ name }) => name === asked.plural)
    if (!kind) return undefined
    if (!this.#server.adopt(asked, [])) {
      this.#note(`Defaults and checks of ${id} are not known: ${refused ? reasonOf(refused) : 'it has no definition'}`)
      this.#assumed.set(id, definitionOf(asked, kind, all.some(({ name }) => name === `${asked.plural}/status`)))
      this.#server.adopt(DEFINITIONS, [this.#assumed.get(id)!])
    }
    return asked
  }

  /** Loads an object. Resolves with the cluster's refusal, other than that there is none. */
  async #object(place: ResourcePlace, namespace: string, name: string): Promise<Refusal | undefined> {
    const key = formatKey({ namespace, name })
    if (this.#knownOf(place).has(key) || this.#isListed(place, namespace, '', '')) return undefined
    const answer = await this.#read(pathOf(place, namespace, name))
    if (answer.body) this.#adopt(place, [answer.body as ApiObject])
    else if (answer.status !== 404) return answer
    else if (!this.#knownOf(place).has(key)) this.#knownOf(place).set(key, undefined)
    return undefined
  }

  async #list(place: ResourcePlace, namespace: string, labels: string, fields: string): Promise<Refusal | undefined> {
    if (this.#isListed(place, namespace, labels, fields)) return undefined
    const selected = { ...(labels && { labelSelector: labels }), ...(fields && { fieldSelector: fields }) }
    let all: ApiObject[] = []
    for (let page: Record<string, string> = { limit: PAGE };;) {
      const answer = await this.#read(`${pathOf(place, namespace)}?${new URLSearchParams({ ...selected, ...page })}`)
      if (!answer.body) {
        if (answer.status !== 410 || !page['continue']) return answer
        // The version of the first page has expired: all in one answer.
        all = []
        page = {}
        continue
      }
      all = all.concat(itemsOf(answer.body))
      const { continue: token } = answer.body['metadata'] as JsonObject
      if (!token) break
      page = { limit: PAGE, continue: String(token) }
    }
    this.#adopt(place, all)
    this.#lists.add(JSON.stringify([idOf(place), namespace, labels, fields]))
    return undefined
  }

  /** Whether a list with these objects was read: the same, or one of more. */
  #isListed(place: ResourcePlace, namespace: string, labels: string, fields: string): boolean {
    return [[namespace, labels, fields], ['', labels, fields], [namespace, '', ''], ['', '', '']]
      .some((each) => this.#lists.has(JSON.stringify([idOf(place), ...each])))
  }

  /** Stores objects that are not known yet: others may have been changed here. */
  #adopt(place: ResourcePlace, objects: readonly ApiObject[]): void {
    const known = this.#knownOf(place)
    const keyOf = ({ metadata: { namespace = '', name } }: ApiObject): string => formatKey({ namespace, name: name! })
    const fresh = objects.filter((object) => !known.has(keyOf(object)))
    for (const object of fresh) known.set(keyOf(object), { place, object })
    this.#server.adopt(place, fresh)
  }

  #knownOf(place: ResourcePlace): Map<string, Loaded | undefined> {
    const id = idOf(place)
    return this.#known.get(id) ?? this.#known.set(id, new Map()).get(id)!
  }

  /** Reads a path, once. Rejects, and ends the run, if the cluster does not answer as an API server. */
  #read(path: string): Promise<Refusal & { readonly body?: JsonObject }> {
    const read = async () => {
      const { status, body } = await this.#ask({ method: 'GET', path, headers: { accept: 'application/json' } })
      try {
        const text = await body.text()
        if (status === 200) return { path, status, text: '', body: JSON.parse(text) as JsonObject }
        if (status < 400 || status >= 500 || status === 401) throw new Error(`its answer has status ${status}`)
        if (status !== 404) this.refused.push({ path, status, text })
        return { path, status, text }
      } catch (error) {
        throw this.#fatal(path, error)
      }
    }
    return this.#answers.get(path) ?? this.#answers.set(path, read()).get(path)!
  }

  async #ask(request: HttpRequest): Promise<HttpResponse> {
    this.reads++
    try {
      return await this.#options.cluster(request)
    } catch (error) {
      throw this.#fatal(request.path, error)
    }
  }

  #fatal(path: string, cause: unknown): Error {
    const error = new Error(`Cannot read ${path}${this.#options.where}: ${messageOf(cause)}`, { cause })
    this.#options.fail(error)
    return error
  }

  #note(text: string): void {
    this.#options.note(`${text}${this.#options.where}`)
  }
}

const GROUP_VERSION = /^\/(?:apis\/([^/]+)\/([^/]+)|api\/v1)$/
const REVIEWS = /^auth(?:entication|orization)\.k8s\.io$/
/** Verbs of requests for many objects. */
const COLLECTIVE = /^(?:list|watch|deletecollection)$/

/** Returns a server without the namespaces of a new cluster. */
export function emptyServer(options: ApiServerOptions): ApiServer {
  const state = { format: 'kubeloop-apiserver/1', store: { revision: 1, objects: {} } } as const
  return new ApiServer({ ...options, state, endlessWatches: true })
}

/** Returns the path of a resource, or of an object. */
export function pathOf({ group, version, plural }: ResourcePlace, namespace: string, name = ''): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${namespace && `/namespaces/${namespace}`}/${plural}${name && `/${encodeURIComponent(name)}`}`
}

/** Returns `plural.group`; with a dot at its end for the core group. */
export function idOf({ group, plural }: Pick<ResourcePlace, 'group' | 'plural'>): string {
  return `${plural}.${group}`
}

export function reasonOf({ status, text }: Pick<Refusal, 'status' | 'text'>): string {
  try {
    return (JSON.parse(text) as { readonly message?: string }).message ?? `status ${status}`
  } catch {
    return `status ${status}`
  }
}

/** Returns the items of a list with apiVersion and kind, which those of built-in kinds lack. */
function itemsOf({ apiVersion, kind, items }: JsonObject): ApiObject[] {
  const type = { apiVersion: String(apiVersion), kind: String(kind).replace(/List$/, '') }
  return ((items ?? []) as JsonObject[]).map((each) => ({ ...type, ...each }) as ApiObject)
}

/** Returns a Namespace that could not be read. */
export function namespaceOf(name: string): ApiObject {
  const metadata = { name, uid: `unread-${name}`, resourceVersion: '1' }
  return { apiVersion: 'v1', kind: 'Namespace', metadata, spec: {}, status: { phase: 'Active' } }
}

/** Returns a definition without a schema, by what discovery says of a kind. */
function definitionOf({ group, version, plural }: ResourcePlace, found: JsonObject, hasStatus: boolean): ApiObject {
  const { kind, singularName = '', namespaced } = found
  const name = `${plural}.${group}`
  const names = { plural, singular: singularName, kind: kind!, listKind: `${String(kind)}List` }
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const subresources = hasStatus ? { status: {} } : {}
  const versions = [{ name: version, served: true, storage: true, schema, subresources }]
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, uid: `unread-${name}`, resourceVersion: '1' },
    spec: { group, scope: namespaced ? 'Namespaced' : 'Cluster', names, versions },
  }
}
