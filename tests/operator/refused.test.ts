/** The start of an operator logs all missing RBAC rules. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Operator, operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import { refusal } from '../client/transports.ts'
import { ours, starting, type StartingOptions } from './starting.ts'

function elected(): Operator {
  const app = operator({ name: 'x', leaderElection: { namespace: 'default' } })
  app.controllerFor(ConfigMap, { when: ours }).reconcile(async () => {})
  return app
}

/** A role without rules. */
const forbidding: NonNullable<StartingOptions['intercept']> = ({ path }) => {
  const [, group, resource] = path.includes('/leases') ? ['', 'coordination.k8s.io', 'leases'] : ['', '', 'configmaps']
  const verb = path.includes('/leases') ? 'get' : 'list'
  return Promise.resolve(
    refusal(
      403,
      'Forbidden',
      {},
      `${resource} is forbidden: User "u" cannot ${verb} resource "${resource}" in API group "${group}" at the cluster scope`,
    ),
  )
}

test('the missing rule for the lease is logged although the lists are refused first, and each once', async () => {
  const s = await starting(elected(), { intercept: forbidding })
  await s.clock.advance(60_000)
  const warned = s.log.filter(({ level, message }) =>
    level === 'warn' && message.includes('its role lacks') && !message.startsWith('Still waiting')
  ).map(({ message }) => message)
  assert.equal(warned.length, 2, warned.join('\n'))
  assert.match(
    warned[0]!,
    /^Cannot list configmaps: .*; its role lacks \{ apiGroups: \[""\], resources: \["configmaps"\], verbs: \["list", "watch"\] \}; next try in/,
  )
  assert.match(
    warned[1]!,
    /^Cannot acquire lease "default\/x": .*; its role lacks \{ apiGroups: \["coordination\.k8s\.io"\], resources: \["leases"\], verbs: \["get", "create", "update", "watch"\] \}/,
  )
  await s.stop()
  assert.equal(s.clock.pending, 0)
})
