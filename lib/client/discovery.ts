/** Which kinds a server serves. */
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
  const { groups } = (await api.raw({ method: 'GET', path: '/apis', headers: ACCEPT }, 'list the API groups', signal)) as GroupList
  const versions = ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)]
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

/** The kinds of one version of a group, such as `v1` or `apps/v1`. Rejects with NotFound when the server does not have it. */
export async function readKinds(api: Api, groupVersion: string, signal?: AbortSignal): Promise<ServedKind[]> {
  const [group, version] = groupVersion.includes('/') ? (groupVersion.split('/') as [string, string]) : (['', groupVersion] as const)
  const path = group ? `/apis/${groupVersion}` : `/api/${groupVersion}`
  const list = (await api.raw({ method: 'GET', path, headers: ACCEPT }, `list the kinds of ${groupVersion}`, signal)) as ResourceList
  return list.resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced, verbs }) => ({
      resource: { group, version, kind, plural: name, scope: namespaced ? ('Namespaced' as const) : ('Cluster' as const) },
      verbs: verbs ?? [],
    }))
}

const ACCEPT = { accept: 'application/json' } as const
