/** Webhook configurations on a real API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest.ts'
import { CASES, installLab } from './install_cases.ts'

const skip = process.env['KUBEBUILDER_ASSETS']
  ? false
  : 'KUBEBUILDER_ASSETS is not set: there is no real kube-apiserver to install configurations in'

test('a real API server stores configurations as they are sent', { skip, timeout: 110_000 }, async () => {
  const envtest = await startEnvtest()
  const transport = httpTransport(envtest.config)
  const failures: string[] = []
  try {
    const pems = { old: (await createAuthority()).ca, new: (await createAuthority()).ca }
    for (const [at, [name, run]] of CASES.entries()) {
      const operator = `op${at}`
      await run(installLab(transport, operator, pems), operator).catch((error: Error) =>
        failures.push(`${name}: ${error.message}`)
      )
    }
  } finally {
    transport.close()
    await envtest.stop()
  }
  assert.deepEqual(failures, [])
})
