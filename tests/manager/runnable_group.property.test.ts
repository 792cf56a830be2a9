/** Compares a group with a model, under random adds, ends, failures, starts and stops. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ManagerStopping, RunnableGroup, StopTimeout } from '../../lib/manager/runnable_group.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { type Part, part, watchOutcome } from './parts.ts'
import { tries } from '../tools/fuzz.ts'

/** A random step; `which` picks one of the existing runnables. */
type Step =
  | { readonly kind: 'add'; readonly lingers: boolean; readonly unready: boolean }
  | { readonly kind: 'start' }
  | { readonly kind: 'abort the start' | 'stop' | 'deadline' }
  | { readonly kind: 'end' | 'fail' | 'ready' | 'fail to be ready'; readonly which: number }

const which = fc.nat({ max: 30 })
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('add' as const), lingers: fc.boolean(), unready: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('start' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom('abort the start' as const, 'stop' as const, 'deadline' as const) }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom('end' as const, 'fail' as const, 'ready' as const, 'fail to be ready' as const),
        which,
      }),
    },
  ),
  { maxLength: 30 },
)

interface Modelled {
  readonly made: Part
  readonly lingers: boolean
  readonly name: string
  launched: boolean
  /** Whether its start has settled. */
  ended: boolean
  /** Whether something waits for its readiness. */
  awaited: boolean
  ready: 'no' | 'yes' | 'failed'
}

test('in any order of events, each runnable runs at most once, each failure is reported, and a stop waits for all', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const told: string[] = []
      const failures: string[] = []
      const expected: string[] = []
      const group = new RunnableGroup('group', (error) => failures.push((error as Error).message))
      const members: Modelled[] = []
      const start = countedSignal()
      const deadline = countedSignal()
      let started: { outcome: unknown } | undefined
      let stopped: { outcome: unknown } | undefined
      let stopping = false
      /** The names that remained at the deadline. */
      let left: string[] | undefined

      /** Those that the start has not launched yet, one per turn. */
      let queued: Modelled[] = []
      const launchNext = (): void => {
        const member = queued.shift()
        if (member) member.launched = member.awaited = true
      }
      const turn = async (): Promise<void> => {
        await nextTurn()
        launchNext()
      }
      const running = (): Modelled[] => members.filter(({ launched, ended }) => launched && !ended)
      const pick = (at: number): Modelled | undefined => members[at % Math.max(1, members.length)]

      for (const step of script) {
        if (step.kind === 'add') {
          const name = `r${members.length}`
          const made = part(name, told, step)
          if (stopping) {
            assert.throws(() => group.add(made), ManagerStopping)
            continue
          }
          group.add(made)
          const member: Modelled = {
            made,
            name,
            lingers: step.lingers,
            launched: false,
            ended: false,
            awaited: false,
            ready: step.unready ? 'no' : 'yes',
          }
          members.push(member)
          member.launched = group.started
        } else if (step.kind === 'start') {
          if (started) {
            await assert.rejects(group.start(start.controller.signal))
            continue
          }
          const begins: boolean = !stopping && !start.controller.signal.aborted
          started = watchOutcome(group.start(start.controller.signal))
          if (begins) {
            queued = [...members]
            launchNext()
          } else await turn()
          assert.equal(group.started, begins)
        } else if (step.kind === 'abort the start') {
          start.controller.abort(new Error('the start is aborted'))
          queued = []
        } else if (step.kind === 'stop') {
          stopping = true
          queued = []
          const stop = group.stopAndWait(deadline.controller.signal)
          stopped ??= watchOutcome(stop)
          for (const member of running()) if (!member.lingers) member.ended = true
          await turn()
          if (deadline.controller.signal.aborted && running().length > 0) left ??= running().map(({ name }) => name)
        } else if (step.kind === 'deadline') {
          deadline.controller.abort(new Error('no time is left'))
          if (stopping && running().length > 0) left ??= running().map(({ name }) => name)
        } else if ('which' in step) {
          const member = pick(step.which)
          if (!member?.launched) continue
          if (step.kind === 'end' || step.kind === 'fail') {
            const isNew = !member.ended
            member.made.end(step.kind === 'fail' ? new Error(`${member.name} failed`) : undefined)
            if (isNew && step.kind === 'fail') expected.push(`${member.name} failed`)
            member.ended = true
          } else if (member.ready === 'no') {
            member.ready = step.kind === 'ready' ? 'yes' : 'failed'
            member.made.becomeReady(member.ready === 'failed' ? new Error(`${member.name} is not ready`) : undefined)
            // No start waits for the readiness of a later runnable, so it is reported as a failure.
            if (member.ready === 'failed' && !member.awaited) expected.push(`${member.name} is not ready`)
            if (member.ready === 'failed' && member.awaited) queued = []
          }
        }
        await turn()
        assert.equal(group.running, running().length)
      }

      await turn()
      for (let left = queued.length; left > 0; left--) await turn()
      assert.equal(queued.length, 0)
      for (const { name, launched } of members) {
        assert.equal(told.filter((line) => line === `+${name}`).length, launched ? 1 : 0, name)
      }
      assert.deepEqual(failures, expected)
      const awaited = members.filter(({ awaited }) => awaited)
      if (started && group.started) {
        const isOver = start.controller.signal.aborted || awaited.every(({ ready }) => ready === 'yes') ||
          awaited.some(({ ready }) => ready === 'failed')
        assert.equal(started.outcome !== undefined, isOver)
      }
      if (stopping) {
        // They are in the order of their launches: one that is added during the start may precede queued ones.
        if (left) assert.deepEqual((stopped?.outcome as StopTimeout).running.toSorted(), left.toSorted())
        else assert.equal(stopped?.outcome, running().length === 0 ? 'resolved' : undefined)
      }

      // At the end the group holds nothing.
      for (const { made } of members) made.end()
      await nextTurn()
      const over = watchOutcome(group.stopAndWait(deadline.controller.signal))
      await nextTurn()
      if (!stopping) assert.equal(over.outcome, 'resolved')
      for (const { made } of members) made.becomeReady()
      await nextTurn()
      assert.deepEqual([group.running, deadline.listeners(), start.listeners()], [0, 0, 0])
    }),
    { numRuns: tries(400) },
  )
})
