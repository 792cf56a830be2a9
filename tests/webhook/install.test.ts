/** Webhook configurations on the embedded API. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Api } from '../../lib/client/api.ts'
import { LeadershipLost } from '../../lib/core/errors.ts'
import type { Fence } from '../../lib/core/fence.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { configurationsOf } from '../../lib/webhook/configurations/configurations.ts'
import { injectCa } from '../../lib/webhook/configurations/trusted_cas.ts'
import { installConfigurations } from '../../lib/webhook/configurations/install.ts'
import { treatLeftovers } from '../../lib/webhook/configurations/leftovers.ts'
import { CASES, installLab, Site } from './install_cases.ts'

const PEMS = { old: pemOf('old CA'), new: pemOf('new CA') }

function pemOf(content: string): string {
  return `-----BEGIN CERTIFICATE-----\n${btoa(content)}\n-----END CERTIFICATE-----\n`
}

for (const [name, run] of CASES) {
  test(name, () => run(installLab(new ApiServer().handle, 'sites', PEMS), 'sites'))
}

test('a lost lease and an abort are not wrapped in other errors', async () => {
  const api = new Api({ transport: new ApiServer().handle })
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
  await assert.rejects(treatLeftovers(true, { api: api.fenced(fence), ...dependencies }, never), lost)
  const reason = new Error('stopped')
  await assert.rejects(
    injectCa('pem', { crds: [], target }, { api, ...dependencies }, AbortSignal.abort(reason)),
    reason,
  )
})
