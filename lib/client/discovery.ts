/** Which kinds a server serves. */
import { kindProblem } from '../core/names.ts'
import type { AnyResource } from '../core/resource.ts'
import { isReason } from '../core/errors.ts'
import type { Api } from './api.ts'

interface GroupList {
  readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[]
}

interface ResourceList {
  readonly resources: readonly {
    readonly name: string
    readonly kind: string
    readonly namespaced: boolean
    readonly verbs?: readonly string[] | null
  }[]
}

/** The kinds of each group's preferred version that have all of these verbs. */
export async function discoverKinds(api: Api, verbs: readonly string[], signal: AbortSignal): Promise<AnyResource[]> {
  const { groups } =
    (await api.raw({ method: 'GET', path: '/apis', headers: ACCEPT }, 'list the API groups', signal)) as GroupList
  const versions = [
    'v1',
    ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion).filter(parseApiVersion),
  ]
  const lists = await Promise.all(versions.map((groupVersion) => kindsOf(api, groupVersion, signal)))
  return lists.flat().filter((kind) => verbs.every((verb) => kind.verbs.includes(verb))).map(({ resource }) => resource)
}

async function kindsOf(api: Api, groupVersion: string, signal: AbortSignal): Promise<ServedKind[]> {
  try {
    return await readKinds(api, groupVersion, signal)
  } catch (error) {
    // A group may vanish between the two requests, and an aggregated API may be down: the others are still there.
    if (isReason(error, 'NotFound') || isReason(error, 'ServiceUnavailable')) return []
    throw error
  }
}

/** A kind, and what can be done with its objects. */
export interface ServedKind {
  readonly resource: AnyResource
  readonly verbs: readonly string[]
}

/** `apps/v1` or `v1` in its parts. Undefined for what can be no apiVersion: it may come from an object, and becomes a path. */
export function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } | undefined {
  const slash = apiVersion.indexOf('/')
  const names = { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1) }
  return slash === 0 || kindProblem(names) ? undefined : names
}

/**
 * The kinds of one version of a group, such as `v1` or `apps/v1`. Rejects with NotFound when the server does not have it, with a
 * TypeError for what can be no apiVersion.
 */
export async function readKinds(api: Api, groupVersion: string, signal?: AbortSignal): Promise<ServedKind[]> {
  const names = parseApiVersion(groupVersion)
  if (!names) {
    throw new TypeError(
      `Cannot list the kinds of ${JSON.stringify(groupVersion)}: it is no apiVersion, such as "v1" or "apps/v1"`,
    )
  }
  const { group, version } = names
  const path = group ? `/apis/${groupVersion}` : `/api/${groupVersion}`
  const list = (await api.raw(
    { method: 'GET', path, headers: ACCEPT },
    `list the kinds of ${groupVersion}`,
    signal,
  )) as ResourceList
  return list.resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced, verbs }) => ({
      resource: {
        group,
        version,
        kind,
        plural: name,
        scope: namespaced ? ('Namespaced' as const) : ('Cluster' as const),
      },
      verbs: verbs ?? [],
    }))
}

const ACCEPT = { accept: 'application/json' } as const
