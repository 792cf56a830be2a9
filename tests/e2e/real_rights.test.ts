/**
 * On a real API server with RBAC: the least roles of examples make them work, and each right in them is needed. What
 * the embedded API does not show runs always, the rest with KUBELOOP_ALL_RIGHTS.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CRD } from '../../lib/core/resource.ts'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import type { Right } from '../../lib/rights/rules.ts'
import { clientOf, type OpenStage, recordedRights, removals, type Scenario, withRights } from './least_rights.ts'
import { clean, GRANTS, REPLICATOR, SAMPLE, SITES, TEAMS } from './rights_scenarios.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'

// With it, an owner reference that blocks deletion needs a right, as on OpenShift.
const plugin = '--enable-admission-plugins=OwnerReferencesPermissionEnforcement'
const plane = realPlane(() => ({ extraArgs: { apiServer: [plugin] } }))

const open: OpenStage = async ({ needsNoDefinitions = false }) => {
  const client = clientOf(plane.transport)
  await clean(client, needsNoDefinitions)
  while (needsNoDefinitions && (await client.list(CRD)).length > 0) await sleep(systemClock, 5)
  return {
    admin: plane.transport,
    as: (namespace, account) => (request) =>
      plane.transport({
        ...request,
        headers: { ...request.headers, 'impersonate-user': userOf(namespace, account) },
      }),
    config: { server: plane.envtest.config.server },
    async inEffect(namespace, account, grants) {
      // One of each role: a role and its binding are seen as a whole.
      const roles = new Map(grants.map((grant) => [grant.namespace, grant]))
      for (const grant of roles.values()) {
        while (!await allows(userOf(namespace, account), grant)) await sleep(systemClock, 5)
      }
    },
  }
}

function userOf(namespace: string, account: string): string {
  return `system:serviceaccount:${namespace}:${account}`
}

async function allows(user: string, { namespace = '', group, resource, verb, name }: Right): Promise<boolean> {
  const [plural, subresource] = resource.split('/')
  const resourceAttributes = { namespace, verb, group, resource: plural, subresource, name }
  const { body } = await plane.transport({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, resourceAttributes },
    }),
  })
  return (JSON.parse(await body.text()) as { status: { allowed: boolean } }).status.allowed
}

const isAll = Boolean(process.env['KUBELOOP_ALL_RIGHTS'])
const rest = isAll ? false : 'KUBELOOP_ALL_RIGHTS is not set: it takes a minute'

/** Takes away all rights, one after the other, or those that the embedded API does not ask for. */
async function prove(scenario: Scenario): Promise<void> {
  const recorded = await recordedRights(scenario, open)
  assert.deepEqual(await withRights(scenario, open, recorded.grants), [])
  const found = await removals(scenario, open, recorded, ({ resource }) => !isAll && !resource.endsWith('/finalizers'))
  assert.deepEqual(found.filter(({ isNamed }) => !isNamed), [])
  assert.ok(found.length > (isAll ? 10 : 0), `${found.length}`)
}

for (
  const [title, scenario] of Object.entries({
    finalizers: REPLICATOR,
    sample: SAMPLE,
    webhooks: SITES,
    namespaces: TEAMS,
    'roles of its own': GRANTS,
  })
) {
  const skipped = noPlane || (scenario === SAMPLE ? false : rest)
  test(
    `${title}: the least roles are enough, and none of their rights is too much`,
    { skip: skipped },
    () => prove(scenario),
  )
}
