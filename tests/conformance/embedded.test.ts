/** Runs the conformance suite on the embedded API server, in memory and with a stopped clock. */
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { DIFFERENCES } from './differences.ts'
import { hooksInMemory } from './hooks.ts'
import { CASES, runCase } from './suite.ts'

for (const each of CASES) {
  test(each.name, { skip: DIFFERENCES[each.name]?.embedded ?? false }, async () => {
    const { hooks, callWebhook } = hooksInMemory()
    const server = new ApiServer({ clock: new FakeClock(), callWebhook })
    await runCase(each, server.handle, { hooks, compact: () => server.compact() })
    server.closeWatches()
  })
}
