/** Records which rights an operator asks for, with the places in its file, for `kubeloop rights --record`. */
import type { AnyResource, Transport } from 'kubeloop'
import type { ReconcileReport } from '../controller/controller.ts'
import { messageOf } from '../core/errors.ts'
import { headersOf, type HttpRequest } from '../core/transport.ts'
import { type OwnerReference, parseKey } from '../core/objects.ts'
import { requestedAction, splitTarget } from '../core/requested_action.ts'
import { apiVersionOf } from '../core/resource.ts'
import { userFrames } from '../observe/stack.ts'
import type { OperatorDescription } from '../operator/description/description.ts'
import { usedResources } from '../operator/description/used_kinds.ts'
import { RBAC } from '../rights/account.ts'
import { appendText } from '../runtime/os/user_files.ts'

/** The environment variable that names the folder of the record in tests. */
export const RIGHTS = 'KUBELOOP_RIGHTS'

/** One right that an operator has asked for, as a line of the record. */
export interface AskedRight {
  readonly operator: string
  /** The operator's name of the cluster. Absent for its own. */
  readonly cluster?: string
  readonly verb: string
  readonly group: string
  /** With its subresource, as `foos/status`. */
  readonly resource: string
  /** Absent for cluster-scoped objects and for all namespaces. {@link ANY} after too many. */
  readonly namespace?: string
  /** For a create, the name in the body. Absent without one. {@link ANY} after too many. */
  readonly name?: string
  /** Where the operator's code has asked, as `file:line:column`. Absent for requests of kubeloop itself. */
  readonly at?: string
}

export interface AskedPath {
  readonly operator: string
  readonly cluster?: string
  readonly verb: string
  readonly path: string
  readonly at?: string
}

/** An object that was reconciled: its name comes from a user, and does not stand in the operator's file. */
interface Reconciled {
  readonly operator: string
  /** `namespace/name`, or the name of a cluster-scoped object. */
  readonly reconciled: string
}

export type RecordLine = AskedRight | AskedPath | Reconciled

/** Stands for all names or namespaces. */
export const ANY = '*'

/** The maximum number of lines for a verb on a resource, and of reconciled objects. */
const MAX_LINES = 200

/** Deep enough for the frames of kubeloop between a request and the operator's code. */
const FRAMES = 60

export interface RecorderOptions {
  readonly operator: string
  /** The kinds of the operator, to find those of owner references. */
  readonly resources: readonly AnyResource[]
  readonly write: (line: RecordLine) => void
}

/**
 * Creates a file in a folder, so that many processes can write to the folder at once, and returns a function that
 * appends a line to it.
 *
 * @throws Error, now and from each call, if the file cannot be written.
 */
export function lineWriter(folder: string, operator: string): (line: RecordLine) => void {
  const file = `${folder}/${operator}-${crypto.randomUUID()}.jsonl`
  const append = (text: string): void => {
    try {
      appendText(file, text)
    } catch (cause) {
      throw new Error(`Cannot record the rights of operator "${operator}" in ${folder}: ${messageOf(cause)}`, { cause })
    }
  }
  append('')
  return (line) => append(`${JSON.stringify(line)}\n`)
}

/** Returns a recorder of what an operator asks for in all its clusters. */
export function rightsRecorder(description: OperatorDescription, write: RecorderOptions['write']): RightsRecorder {
  const resources = [undefined, ...description.clusters].flatMap((cluster) => usedResources(description, cluster))
  return new RightsRecorder({ operator: description.options.name, resources, write })
}

export class RightsRecorder {
  readonly #options: RecorderOptions
  readonly #known = new Set<string>()
  readonly #counts = new Map<string, number>()

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  /** Wraps a transport outside of all others, as the stack must lead to its caller. `cluster`: null for the own one. */
  around(inner: Transport, cluster: string | null): Transport {
    return (request) => {
      this.#record(request, cluster)
      return inner(request)
    }
  }

  /** Notes an object, and the writes of its run that were not sent as they would have changed nothing. */
  reconciled({ key, cluster, writes }: Pick<ReconcileReport, 'key' | 'cluster' | 'writes'>): void {
    const { operator, resources } = this.#options
    this.#add('reconciled', key, () => ({ operator, reconciled: key }))
    for (const write of writes) {
      if (write.result !== 'unchanged') continue
      const found = resources.find(({ group, kind }) => group === write.group && kind === write.kind)
      const verbs = UNSENT[write.verb]
      if (!found || !verbs) continue
      const { namespace, name } = parseKey(write.key)
      const resource = write.verb === 'status' ? `${found.plural}/status` : found.plural
      for (const verb of verbs) {
        const asked = { ...NOTHING, verb, group: found.group, resource, namespace: namespace ?? '', name }
        // A line of its own: that of the request has its place.
        this.#addAsked(asked, write.cluster ?? cluster ?? null, () => ({}), 'unsent ')
      }
    }
  }

