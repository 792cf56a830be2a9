import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../tools/tree.ts'
import { BUGS } from './bugs.ts'
import { NOT_DRAWN, OPTIONS, publicOptions } from './options.ts'
import { planOf, runPlan } from './run.ts'

test('each public option of an operator is drawn, or has a reason why not', () => {
  const covered = Object.values(OPTIONS).flatMap(({ covers }): readonly string[] => covers)
  assert.deepEqual(
    [...new Set([...covered, ...Object.keys(NOT_DRAWN)])].sort(),
    [...publicOptions()].sort(),
    'a new option needs a row in OPTIONS, an old one goes from there',
  )
  assert.deepEqual(Object.keys(NOT_DRAWN).filter((name) => covered.includes(name)), [], 'drawn, and with a reason')
})

test('each bug that the simulation must find can be planted', () => {
  const counts = BUGS.map(([name, file, from, to]) => {
    assert.notEqual(from, to, name)
    return [name, readFileSync(join(ROOT, `lib/${file}.ts`), 'utf8').split(from).length - 1]
  })
  assert.deepEqual(counts.filter(([, count]) => count !== 1), [], 'its line is not once in its file')
})

test('a seed alone repeats a run', async () => {
  const seed = 3
  assert.deepEqual(planOf(seed), planOf(seed))
  const [first, second] = [await runPlan(planOf(seed)), await runPlan(planOf(seed))]
  assert.ok(first.history.length > 10)
  assert.deepEqual(first.history, second.history)
})
