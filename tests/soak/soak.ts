/**
 * A soak: operators of each runtime for many events, with others that are started, elected and stopped beside them.
 *
 *   npm run soak -- [--events 1000000] [--reconciles 100000] [--only node,bun,deno] [--output soak.svg]
 *
 * It fails if heap, resident memory, descriptors, connections or timers grow: trend.ts has the rule.
 */
import { writeFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { RUNTIMES } from '../faults/lane.ts'
import { plot } from './plot.ts'
import { soak } from './soaking.ts'
import { MEASURES, type Sample, trendsOf } from './trend.ts'

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    reconciles: { type: 'string', default: '100000' },
    only: { type: 'string', default: RUNTIMES.join() },
    output: { type: 'string', default: 'soak.svg' },
  },
})
const wanted = { events: Number(values.events), reconciles: Number(values.reconciles) }
const runs: Record<string, readonly Sample[]> = {}
const rows: string[] = []
const runtimes = RUNTIMES.filter((each) => values.only.split(',').includes(each))
await Promise.all(runtimes.map(async (runtime) => {
  let shownAt = 0
  const samples = await soak(runtime, wanted, (sample) => {
    if (sample.seconds - shownAt < 15) return
    shownAt = sample.seconds
    console.log(`${runtime} ${JSON.stringify(sample)}`)
  })
  runs[runtime] = samples
  const { events, reconciles, cycles, seconds } = samples.at(-1)!
  console.log(`${runtime}: ${events} events, ${reconciles} reconciles, ${cycles} cycles in ${seconds.toFixed(0)} s`)
  for (const { name, growth, bound } of trendsOf(samples)) {
    const state = growth > bound ? 'GROWS' : 'flat'
    if (growth > bound) process.exitCode = 1
    const last = samples.at(-1)![name]
    rows.push(
      `| ${
        [
          runtime,
          name,
          ...[last, growth, bound].map((each) => `${each.toFixed(1)} ${MEASURES[name][0]}`),
          state,
        ].join(' | ')
      } |`,
    )
  }
}))
writeFileSync(values.output, plot(runs))
console.log(
  `\n| runtime | measure | last | growth | bound | state |\n|${' --- |'.repeat(6)}\n${
    rows.join('\n')
  }\n\n${values.output} is written`,
)
