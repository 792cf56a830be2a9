/** Runs the same kubectl commands on a real control plane and on the embedded API, and compares what they print. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { compareStep, unknownSteps } from './compare.ts'
import { DIFFERENCES } from './differences.ts'
import { LANES } from './lanes.ts'
import { type RunningTarget, startEmbedded, startReal } from './servers.ts'
import { type Output, runSession, stepName } from './session.ts'

const programs = process.env['KUBEBUILDER_ASSETS'] ?? ''
const missing = programs ? false : 'KUBEBUILDER_ASSETS is not set: no real kube-apiserver to compare with'

/** Commands wait for the server more than they compute. */
const PARALLEL = 4

/** What depends on how a runtime serves, on Bun and Deno: long answers and streams. Node runs all lanes. */
const SERVED = ['discovery', 'reading', 'watching']
const lanes = 'Deno' in globalThis || 'Bun' in globalThis ? LANES.filter(({ name }) => SERVED.includes(name)) : LANES
const names = LANES.flatMap((lane) => lane.steps.map((step) => stepName(lane, step)))
const served = new Set(lanes.flatMap((lane) => lane.steps.map((step) => stepName(lane, step))))
const elsewhere = 'what the embedded API answers is the same on each runtime: Node runs this lane'
let running: readonly RunningTarget[] = []
let outputs: readonly ReadonlyMap<string, Output>[] = []

before(async () => {
  if (missing) return
  running = [await startReal(programs), await startEmbedded(programs)]
  outputs = await Promise.all(running.map((target) => runSession(target, lanes, PARALLEL)))
})

after(async () => {
  for (const target of running) await target.stop()
})

for (const name of names) {
  test(`kubectl ${name}`, { skip: missing || (!served.has(name) && elsewhere) }, () => {
    const [real, embedded] = outputs.map((each) => each.get(name))
    assert.ok(real && embedded, 'the step did not run')
    const wrong = compareStep(name, real, embedded, DIFFERENCES)
    if (wrong !== undefined) assert.fail(wrong)
  })
}

test('each listed difference is of a step of the session', () => {
  assert.deepEqual(unknownSteps(DIFFERENCES, new Set(names)), [])
})

test('the session has its steps once', () => {
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.length >= 120)
})
