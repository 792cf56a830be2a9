/**
 * The roles and bindings that a real server creates at its start and that concern every user.
 *
 * They apply as long as the store has no objects with their names.
 */
import type { Binding, PolicyRule } from '../model/rights.ts'
import { AUTHENTICATED, MASTERS, UNAUTHENTICATED } from '../model/user.ts'

const HEALTH = ['/healthz', '/livez', '/readyz', '/version', '/version/']
const ISSUER = ['/.well-known/openid-configuration', '/openid/v1/jwks']

export const DEFAULT_ROLES: ReadonlyMap<string, readonly PolicyRule[]> = new Map<string, readonly PolicyRule[]>([
  ['cluster-admin', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }, { verbs: ['*'], nonResourceURLs: ['*'] }]],
  ['system:basic-user', [
    {
      verbs: ['create'],
      apiGroups: ['authorization.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
    },
    { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
  ]],
  ['system:discovery', [{
    verbs: ['get'],
    nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*'].concat(
      '/readyz',
      '/version',
      '/version/',
    ),
  }]],
  ['system:public-info-viewer', [{ verbs: ['get'], nonResourceURLs: HEALTH }]],
  ['system:monitoring', [
    {
      verbs: ['get'],
      nonResourceURLs: ['/flagz', '/healthz', '/healthz/*', '/livez', '/livez/*', '/metrics', '/metrics/slis'].concat(
        '/readyz',
        '/readyz/*',
        '/statusz',
      ),
    },
    { verbs: ['get'], apiGroups: [''], resources: ['nodes/metrics'] },
  ]],
  ['system:service-account-issuer-discovery', [{
    verbs: ['get'],
    nonResourceURLs: ISSUER.flatMap((path) => [path, `${path}/`]),
  }]],
])

/** The bindings, of the role of the same name, by the groups that get them. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'cluster-admin': [MASTERS],
  'system:basic-user': [AUTHENTICATED],
  'system:discovery': [AUTHENTICATED],
  'system:monitoring': ['system:monitoring'],
  'system:public-info-viewer': [AUTHENTICATED, UNAUTHENTICATED],
  'system:service-account-issuer-discovery': ['system:serviceaccounts'],
}

export const DEFAULT_BINDINGS: readonly Binding[] = Object.entries(GROUPS).map(([name, groups]) => ({
  name,
  roleRef: { kind: 'ClusterRole', name },
  subjects: groups.map((group) => ({ kind: 'Group', name: group })),
}))
