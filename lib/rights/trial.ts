/** The account under which an operator is tried without a cluster: in a world, and by `kubeloop dev`. */
import type { Api } from '../client/api.ts'
import { memberCluster, memberOf, type OperatorDescription } from '../operator/description/description.ts'
import { type AccountObject, accountObjects, namespaceOf, rolesOf } from './account.ts'
import { likelyRights } from './likely.ts'
import { includes, type Right, rulesOf } from './rules.ts'

export interface TrialAccount {
  readonly namespace: string
  readonly name: string
  /** Whether its roles are the user's, not those that follow from the description. */
  readonly hasOwnRoles: boolean
  /** Returns what it needs in a cluster, undefined for its own: the namespaces, then the account, then the roles. */
  objectsIn(cluster: string | undefined): readonly AccountObject[]
}

/**
 * Returns an account. `stated`: `NAMESPACE/NAME` or a name, without roles. Undefined: the account and the roles of
 * `kubeloop manifests` and, for other clusters, of `kubeloop rights --cluster NAME`.
 */
export function accountOf(description: OperatorDescription, stated: string | undefined): TrialAccount {
  const [name = description.options.name, namespace = namespaceOf(description)] = stated?.split('/').reverse() ?? []
  const hasOwnRoles = stated !== undefined
  return {
    namespace,
    name,
    hasOwnRoles,
    objectsIn(cluster) {
      const [stated, all] = [description, installing(description)].map((of) => rightsIn(of, namespace, cluster))
      const rules = rulesOf(hasOwnRoles ? [] : stated!)
      const installs = rulesOf(all!.filter((right) => !stated!.some((each) => includes(each, right))))
      const places = new Set([namespace, ...rules.inNamespaces.keys(), ...installs.inNamespaces.keys()])
      const namespaces = [...places].map((place): AccountObject => {
        return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: place } }
      })
      return [
        ...namespaces,
        ...accountObjects(name, namespace, rules),
        ...rolesOf(name, namespace, installs, `${name}-installs`),
      ]
    },
  }
}

/**
 * Worlds and `kubeloop dev` install definitions and webhook configurations through every operator. A role of its own
 * allows it, so that the user's may be those of another mode.
 */
function installing({ options, ...others }: OperatorDescription): OperatorDescription {
  return { ...others, options: { ...options, crds: 'install' } }
}

function rightsIn(description: OperatorDescription, namespace: string, name: string | undefined): readonly Right[] {
  if (name === undefined) return likelyRights(description, { namespace })
  const cluster = description.clusters.find((each) => each.name === name)
  if (cluster) return likelyRights(description, { namespace, cluster })
  // A provider has added it, and any group may be its own.
  return description.groups.flatMap((group) => {
    const member = memberCluster(group, name)
    return likelyRights(memberOf(description, group, member), { namespace, cluster: member })
  })
}

/** The longest life that a token may have: a clock of a test may advance by years. */
const TOKEN_SECONDS = 2 ** 32

/** Returns a token of an account, which must exist. `api`: of an administrator. */
export async function tokenOf(
  api: Api,
  { namespace, name }: Pick<TrialAccount, 'namespace' | 'name'>,
  signal?: AbortSignal,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const spec = { expirationSeconds: TOKEN_SECONDS }
  const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec })
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const action = `create a token of the ServiceAccount "${namespace}/${name}"`
  const { status } = await api.raw({ method: 'POST', path, headers, body }, action, signal) as {
    readonly status: { readonly token: string }
  }
  return status.token
}
