/** Gives an operator of `kubeloop dev --as-service-account` its account, roles and tokens. */
import { type Client, Cluster, type Transport } from 'kubeloop'
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from 'kubeloop/kinds'
import { messageOf } from '../../core/errors.ts'
import { type AnyResource, apiVersionOf } from '../../core/resource.ts'
import type { Clock } from '../../async/clock.ts'
import { tokenOf } from '../../rights/trial.ts'
import { ManifestApplier } from '../api/apply.ts'
import type { DevEvent } from '../api/events.ts'
import type { Manifest, ManifestObject } from '../manifests.ts'
import type { SessionAccount, SessionResponse } from './session.ts'

export interface AccountsOptions {
  /** Returns an administrator's connection to a cluster. No name: the operator's own. */
  readonly transportOf: (cluster: string | undefined) => Transport | undefined
  /** Applies the user's manifests, whose roles take the place of those of the same names. */
  readonly applier: ManifestApplier
  readonly clock: Clock
  readonly report: (event: DevEvent) => void
}

/** The kinds that roles and bindings need, which are applied before these. */
const FIRST = /^v1 (?:Namespace|ServiceAccount)$/
const ROLES: readonly AnyResource[] = [Role, ClusterRole, RoleBinding, ClusterRoleBinding]

/** Marks roles and bindings that follow from an operator's description, to remove them when it has changed. */
const MARK = 'kubeloop.dev/role-of'

/** Returns what an operator's session has of its account. */
export type OpenAccount = (
  operator: string,
  account: SessionAccount,
  signal: AbortSignal,
) => Promise<Pick<SessionResponse, 'tokens' | 'refused'>>

/** Returns what applies the needs of an operator's account, and removes roles of its last start that it lacks now. */
export function accountsOf({ transportOf, applier, clock, report }: AccountsOptions): OpenAccount {
  const reported = new Set<string>()
  const admin = (cluster: string | undefined): Cluster =>
    new Cluster({ name: 'kubeloop-dev', transport: transportOf(cluster)! })
  /** `news`: the results that are reported, as the account has a line of its own. */
  const apply = (manifests: readonly Manifest[], news: readonly string[], signal: AbortSignal): Promise<void> =>
    new ManifestApplier(manifests, {
      apiOf: (cluster) => admin(cluster).api,
      clock,
      report: (event) => void (event.kind === 'applied' && !news.includes(event.result) || report(event)),
    }).apply(signal)
  return async (operator, account, signal) => {
    const { namespace, name, hasOwnRoles, manifests } = account
    const title = `${namespace}/${name}`
    const others = manifests.map((each) => ({ ...each, objects: each.objects.filter((object) => !isRole(object)) }))
    const roles = manifests.map((each) => rolesOf(operator, each, applier.manifests))
    try {
      await apply(others, [], signal)
      await applier.applyFirst((each) => isRole(each) || FIRST.test(`${each.apiVersion} ${each.kind}`), signal)
      await apply(roles, ['changed'], signal)
      const tokens: Record<string, string> = {}
      for (const { cluster, objects } of roles) {
        const { api, client } = admin(cluster)
        await removeOthers(client, operator, objects)
        tokens[cluster ?? ''] = await tokenOf(api, account, signal)
      }
      if (!reported.has(title)) report({ kind: 'account', name: title, hasOwnRoles })
      reported.add(title)
      return { tokens }
    } catch (error) {
      return { refused: messageOf(error) }
    }
  }
}

/** Returns the marked roles and bindings of a manifest. The user's manifests (`stated`) have precedence. */
function rolesOf(operator: string, { objects, ...manifest }: Manifest, stated: readonly Manifest[]): Manifest {
  const own = stated.filter(({ cluster }) => cluster === manifest.cluster)
  const keys = new Set(own.flatMap((each) => each.objects.filter(isRole).map(keyOf)))
  const marked = objects.filter((each) => isRole(each) && !keys.has(keyOf(each))).map((each): ManifestObject => {
    return { ...each, metadata: { ...each.metadata, labels: { ...each.metadata.labels, [MARK]: operator } } }
  })
  return { ...manifest, objects: marked }
}

/** Removes the marked roles and bindings of an operator that are not among these. */
async function removeOthers(client: Client, operator: string, wanted: readonly ManifestObject[]): Promise<void> {
  const keys = new Set(wanted.map(keyOf))
  for (const kind of ROLES) {
    for (const each of await client.list(kind, { labels: { [MARK]: operator } })) {
      if (!keys.has(keyOf(each))) await client.delete(kind, each.metadata)
    }
  }
}

/** Whether an object is one of RBAC, and no kind of another group with such a name. */
function isRole({ apiVersion, kind }: ManifestObject): boolean {
  return ROLES.some((each) => each.kind === kind && apiVersionOf(each) === apiVersion)
}

function keyOf({ kind, metadata: { name, namespace } }: Pick<ManifestObject, 'kind' | 'metadata'>): string {
  return `${kind} ${namespace ?? ''}/${name}`
}
