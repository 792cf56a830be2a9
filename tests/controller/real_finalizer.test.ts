/** The cases of finalizers on a real kube-apiserver: failed tests of patches, new finalizers on deleted objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { messageOf } from '../../lib/core/errors.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { installCrds } from '../../lib/crds/install.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { CASES, KINDS, Thing } from './finalizer_cases.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane to start'

test('finalizers behave on a real API server as on the embedded one', { skip, timeout: 100_000 }, async () => {
  const envtest = await startEnvtest()
  const transport = httpTransport(envtest.config, { clock: systemClock, log: silentLog })
  const failures: string[] = []
  try {
    const dependencies = { api: new Api({ transport }), clock: systemClock, log: silentLog, fieldManager: 'test' }
    await installCrds([Thing], dependencies, new AbortController().signal)
    for (const resource of KINDS) {
      for (const [index, [name, run]] of CASES.entries()) {
        await run({ transport, resource, name: `case-${index}` }).catch((error: unknown) => {
          failures.push(`${resource.kind}: ${name}: ${messageOf(error)}`)
        })
      }
    }
  } finally {
    transport.close()
    await envtest.stop()
  }
  assert.deepEqual(failures, [])
})
