/** Tests of the pure parts of authorization beside those that tests/conformance/access shows. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { resourceAttributes } from '../../lib/apiserver/model/attributes.ts'
import { escalationProblem, FULL_AUTHORITY } from '../../lib/apiserver/access/escalation.ts'
import type { Binding, PolicyRule, Roles } from '../../lib/apiserver/model/rights.ts'
import { storedRoles } from '../../lib/apiserver/access/stored_roles.ts'
import { hooksOf } from '../../lib/apiserver/admission/hooks.ts'
import { Store } from '../../lib/apiserver/storage/store.ts'
import { decide, ruleAllows } from '../../lib/apiserver/access/rbac.ts'
import { parseServiceAccount, type User } from '../../lib/apiserver/model/user.ts'

const JANE: User = { name: 'jane', groups: ['devs', 'system:authenticated'] }

type Given = Parameters<typeof resourceAttributes>[0]
const action = (given: Partial<Given>): ReturnType<typeof resourceAttributes> =>
  resourceAttributes({ user: JANE, verb: 'get', resource: 'pods', ...given })

test('the URL of a rule is whole, or a prefix that ends with a star', () => {
  const urls: PolicyRule = { verbs: ['get'], nonResourceURLs: ['/a', '/b/*', '/c*'] }
  const allows = (path: string): boolean => ruleAllows(urls, action({ isResource: false, path }))
  for (const path of ['/a', '/b/', '/b/x/y', '/c', '/cd']) assert.equal(allows(path), true, path)
  for (const path of ['/', '/a/', '/ab', '/b', '/d']) assert.equal(allows(path), false, path)
})

test('a stored binding and a stored webhook are read once', () => {
  const store = new Store(() => 0, () => {})
  const put = (storage: string, key: string, more: object) =>
    store.put(storage, key, { apiVersion: 'v1', kind: 'A', metadata: { name: key.split('/').at(-1)! }, ...more })
  put('rolebindings.rbac.authorization.k8s.io', 'n/a', { roleRef: { kind: 'Role', name: 'r' } })
  const { bindings } = storedRoles(store)
  assert.equal(bindings('n')[0], bindings('n')[0])
  const storage = 'mutatingwebhookconfigurations.admissionregistration.k8s.io'
  put(storage, 'a', { webhooks: [{ name: 'h' }] })
  const [first, again] = [1, 2].map(() => hooksOf({ store } as never, storage)[0])
  assert.ok(first)
  assert.equal(again, first)
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
const bind = (name: string, role = 'read', kind = 'ClusterRole'): Binding => ({
  name,
  roleRef: { kind, name: role },
  subjects: [{ kind: 'User', name: 'nobody' }, { kind: 'User', name: 'jane' }],
})

test('all that is wrong with the roles of a user is reported, each once, and does not hide other rights', () => {
  const missing = [bind('a', 'gone'), bind('b', 'gone')]
  const local = [bind('c', 'lost', 'Role'), bind('d', 'odd', 'Other')]
  const roles = rolesOf(missing, local, { read: [READ] })
  const gone = 'clusterrole.rbac.authorization.k8s.io "gone" not found'
  assert.equal(decide(roles, action({})).reason, `RBAC: ${gone}`)
  assert.equal(
    decide(roles, action({ namespace: 'x' })).reason,
    `RBAC: [${gone}, role.rbac.authorization.k8s.io "lost" not found, unsupported role reference kind: "Other"]`,
  )
  assert.equal(decide(rolesOf([...missing, bind('e')], [], { read: [READ] }), action({})).allowed, true)
  const other = { ...bind('f'), subjects: [{ kind: 'Other', name: 'jane' }] }
  assert.equal(decide(rolesOf([other], [], { read: [READ] }), action({})).allowed, false)
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
