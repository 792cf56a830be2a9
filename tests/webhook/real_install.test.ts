/** Webhook configurations on a real API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { CASES, installLab } from './install_cases.ts'
import { noPlane, withPlane } from '../tools/real_plane.ts'

test(
  'a real API server stores configurations as they are sent',
  { skip: noPlane, timeout: 110_000 },
  () =>
    withPlane(async (_, transport) => {
      const failures: string[] = []
      const pems = { old: (await createAuthority()).ca, new: (await createAuthority()).ca }
      for (const [at, [name, run]] of CASES.entries()) {
        const operator = `op${at}`
        await run(installLab(transport, operator, pems), operator).catch((error: Error) =>
          failures.push(`${name}: ${error.message}`)
        )
      }
      assert.deepEqual(failures, [])
    }),
)
