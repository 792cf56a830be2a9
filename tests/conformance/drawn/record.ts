/**
 * Compares the embedded API with a real server by drawn requests, and prints where they differ. Without --seed, the
 * answers of the real server are recorded: drawn.test.ts compares the embedded API with them.
 *
 * Run with KUBEBUILDER_ASSETS set: node tests/conformance/drawn/record.ts [GROUP …] [--seed S --seeds N]
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ApiServer } from '../../../lib/apiserver/mod.ts'
import { sleep, systemClock } from '../../../lib/async/clock.ts'
import { httpTransport } from '../../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../../lib/testing/envtest/envtest.ts'
import { Api } from '../api.ts'
import { DIFFERENT, FILE, fingerprint, GROUPS, playOf, RECORDED } from './fingerprints.ts'
import { serverOf } from './server.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, seeds: { type: 'string', default: '1' } },
})
const envtest = await startEnvtest()
const transport = httpTransport(envtest.tokenConfig)
const pause = (): Promise<void> => sleep(systemClock, 50)
/** The authorizer sees roles a little later. */
const settle = (): Promise<void> => sleep(systemClock, 1000)
const shared = {}
const known: Record<string, string> = values.seed === undefined ? { ...RECORDED } : {}
try {
  for (const group of positionals.length > 0 ? positionals : Object.keys(GROUPS)) {
    const [first, count] = values.seed === undefined
      ? [1, GROUPS[group]!.seeds]
      : [Number(values.seed), Number(values.seeds)]
    let [all, different] = [0, 0]
    for (let seed = first; seed < first + count; seed++) {
      const real = await playOf(group, seed, serverOf(new Api(transport, shared), pause, settle))
      const embedded = await playOf(group, seed, serverOf(new Api(new ApiServer().handle, {}), pause))
      known[`${group} ${seed}`] = real.map((each, at) => {
        all++
        if (each.answer === embedded[at]?.answer) return fingerprint(each)
        different++
        console.log(`${group} ${seed}: ${each.request}\n  real     ${each.answer}\n  embedded ${embedded[at]?.answer}`)
        return DIFFERENT
      }).join(' ')
    }
    console.log(`${group}: ${different} of ${all} differ`)
  }
  if (values.seed === undefined) writeFileSync(FILE, `${JSON.stringify(known, undefined, 2)}\n`)
} finally {
  transport.close()
  await envtest.stop()
}
