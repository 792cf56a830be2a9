/** All lanes of the session. The first one runs alone. */
import type { Lane, Step } from './session.ts'
import { ACCESS } from './lanes/access.ts'
import { APPLYING } from './lanes/applying.ts'
import { CHANGING } from './lanes/changing.ts'
import { CREATING } from './lanes/creating.ts'
import { CUSTOM } from './lanes/custom.ts'
import { DELETING } from './lanes/deleting.ts'
import { DESCRIBING } from './lanes/describing.ts'
import { DISCOVERY } from './lanes/discovery.ts'
import { FILES } from './lanes/files.ts'
import { LOCAL } from './lanes/local.ts'
import { NODES } from './lanes/nodes.ts'
import { READING } from './lanes/reading.ts'
import { WATCHING } from './lanes/watching.ts'
import { WORKLOADS } from './lanes/workloads.ts'

export const LANES: readonly Lane[] = [
  DISCOVERY,
  // The lanes that take longest begin first.
  DELETING,
  WORKLOADS,
  CUSTOM,
  READING,
  CREATING,
  CHANGING,
  APPLYING,
  DESCRIBING,
  FILES,
  NODES,
  WATCHING,
  ACCESS,
  LOCAL,
].map(withNames)

/** Numbers the lines that a lane runs again: the names of steps are unique. */
function withNames(lane: Lane): Lane {
  const times = new Map<string, number>()
  const steps = lane.steps.map((step): Step => {
    if (typeof step !== 'string') return step
    const time = (times.get(step) ?? 0) + 1
    times.set(step, time)
    return time === 1 ? step : { run: step, as: `${step.replace(/^kubectl /, '')} (${time})` }
  })
  return { ...lane, steps }
}
