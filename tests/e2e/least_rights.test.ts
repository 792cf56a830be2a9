/** On the embedded API: the least roles of examples make them work, and each right in them is needed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from 'kubeloop/apiserver'
import { type OpenStage, recordedRights, removals, type Scenario, withRights } from './least_rights.ts'
import { GRANTS, REPLICATOR, SAMPLE, SITES, TEAMS } from './rights_scenarios.ts'

const open: OpenStage = () => {
  const { handle } = new ApiServer()
  return Promise.resolve({
    admin: handle,
    as: (namespace, account) => (request) =>
      handle({
        ...request,
        headers: { ...request.headers, 'impersonate-user': `system:serviceaccount:${namespace}:${account}` },
      }),
    config: { server: 'https://127.0.0.1:1' },
    inEffect: () => Promise.resolve(),
  })
}

const SCENARIOS = {
  sample: SAMPLE,
  finalizers: REPLICATOR,
  webhooks: SITES,
  namespaces: TEAMS,
  'roles of its own': GRANTS,
}

async function prove(scenario: Scenario): Promise<void> {
  const recorded = await recordedRights(scenario, open)
  assert.deepEqual(await withRights(scenario, open, recorded.grants), [])
  // The embedded API has no OwnerReferencesPermissionEnforcement, which asks for it; real_rights.test.ts has it.
  const skip = ({ resource }: { resource: string }) => resource.endsWith('/finalizers')
  const found = await removals(scenario, open, recorded, skip, 6)
  assert.deepEqual(found.filter(({ isNamed }) => !isNamed), [])
  assert.ok(found.length > 10, `${found.length}`)
}

// Most of a run is waiting, for a back-off or for the lease: all scenarios run at the same time.
const proofs = Object.entries(SCENARIOS).map(([title, scenario]) => ({ title, proof: prove(scenario) }))
for (const { title, proof } of proofs) {
  // Its test reports it.
  proof.catch(() => {})
  test(`${title}: the least roles are enough, and none of their rights is too much`, () => proof)
}
