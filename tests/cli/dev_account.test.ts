/** `kubeloop dev --as-service-account`: the real command. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClusterRole } from 'kubeloop/kinds'
import { applied, inFolder, type Line, says } from './dev_command.ts'

const OPERATOR = `
import { operator } from 'kubeloop'
import { ConfigMap, Secret } from 'kubeloop/kinds'

const app = operator({ name: 'copier' })
app.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'a' }).reconcile(async (map, { client }) => {
  await client.get(Secret, { namespace: 'default', name: 'login' })
})
await app.run(import.meta)
`
const MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n'
const ROLE = (name: string): string => `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader, namespace: default }
rules: [{ apiGroups: [''], resources: [secrets], resourceNames: [${name}], verbs: [get] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: reader, namespace: default }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ kind: ServiceAccount, name: copier, namespace: copier-system }]
`

test('a missing right is refused and named until a saved manifest grants it; a changed operator has its new role', () =>
  inFolder(async (folder) => {
    folder.write('operator.ts', OPERATOR)
    folder.write('a.yaml', MAP)
    folder.write('role.yaml', ROLE('other'))
    const dev = folder.run('dev', 'operator.ts', '--as-service-account', '--apply', 'a.yaml', '--apply', 'role.yaml')
    // Roles are there before the operator, all other objects after it.
    await dev.line('the role', applied('Role default/reader', 'created'))
    const account = await dev.line('its account', says('account'))
    assert.deepEqual([account['name'], account['hasOwnRoles']], ['copier-system/copier', false])
    await dev.line('the object', applied('ConfigMap default/a', 'created'))
    const ended = (outcome: string) => ({ message, outcome: found }: Line): boolean =>
      message === 'reconcile' && found === outcome
    assert.match(
      String((await dev.line('a refused reconcile', ended('error')))['error']),
      /"system:serviceaccount:copier-system:copier" cannot get .* lacks { apiGroups: \[""\], resources: \["secrets"\]/,
    )
    folder.write('role.yaml', ROLE('login'))
    await dev.line('the changed role', applied('Role default/reader', 'changed'))
    await dev.line('it works', ended('success'))

    folder.write('operator.ts', OPERATOR.replace('app.controllerFor', 'app.cache(Secret)\napp.controllerFor'))
    await dev.line('its own role', applied('ClusterRole copier', 'changed'))
    await dev.line('restarted', says('restarted'))
    const rules = (await (await folder.client()).get(ClusterRole, { name: 'copier' }))?.rules
    assert.deepEqual(rules?.map(({ resources }) => resources)[0], ['configmaps', 'secrets'])
    await dev.stop('SIGINT')
    folder.write('.kubeloop/rights/old.jsonl', '')

    const none = folder.run('dev', 'operator.ts', '--as-service-account=team/op', '--fresh')
    await none.line('its account', ({ name }) => name === 'team/op')
    assert.match(
      (await none.line('refused', says('its role'))).message,
      /"system:serviceaccount:team:op" cannot list .* its role/,
    )
    await none.stop()
    assert.throws(() => folder.read('.kubeloop/rights/old.jsonl'), /ENOENT/)
  }))
