/** Tests of the pure parts of authorization: rules and bindings. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { resourceAttributes } from '../../lib/apiserver/model/attributes.ts'
import { escalationProblem, FULL_AUTHORITY } from '../../lib/apiserver/access/escalation.ts'
import type { Binding, PolicyRule, Roles } from '../../lib/apiserver/model/rights.ts'
import { decide, ruleAllows, rulesFor } from '../../lib/apiserver/access/rbac.ts'
import { parseServiceAccount, type User } from '../../lib/apiserver/model/user.ts'

const JANE: User = { name: 'jane', groups: ['devs', 'system:authenticated'] }

type Given = Parameters<typeof resourceAttributes>[0]
const action = (given: Partial<Given>): ReturnType<typeof resourceAttributes> =>
  resourceAttributes({ user: JANE, verb: 'get', resource: 'pods', ...given })

/** Rules, and the actions that they allow and refuse. */
const RULES: readonly (readonly [PolicyRule, readonly Partial<Given>[], readonly Partial<Given>[]])[] = [
  [
    { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] },
    [{}, { verb: 'list' }, { name: 'a' }, { namespace: 'x' }],
    [{ verb: 'watch' }, { group: 'apps' }, { resource: 'nodes' }, { subresource: 'log' }],
  ],
  [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }, [{}, {
    group: 'a',
    resource: 'b',
    subresource: 'c',
    verb: 'd',
  }], [
    { isResource: false, path: '/x' },
  ]],
  [{ verbs: ['get'], apiGroups: [''], resources: ['pods/log'] }, [{ subresource: 'log' }], [{}, {
    subresource: 'status',
  }]],
  [
    { verbs: ['get'], apiGroups: ['*'], resources: ['*/scale'] },
    [{ subresource: 'scale' }, { group: 'apps', resource: 'deployments', subresource: 'scale' }],
    [{}, { subresource: 'status' }, { resource: 'scale' }],
  ],
  [{ verbs: ['get'], apiGroups: [''], resources: ['pods/*'] }, [], [{}, { subresource: 'log' }]],
  [
    { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
    [{ name: 'a' }],
    [{}, { name: 'b' }, { name: 'a', subresource: 'log' }],
  ],
  [
    { verbs: ['get'], nonResourceURLs: ['/a', '/b/*', '/c*'] },
    [['/a'], ['/b/'], ['/b/x/y'], ['/c'], ['/cd']].map(([path]) => ({ isResource: false, path: path! })),
    [['/'], ['/a/'], ['/b'], ['/d']].map(([path]) => ({ isResource: false, path: path! })),
  ],
  [{ verbs: ['post'], nonResourceURLs: ['*'] }, [{ isResource: false, path: '/x', verb: 'post' }], [
    { isResource: false, path: '/x' },
    { verb: 'post' },
  ]],
  [{ verbs: ['get'] }, [], [{}, { isResource: false, path: '/x' }]],
]

test('a rule allows by verb, group, resource, subresource, name and URL', () => {
  for (const [rule, allowed, refused] of RULES) {
    for (const given of allowed) assert.equal(ruleAllows(rule, action(given)), true, JSON.stringify([rule, given]))
    for (const given of refused) assert.equal(ruleAllows(rule, action(given)), false, JSON.stringify([rule, given]))
  }
})

/** Returns the roles of two maps, by name and by `namespace/name`. */
function rolesOf(
  bindings: readonly Binding[],
  local: readonly Binding[],
  rules: Readonly<Record<string, readonly PolicyRule[]>>,
): Roles {
  return {
    clusterBindings: () => bindings,
    bindings: (namespace) => (namespace === 'x' ? local : []),
    clusterRole: (name) => rules[name],
    role: (namespace, name) => rules[`${namespace}/${name}`],
  }
}

const READ: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const bind = (
  name: string,
  subject: Partial<Binding['subjects'][0]>,
  role = 'read',
  kind = 'ClusterRole',
): Binding => ({
  name,
  roleRef: { kind, name: role },
  subjects: [{ kind: 'User', name: 'nobody' }, { kind: 'User', name: '', ...subject }],
})

