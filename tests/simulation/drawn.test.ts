/** Operators drawn at random, as `npm run simulate` runs them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tries } from '../tools/fuzz.ts'
import { planProblems } from './plans.ts'
import { planOf, runPlan } from './run.ts'

test('drawn operators touch what they select, and all of it is done when they are at rest', async () => {
  for (let seed = 1; seed <= tries(16); seed++) {
    const { problems, history } = await runPlan(planOf(seed))
    assert.deepEqual(
      problems,
      [],
      `replay and shrink it by \`npm run simulate -- --seeds 1 --seed ${seed}\`:\n${history.join('\n')}`,
    )
  }
})

test('what a plan says of drawn operators is what they then do', async () => {
  for (let seed = 1; seed <= tries(12); seed++) assert.deepEqual(await planProblems(seed), [], `seed ${seed}`)
})
