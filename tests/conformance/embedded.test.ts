/** Runs the conformance suite on the embedded API server, in memory and with a stopped clock. */
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import assert from 'node:assert/strict'
import { Api } from './api.ts'
import { DIFFERENCES } from './differences.ts'
import { hooksInMemory } from './hooks.ts'
import { randomSteps } from './random.ts'
import { runStep } from './transcript.ts'
import { CASES, runCase } from './suite.ts'

for (const each of CASES) {
  test(each.name, { skip: DIFFERENCES[each.name]?.embedded ?? false }, async () => {
    const { hooks, callWebhook } = hooksInMemory()
    const server = new ApiServer({ clock: new FakeClock(), callWebhook })
    await runCase(each, server.handle, { hooks, compact: () => server.compact() })
    server.closeWatches()
  })
}

const LIST = '/api/v1/nodes'

test('random requests are never an internal error, and only a success stores something', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const server = new ApiServer({ clock: new FakeClock() })
    const api = new Api(server.handle, {})
    await api.prepare()
    // A list has the revision of the store.
    const revisionOf = async (): Promise<string> => (await api.expect(200, 'GET', LIST)).metadata.resourceVersion
    const answers: unknown[] = []
    let revision = await revisionOf()
    for (const [line, body] of randomSteps(seed, 80)) {
      const { text, answer } = await runStep(api, line, body, undefined, answers)
      answers.push(answer)
      assert.doesNotMatch(text, /^500 InternalError/, `seed ${seed}: ${line}`)
      const isRead = line.startsWith('GET') || line.includes('dryRun=All')
      const before = revision
      revision = await revisionOf()
      const isChanged = revision !== before
      // The body of a deletion stands for the options of its query.
      if ((isRead && !line.startsWith('DELETE')) || !text.startsWith('2')) {
        assert.ok(!isChanged, `seed ${seed}: ${line} has stored something: ${text}`)
      }
    }
  }
})
