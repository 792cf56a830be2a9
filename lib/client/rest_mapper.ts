/** Discovers which kinds a server serves, and maps kind names to resources. */
import { isReason } from '../core/errors.ts'
import { kindProblem } from '../core/names.ts'
import { splitApiVersion } from '../core/owners.ts'
import { type AnyResource, groupResourceOf } from '../core/resource.ts'
import type { Api } from './api.ts'

/** Names a kind by `apiVersion` and `kind`, as an object does. */
export interface KindName {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string
  readonly kind: string
}

/**
 * Finds kinds by name. Sends one request per version of a group at its first use and after {@link forget}, and one
 * whenever a kind is not found, as its CRD may be new. Concurrent calls share a request.
 */
export class RestMapper {
  readonly #api: Api
  readonly #known = new Map<string, ReadonlyMap<string, AnyResource>>()
  readonly #pending = new Map<string, Promise<ReadonlyMap<string, AnyResource>>>()

  constructor(api: Api) {
    this.#api = api
  }

  /** Resolves with the kind's resource, or `undefined` if the server does not serve it or the name is invalid. */
  async find({ apiVersion, kind }: KindName): Promise<AnyResource | undefined> {
    if (!parseApiVersion(apiVersion)) return undefined
    return this.#known.get(apiVersion)?.get(kind) ?? (await this.#readOnce(apiVersion)).get(kind)
  }

  /**
   * Forgets the kinds of the group and version in the path of a request. Called when the server did not serve its kind:
   * the definition may have been made again with another plural or scope.
   */
  forget(path: string): void {
    this.#known.delete(path.split('/').slice(2, 4).join('/'))
  }

  #readOnce(apiVersion: string): Promise<ReadonlyMap<string, AnyResource>> {
    const reading = this.#pending.get(apiVersion) ??
      this.#read(apiVersion).finally(() => this.#pending.delete(apiVersion))
    this.#pending.set(apiVersion, reading)
    return reading
  }

  async #read(apiVersion: string): Promise<ReadonlyMap<string, AnyResource>> {
    try {
      const kinds = new Map((await readKinds(this.#api, apiVersion)).map(({ resource }) => [resource.kind, resource]))
      this.#known.set(apiVersion, kinds)
      return kinds
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error
      // The group disappears with its last CRD.
      this.#known.delete(apiVersion)
      return new Map()
    }
  }
}

interface GroupList {
  readonly groups: readonly {
    readonly preferredVersion: GroupVersion
    readonly versions: readonly GroupVersion[]
  }[]
}

interface GroupVersion {
  readonly groupVersion: string
}

interface ResourceList {
  readonly resources: readonly {
    readonly name: string
    readonly kind: string
    readonly namespaced: boolean
    readonly verbs?: readonly string[] | null
  }[]
}

/** Resolves with the kinds that have all of these verbs, each once: best in the preferred version of its group. */
export async function discoverKinds(api: Api, verbs: readonly string[], signal: AbortSignal): Promise<AnyResource[]> {
  const { groups } =
    (await api.raw({ method: 'GET', path: '/apis', headers: ACCEPT }, 'list the API groups', signal)) as GroupList
  const ofGroups = groups.flatMap(({ preferredVersion, versions }) => [preferredVersion, ...versions])
  const versions = new Set(['v1', ...ofGroups.map(({ groupVersion }) => groupVersion).filter(parseApiVersion)])
  const lists = await Promise.all([...versions].map((groupVersion) => kindsOf(api, groupVersion, signal)))
  const found = lists.flat().filter((kind) => verbs.every((verb) => kind.verbs.includes(verb)))
  return [...Map.groupBy(found, ({ resource }) => groupResourceOf(resource)).values()].map(([first]) => first!.resource)
}

async function kindsOf(api: Api, groupVersion: string, signal: AbortSignal): Promise<ServedKind[]> {
  try {
    return await readKinds(api, groupVersion, signal)
  } catch (error) {
    // Skip a group that was deleted meanwhile, or whose aggregated API is down.
    if (isReason(error, 'NotFound') || isReason(error, 'ServiceUnavailable')) return []
    throw error
  }
}

/** A kind and the verbs that the server supports for it. */
export interface ServedKind {
  readonly resource: AnyResource
  readonly verbs: readonly string[]
}

/** Splits `apps/v1` or `v1`. Undefined if it is invalid: it may come from an object, and becomes part of a path. */
function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } | undefined {
  const names = splitApiVersion(apiVersion)
  return apiVersion.startsWith('/') || kindProblem(names) ? undefined : names
}

/**
 * Resolves with the kinds of one version of a group, such as `v1` or `apps/v1`.
 *
 * @throws NotFound if the server does not serve that version, TypeError if it is not a valid apiVersion.
 */
export async function readKinds(api: Api, groupVersion: string, signal?: AbortSignal): Promise<ServedKind[]> {
  const names = parseApiVersion(groupVersion)
  if (!names) {
    throw new TypeError(
      `Cannot list the kinds of ${JSON.stringify(groupVersion)}: it is not an apiVersion such as "v1" or "apps/v1"`,
    )
  }
  const { group, version } = names
  const path = group ? `/apis/${groupVersion}` : `/api/${groupVersion}`
  const action = `list the kinds of ${groupVersion}`
  const list = (await api.raw({ method: 'GET', path, headers: ACCEPT }, action, signal)) as ResourceList
  return list.resources.filter(({ name }) => !name.includes('/')).map(({ name, kind, namespaced, verbs }) => {
    const scope = namespaced ? 'Namespaced' : 'Cluster'
    return { resource: { group, version, kind, plural: name, scope }, verbs: verbs ?? [] }
  })
}

const ACCEPT = { accept: 'application/json' } as const
