/** Roles and bindings that are drawn, and who may do what by them. */
import type { Body } from '../api.ts'
import type { Chance } from '../../tools/chance.ts'
import { type Drawn, refusal, type Server } from './server.ts'

const [ROLES, REVIEWS] = [3, 120]
const RBAC = 'rbac.authorization.k8s.io'
const REVIEW = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
const VERBS = ['get', 'list', 'get', '*', 'impersonate']
const GROUPS = ['', '', 'apps', '*']
const RESOURCES = [
  'pods',
  'pods/log',
  'pods/*',
  '*/scale',
  '*',
  '*/*',
  'deployments',
  'deployments/scale',
  'pods',
  'pods/',
]
const URLS = ['/healthz', '/healthz/*', '/*', '*', '/apis', '/apis/*', '/', '/a*']
const PATHS = ['/healthz', '/healthz/x', '/apis', '/apis/apps/v1', '/', '/ab', '']
const SPACES = ['default', 'kube-system']

export async function* drawnAccess(server: Server, chance: Chance, seed: number): AsyncGenerator<Drawn> {
  const some = <T>(of: readonly T[], most: number): T[] =>
    Array.from({ length: 1 + chance.below(most) }, () => chance.pick(of))
  // Those of other seeds say nothing of these users.
  const [users, group] = [[`u${seed}`, `v${seed}`], `g${seed}`]
  const rule = (isOfUrls: boolean): Body =>
    isOfUrls ? { nonResourceURLs: some(URLS, 3), verbs: some(['get', 'post', '*'], 2) } : {
      ...{ apiGroups: some(GROUPS, 2), resources: some(RESOURCES, 3), verbs: some(VERBS, 2) },
      ...(chance.isIn(0.3) && { resourceNames: some(['a', 'b', ''], 2) }),
    }
  const subject = (): Body =>
    chance.pick([
      ...users.map((name) => ({ kind: 'User', name, apiGroup: RBAC })),
      { kind: 'Group', name: chance.pick([group, `system:serviceaccounts:a${seed}`]), apiGroup: RBAC },
      { kind: 'ServiceAccount', name: 'a', namespace: `a${seed}` },
    ])
  const made: string[] = []
  for (let at = 0; at < ROLES; at++) {
    for (const namespace of [undefined, chance.pick(SPACES)]) {
      const [prefix, within] = [namespace ? '' : 'cluster', namespace ? `namespaces/${namespace}/` : '']
      const metadata = { name: `r${seed}-${at}`, labels: { [`of${seed}`]: chance.pick(['a', 'b']) } }
      const selected = { clusterRoleSelectors: [{ matchLabels: { [`of${seed}`]: 'a' } }] }
      const role = {
        metadata,
        rules: some([0, 1], 2).map(() => rule(chance.isIn(namespace ? 0.1 : 0.25))),
        ...(!namespace && chance.isIn(0.2) && { aggregationRule: selected }),
      }
      const kind = namespace && chance.isIn(0.5) ? 'Role' : 'ClusterRole'
      const roleRef = { apiGroup: RBAC, kind, name: `r${seed}-${chance.below(ROLES + 1)}` }
      for (
        const [plural, body] of [['roles', role], ['rolebindings', {
          metadata,
          roleRef,
          subjects: some([0], 2).map(subject),
        }]]
      ) {
        const path = `/apis/${RBAC}/v1/${within}${prefix}${plural}`
        const answer = await server.send('POST', path, body)
        yield {
          request: `POST ${path} ${JSON.stringify(body)}`,
          answer: answer.status === 201 ? '201' : refusal(answer),
        }
        made.push(`${path}/${metadata.name}`)
      }
    }
  }
  await server.settle()
  for (let review = 0; review < REVIEWS; review++) {
    const user = chance.pick([...users, `system:serviceaccount:a${seed}:a`, 'system:anonymous'])
    const resource = {
      group: chance.pick(GROUPS),
      resource: chance.pick(['pods', 'pods', 'deployments', '*']),
      verb: chance.pick(VERBS),
    }
    const spec = {
      user,
      ...(chance.isIn(0.5) && { groups: some([group, `system:serviceaccounts:a${seed}`], 2) }),
      ...(chance.isIn(0.25)
        ? { nonResourceAttributes: { path: chance.pick(PATHS), verb: chance.pick(['get', 'post', '*']) } }
        : {
          resourceAttributes: {
            ...resource,
            ...(chance.isIn(0.4) && { subresource: chance.pick(['log', 'scale', '*']) }),
            ...(chance.isIn(0.6) && { namespace: chance.pick(SPACES) }),
            ...(chance.isIn(0.4) && { name: chance.pick(['a', 'b', 'c']) }),
          },
        }),
    }
    const answer = await server.send('POST', REVIEW, { spec })
    yield {
      request: JSON.stringify(spec),
      answer: answer.status === 201 ? String(answer.body.status.allowed) : refusal(answer),
    }
  }
  for (const path of made) await server.send('DELETE', path)
}
