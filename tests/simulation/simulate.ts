/**
 * Runs operators that are drawn at random, in weather that is drawn at random: `npm run simulate -- --seeds 100`.
 *
 *   npm run simulate -- [--seeds N] [--seed S] [--whole]
 *
 * `--seeds`: how many, default 100. `--seed`: the first one, default 1; with `--seeds 1`, the one to replay. A seed that
 * fails is shrunk, and its history is printed; `--whole` prints that of the seed as it is. The exit code is 1 then.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { drawingText, type Plan, planOf, runPlan, shrunk } from './run.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    whole: { type: 'boolean', default: false },
  },
})

const first = Number(values.seed)
const count = Number(values.seeds)
const beganMs = performance.now()

function print({ seed, drawing, earlier, replicas }: Plan, history: readonly string[]): void {
  console.log(`seed ${seed}: ${replicas} replicas; ${drawingText(drawing)}`)
  if (earlier) console.log(`  before the upgrade: ${drawingText(earlier)}`)
  for (const line of history) console.log(`  ${line}`)
}

for (let seed = first; seed < first + count; seed++) {
  const plan = planOf(seed)
  const { problems } = await runPlan(plan)
  if (problems.length > 0) {
    console.log(`Seed ${seed} fails: ${problems.join('; ')}`)
    const small = values.whole ? plan : await shrunk(plan)
    print(small, (await runPlan(small)).history)
    process.exit(1)
  }
  if ((seed - first + 1) % 50 === 0) console.error(`${seed - first + 1} of ${count} seeds`)
}
const seconds = (performance.now() - beganMs) / 1000
console.log(
  `${count} seeds from ${first}: all right, ${seconds.toFixed(0)} s, ${(seconds / count * 1000).toFixed(0)} ms each`,
)