test('a binding grants a role to users, groups and service accounts', () => {
  const account: User = { name: 'system:serviceaccount:x:bot', groups: [] }
  const grants = (subject: Partial<Binding['subjects'][0]>, user: User): string => {
    const roles = rolesOf([bind('b', subject)], [], { read: [READ] })
    return decide(roles, action({ user })).reason
  }
  const reason = (to: string): string => `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "read" to ${to}`
  assert.equal(grants({ name: 'jane' }, JANE), reason('User "jane"'))
  assert.equal(grants({ kind: 'Group', name: 'devs' }, JANE), reason('Group "devs"'))
  assert.equal(
    grants({ kind: 'ServiceAccount', name: 'bot', namespace: 'x' }, account),
    reason('ServiceAccount "bot/x"'),
  )
  assert.equal(grants({ kind: 'User', name: account.name }, account), reason(`User "${account.name}"`))
  for (
    const subject of [
      { kind: 'ServiceAccount', name: 'bot' },
      { kind: 'ServiceAccount', name: 'bot', namespace: 'y' },
      { kind: 'Group', name: 'jane' },
      { kind: 'Other', name: 'jane' },
    ]
  ) {
    assert.equal(grants(subject, account), '')
  }
})

test('missing roles are reported once, and do not hide the rights of other bindings', () => {
  const missing = [bind('a', { name: 'jane' }, 'gone'), bind('b', { name: 'jane' }, 'gone')]
  const local = [bind('c', { name: 'jane' }, 'lost', 'Role'), bind('d', { name: 'jane' }, 'odd', 'Other')]
  const roles = rolesOf(missing, local, { read: [READ] })
  const gone = 'clusterrole.rbac.authorization.k8s.io "gone" not found'
  assert.equal(decide(roles, action({})).reason, `RBAC: ${gone}`)
  assert.equal(
    decide(roles, action({ namespace: 'x' })).reason,
    `RBAC: [${gone}, role.rbac.authorization.k8s.io "lost" not found, unsupported role reference kind: "Other"]`,
  )
  const both = rolesOf([...missing, bind('e', { name: 'jane' })], [], { read: [READ] })
  assert.equal(decide(both, action({})).allowed, true)
  assert.equal([...rulesFor(both, JANE, '')].filter((each) => typeof each !== 'string').length, 1)
})

test('rights cover others by verb, group, resource, name and URL', () => {
  const problem = (own: readonly PolicyRule[], wanted: readonly PolicyRule[]): string[] =>
    escalationProblem(JANE, own, wanted)?.split('\n').slice(1) ?? []
  assert.deepEqual(problem(FULL_AUTHORITY, [...FULL_AUTHORITY, READ]), [])
  assert.deepEqual(problem([READ], [READ, { ...READ, resourceNames: ['a'] }]), [])
  assert.deepEqual(problem([{ ...READ, resourceNames: ['a'] }], [READ]), [
    '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
  ])
  assert.deepEqual(problem([{ ...READ, resourceNames: ['a'] }], [{ ...READ, resourceNames: ['a', 'b'] }]), [
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
  ])
  assert.deepEqual(problem([{ ...READ, resources: ['*/scale'] }], [{ ...READ, resources: ['pods/scale', 'pods'] }]), [
    '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
  ])
  const urls = (verbs: string[], ...nonResourceURLs: string[]): PolicyRule => ({ verbs, nonResourceURLs })
  assert.deepEqual(problem([urls(['get'], '/a/*')], [urls(['get'], '/a/b', '/a/*')]), [])
  assert.deepEqual(problem([urls(['get'], '/a/*')], [urls(['get', 'put'], '/a')]), [
    '{NonResourceURLs:["/a"], Verbs:["get"]}',
    '{NonResourceURLs:["/a"], Verbs:["put"]}',
  ])
  // Rights of several own rules add up.
  assert.deepEqual(problem([READ, { ...READ, verbs: ['list'] }], [{ ...READ, verbs: ['get', 'list'] }]), [])
  assert.match(
    escalationProblem(JANE, [], [READ])!,
    /^user "jane" \(groups=\["devs" "system:authenticated"\]\) is attempting to grant RBAC permissions not currently held:\n/,
  )
})

test('the name of a service account has two parts', () => {
  assert.deepEqual(parseServiceAccount('system:serviceaccount:a:b'), { namespace: 'a', name: 'b' })
  for (
    const name of ['system:serviceaccount:a', 'system:serviceaccount:a:', 'system:serviceaccount:a:b:c', 'a:b', '']
  ) {
    assert.equal(parseServiceAccount(name), undefined, name)
  }
})
