/** Webhook configurations on the embedded API, which stores them as it stores custom objects. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Api } from '../../lib/client/api.ts'
import { LeadershipLost } from '../../lib/core/errors.ts'
import type { Fence } from '../../lib/core/fence.ts'
import { type AnyResource, CRD } from '../../lib/core/resource.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { configurationsOf } from '../../lib/webhook/configurations.ts'
import { injectCa, installConfigurations } from '../../lib/webhook/install.ts'
import { CASES, installLab, MUTATING, Site, VALIDATING } from './install_cases.ts'

const PEMS = { old: 'old CA\n', new: 'new CA\n' }

/** Returns a server with the two kinds, which the embedded API does not have. */
async function serverWithKinds(): Promise<ApiServer> {
  const server = new ApiServer()
  const api = new Api({ transport: server.handle })
  for (const { group, version, kind, plural } of [MUTATING, VALIDATING] as readonly AnyResource[]) {
    await api.create({ resource: CRD }, {
      metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
      spec: {
        group,
        scope: 'Cluster',
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: [{
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        }],
      },
    }, {})
  }
  return server
}

for (const [name, run] of CASES) {
  test(name, async () => run(installLab((await serverWithKinds()).handle, 'sites', PEMS), 'sites'))
}

test('a lost lease and an abort are not wrapped in other errors', async () => {
  const api = new Api({ transport: (await serverWithKinds()).handle })
  const lost = new LeadershipLost('the lease is lost')
  const fence: Fence = {
    check() {
      throw lost
    },
    signal: new AbortController().signal,
  }
  const target = { url: 'https://127.0.0.1:1' }
  const configurations = configurationsOf({
    operator: 'sites',
    admissions: [{ resource: Site, path: '/a', mutating: false }],
    target,
  })
  const never = new AbortController().signal
  const dependencies = { log: silentLog, operator: 'sites' }
  await assert.rejects(installConfigurations(configurations, { api: api.fenced(fence), ...dependencies }, never), lost)
  await installConfigurations(configurations, { api, ...dependencies }, never)
  await assert.rejects(injectCa('pem', { crds: [], target }, { api: api.fenced(fence), ...dependencies }, never), lost)
  const reason = new Error('stopped')
  await assert.rejects(
    injectCa('pem', { crds: [], target }, { api, ...dependencies }, AbortSignal.abort(reason)),
    reason,
  )
})