  #record(request: HttpRequest, cluster: string | null): void {
    const { operator } = this.#options
    const origin = { operator, ...(cluster !== null && { cluster }) }
    let place: { readonly at?: string } | undefined
    // A stack costs more than all the rest, so it is taken only for a new line.
    const at = (): { readonly at?: string } => place ??= placeOfCall()
    for (const asked of this.#rightsOf(request)) {
      const { kind, verb, path } = asked
      if (kind === 'resource') this.#addAsked(asked, cluster, at)
      else this.#add(`${cluster} ${verb} ${path}`, '', () => ({ ...origin, verb, path, ...at() }))
    }
  }

  #addAsked(
    { verb, group, resource, namespace, name }: Asked,
    cluster: string | null,
    at: () => { readonly at?: string },
    prefix = '',
  ): void {
    const on = { operator: this.#options.operator, ...(cluster !== null && { cluster }), verb, group, resource }
    const line = (instead?: typeof ANY): AskedRight => {
      const place = namespace && { namespace: instead ?? namespace }
      return { ...on, ...place, ...(name && { name: instead ?? name }), ...at() }
    }
    this.#add(`${prefix}${cluster} ${verb} ${group}/${resource}`, `${namespace}/${name}`, line, () => line(ANY))
  }

  #add(what: string, each: string, line: () => RecordLine, overflow?: () => RecordLine): void {
    const key = `${what} ${each}`
    if (this.#known.has(key)) return
    const count = (this.#counts.get(what) ?? 0) + 1
    if (count > MAX_LINES + 1) return
    this.#counts.set(what, count)
    if (count <= MAX_LINES) {
      this.#known.add(key)
      this.#options.write(line())
    } else if (overflow) this.#options.write(overflow())
  }

  *#rightsOf(request: HttpRequest): Generator<Asked> {
    const target = splitTarget(request.path)
    const action = requestedAction(request.method, target.path, target.query)
    const { isResource, verb, group, resource, subresource, namespace, name, path } = action
    const headers = headersOf(request)
    const impersonated = [...impersonations(headers)]
    // The request itself needs the rights of that user.
    if (impersonated.length > 0) return yield* impersonated
    if (!isResource) {
      if (!ALLOWED_PATHS.test(path)) yield { ...NOTHING, kind: 'path', verb, path }
      return
    }
    const body = bodyOf(request)
    const asked = {
      ...NOTHING,
      verb,
      group,
      resource: subresource ? `${resource}/${subresource}` : resource,
      // The path of a Namespace is within itself, but a Role cannot be in one that does not exist yet.
      namespace: group === '' && resource === 'namespaces' ? '' : namespace,
      name: name || (verb === 'create' ? nameIn(request) : ''),
    }
    yield asked
    // An apply creates a missing object, and the server then asks for that right, too.
    if (verb === 'patch' && !subresource && /apply-patch/.test(headers['content-type'] ?? '')) {
      yield { ...asked, verb: 'create' }
    }
    yield* this.#blockedOwners(body, namespace)
    if (group === RBAC && !subresource && WRITES.includes(verb)) yield* granted(resource, body, namespace)
  }

  /** The admission plugin OwnerReferencesPermissionEnforcement asks whether the writer may set finalizers of owners. */
  *#blockedOwners(body: string, namespace: string): Generator<Asked> {
    if (!body.includes('"blockOwnerDeletion":true')) return
    for (const { apiVersion, kind, name, blockOwnerDeletion } of objectIn(body).metadata?.ownerReferences ?? []) {
      const owner = this.#options.resources.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion)
      if (!owner || blockOwnerDeletion !== true) continue
      const place = owner.scope === 'Namespaced' ? namespace : ''
      const resource = `${owner.plural}/finalizers`
      yield { ...NOTHING, verb: 'update', group: owner.group, resource, namespace: place, name: name ?? '' }
    }
  }
}

const WRITES: readonly string[] = ['create', 'update', 'patch']

