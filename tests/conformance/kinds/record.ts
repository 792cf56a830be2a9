/**
 * Writes recorded.jsonl from a real server.
 *
 * Run with KUBEBUILDER_ASSETS set: node tests/conformance/kinds/record.ts
 */
import { writeFileSync } from 'node:fs'
import { httpTransport } from '../../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../../lib/testing/envtest.ts'
import { Api } from '../api.ts'
import { FILE, play } from './recorded.ts'
import { SCENARIOS } from './scenarios.ts'

const envtest = await startEnvtest()
const transport = httpTransport(envtest.tokenConfig)
try {
  const lines: string[] = []
  for (const scenario of SCENARIOS) {
    const api = new Api(transport, { installed: Promise.resolve() })
    await api.prepare()
    lines.push(JSON.stringify([scenario.name, await play(api, scenario)]))
  }
  writeFileSync(FILE, `${lines.join('\n')}\n`)
  console.log(`${lines.length} scenarios`)
} finally {
  transport.close()
  await envtest.stop()
}
