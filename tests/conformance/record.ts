/**
 * Writes recorded/ from a real server: of all groups, or of those that are named.
 *
 * Run with KUBEBUILDER_ASSETS set: node tests/conformance/record.ts [GROUP …]
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { Api, type SharedKinds } from './api.ts'
import { DIFFERENCES } from './differences.ts'
import { servedHooks } from './hooks.ts'
import { FOLDER, format, type RecordedCase } from './recording.ts'
import { CASES } from './suite.ts'

const chosen = process.argv.slice(2)
const cases = CASES.filter((each): each is RecordedCase => 'play' in each)
  .filter(({ name }) => !DIFFERENCES[name]?.real)
  .filter(({ group }) => chosen.length === 0 || chosen.includes(group))
const envtest = await startEnvtest()
const hooks = await servedHooks()
const transport = httpTransport(envtest.tokenConfig)
const shared: SharedKinds = { hooks }
try {
  mkdirSync(FOLDER, { recursive: true })
  const groups = new Map<string, [string, string[]][]>()
  for (const { group, name, play } of cases) {
    if (groups.get(group)?.some(([other]) => other === name)) {
      throw new Error(`two cases of ${group} are called ${name}`)
    }
    const api = new Api(transport, shared)
    await api.prepare()
    const lines: string[] = []
    for await (const line of play(api)) lines.push(line)
    groups.set(group, [...groups.get(group) ?? [], [name, lines]])
  }
  for (const [group, sections] of groups) writeFileSync(new URL(`${group}.txt`, FOLDER), format(sections))
  console.log(`${cases.length} cases in ${groups.size} groups`)
} finally {
  transport.close()
  await envtest.stop()
  await hooks.close()
}