/**
 * Yields the rights without which an API server refuses the write of a role, or of its binding.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
function* granted(resource: string, body: string, namespace: string): Generator<Asked> {
  const { roleRef: { kind, name } = {}, rules = [] } = objectIn(body)
  if (resource.endsWith('rolebindings') && name && (kind === 'Role' || kind === 'ClusterRole')) {
    yield { ...NOTHING, verb: 'bind', group: RBAC, resource: `${kind.toLowerCase()}s`, namespace, name }
  }
  for (const { apiGroups = [], resources = [], verbs = [], resourceNames = [''], nonResourceURLs = [] } of rules) {
    for (const verb of verbs) {
      for (const path of nonResourceURLs) yield { ...NOTHING, kind: 'path', verb, path }
      for (const group of apiGroups) {
        for (const resource of resources) {
          for (const name of resourceNames) yield { ...NOTHING, verb, group, resource, namespace, name }
        }
      }
    }
  }
}

interface Asked {
  readonly kind: 'resource' | 'path'
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly path: string
}

const NOTHING = { kind: 'resource', group: '', resource: '', namespace: '', name: '', path: '' } as const

/** The verbs of writes that are not sent if they change nothing. */
const UNSENT: Readonly<Record<string, readonly string[]>> = { status: ['patch'], apply: ['patch', 'create'] }

/** Every authenticated user may read these, by the roles system:discovery and system:public-info-viewer. */
const ALLOWED_PATHS = /^\/(?:$|(?:apis?|openapi|version|healthz|livez|readyz)(?:\/|$))/

function* impersonations(headers: Readonly<Record<string, string>>): Generator<Asked> {
  const impersonate = (resource: string, name: string, group = '', namespace = ''): Asked => {
    return { ...NOTHING, verb: 'impersonate', group, resource, namespace, name }
  }
  for (const [header, value] of Object.entries(headers)) {
    if (header === 'impersonate-user') {
      const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(value) ?? []
      yield name ? impersonate('serviceaccounts', name, '', namespace) : impersonate('users', value)
    } else if (header === 'impersonate-group') {
      for (const group of [value].flat()) yield impersonate('groups', group)
    } else if (header === 'impersonate-uid') yield impersonate('uids', value, 'authentication.k8s.io')
    else if (header.startsWith('impersonate-extra-')) {
      const key = header.slice('impersonate-extra-'.length)
      yield impersonate(`userextras/${decodeURIComponent(key)}`, String(value), 'authentication.k8s.io')
    }
  }
}

function bodyOf({ body }: HttpRequest): string {
  return typeof body === 'string' ? body : body === undefined ? '' : new TextDecoder().decode(body)
}

interface Body {
  readonly metadata?: { readonly name?: string; readonly ownerReferences?: readonly Partial<OwnerReference>[] }
  readonly roleRef?: { readonly kind?: string; readonly name?: string }
  readonly rules?: readonly {
    readonly [field in 'apiGroups' | 'resources' | 'verbs' | 'resourceNames' | 'nonResourceURLs']?: readonly string[]
  }[]
}

function objectIn(body: string): Body {
  try {
    return (JSON.parse(body) as Body | null) ?? {}
  } catch {
    return {} // not JSON: the server refuses it
  }
}

/** Returns the name in the body of a create; empty if it has none, as with a generated name. */
export function nameIn(request: HttpRequest): string {
  return objectIn(bodyOf(request)).metadata?.name ?? ''
}

/** The line of a stack for the function that runs an operator. A bundler may add a number to its name. */
const START = /\n[^\n]*\bstartOperator\d*\b/

/**
 * Where a turn of the event loop began: its callers did not ask for what runs in it. `expect(…).rejects` of Bun runs
 * turns inside of the call, so that a call without a place, or a synchronous one, is the caller of an asynchronous one.
 */
const TURN = /\n\s*at [^\n]*\(unknown\)|(?<=\n\s*at async [^\n]*)\n\s*at (?!async )/

function placeOfCall(): { readonly at?: string } {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = FRAMES
  const { stack } = new Error()
  Error.stackTraceLimit = limit
  const at = placeIn(stack)
  return at === undefined ? {} : { at }
}

/** Returns the user's frame that made a request, by the stack of the request. */
export function placeIn(stack: string | undefined): string | undefined {
  // What awaits the whole operator, as the line with `app.run`, has not asked for this.
  return userFrames(stack?.split(START)[0]?.split(TURN)[0])[0]
}
