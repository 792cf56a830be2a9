/** Gives an operator of `kubeloop dev --as-service-account` its account, roles and tokens. */
import { type Client, Cluster, type Transport } from 'kubeloop'
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from 'kubeloop/kinds'
import { messageOf } from '../../core/errors.ts'
import type { AnyResource } from '../../core/resource.ts'
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

const ROLES: readonly AnyResource[] = [Role, ClusterRole, RoleBinding, ClusterRoleBinding]

/** Marks roles and bindings that follow from an operator's description, to remove them when it has changed. */
const MARK = 'kubeloop.dev/role-of'

export class Accounts {
  readonly #options: AccountsOptions
  readonly #reported = new Set<string>()

  constructor(options: AccountsOptions) {
    this.#options = options
  }

  /** Applies what an operator's account needs, and removes its roles of the last start that it no longer needs. */
  async open(
    operator: string,
    account: SessionAccount,
    signal: AbortSignal,
  ): Promise<Pick<SessionResponse, 'tokens' | 'refused'>> {
    const { namespace, name, hasOwnRoles, manifests } = account
    const { applier, report } = this.#options
    const title = `${namespace}/${name}`
    const others = manifests.map((each) => ({ ...each, objects: each.objects.filter((object) => !isRole(object)) }))
    const roles = manifests.map((each) => this.#rolesOf(operator, each))
    try {
      await this.#apply(others, [], signal)
      await applier.applyFirst((each) => isRole(each) || /^(Namespace|ServiceAccount)$/.test(each.kind), signal)
      await this.#apply(roles, ['changed'], signal)
      const tokens: Record<string, string> = {}
      for (const { cluster, objects } of roles) {
        const { api, client } = this.#admin(cluster)
        await removeOthers(client, operator, objects)
        tokens[cluster ?? ''] = await tokenOf(api, account, signal)
      }
      if (!this.#reported.has(title)) report({ kind: 'account', name: title, hasOwnRoles })
      this.#reported.add(title)
      return { tokens }
    } catch (error) {
      return { refused: messageOf(error) }
    }
  }

  /** Returns the roles and bindings of a manifest with their mark, without those that the user's manifests have. */
  #rolesOf(operator: string, { objects, ...manifest }: Manifest): Manifest {
    const stated = this.#options.applier.manifests.filter(({ cluster }) => cluster === manifest.cluster)
    const keys = new Set(stated.flatMap((each) => each.objects.map(keyOf)))
    const marked = objects.filter((each) => isRole(each) && !keys.has(keyOf(each))).map((each): ManifestObject => {
      return { ...each, metadata: { ...each.metadata, labels: { ...each.metadata.labels, [MARK]: operator } } }
    })
    return { ...manifest, objects: marked }
  }

  /** `news`: the results that are reported, as the account has a line of its own. */
  async #apply(manifests: readonly Manifest[], news: readonly string[], signal: AbortSignal): Promise<void> {
    const { clock, report } = this.#options
    await new ManifestApplier(manifests, {
      apiOf: (cluster) => this.#admin(cluster).api,
      clock,
      report: (event) => void (event.kind === 'applied' && !news.includes(event.result) || report(event)),
    }).apply(signal)
  }

  #admin(cluster: string | undefined): Cluster {
    return new Cluster({ name: 'kubeloop-dev', transport: this.#options.transportOf(cluster)! })
  }
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

function isRole({ kind }: { readonly kind: string }): boolean {
  return ROLES.some((each) => each.kind === kind)
}

function keyOf({ kind, metadata: { name, namespace } }: Pick<ManifestObject, 'kind' | 'metadata'>): string {
  return `${kind} ${namespace ?? ''}/${name}`
}
