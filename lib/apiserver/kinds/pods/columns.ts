/** The columns of pods: what is ready, and one word for the state of all containers. */
import { type ApiObject, at, isObject, type JsonObject, list, num, str } from '../../model/json.ts'
import { age, type Column } from '../../model/columns.ts'
import { AGE, hasCondition, NAME, text, wide } from '../common/columns.ts'

interface Summary {
  readonly ready: string
  readonly reason: string
  readonly restarts: number
  /** The end of the last container that was restarted; empty if none was. */
  readonly lastRestart: string
}

/** Counts the restarts of containers. */
class Restarts {
  count = 0
  last = ''

  add(status: JsonObject): void {
    this.count += num(status as ApiObject, 'restartCount')
    const ended = str(status, 'lastState', 'terminated', 'finishedAt')
    if (ended > this.last) this.last = ended
  }
}

function summaryOf(pod: ApiObject): Summary {
  const specs = new Map(list(pod, 'spec', 'initContainers').map((each) => [each['name'], each]))
  const isSidecar = (name: unknown): boolean => specs.get(name as string)?.['restartPolicy'] === 'Always'
  let restarts = new Restarts()
  const sidecars = new Restarts()
  let ready = 0
  let reason = str(pod, 'status', 'reason') || str(pod, 'status', 'phase')
  const gated = list(pod, 'status', 'conditions').some((each) =>
    each['type'] === 'PodScheduled' && each['reason'] === 'SchedulingGated'
  )
  if (gated) reason = 'SchedulingGated'
  let isInitializing = false
  for (const [index, status] of list(pod, 'status', 'initContainerStatuses').entries()) {
    restarts.add(status)
    if (isSidecar(status['name'])) sidecars.add(status)
    const problem = initProblem(status, isSidecar(status['name']), index, specs.size)
    if (problem === undefined) {
      const runs = isSidecar(status['name']) && status['started'] === true && !at(status, 'state', 'terminated')
      if (runs && status['ready'] === true) ready++
      continue
    }
    reason = problem
    isInitializing = true
    break
  }
  if (!isInitializing || hasCondition(pod, 'Initialized')) {
    restarts = sidecars
    const containers = containersState(list(pod, 'status', 'containerStatuses'), restarts)
    ready += containers.ready
    reason = containers.reason ?? reason
    if (reason === 'Completed') {
      if (containers.ready > 0 && hasCondition(pod, 'Ready')) reason = 'Running'
      else if (containers.failure !== undefined) reason = containers.failure
      else if (containers.ready > 0) reason = 'NotReady'
    }
  }
  if (pod.metadata.deletionTimestamp) {
    if (str(pod, 'status', 'reason') === 'NodeLost') reason = 'Unknown'
    else if (!['Succeeded', 'Failed'].includes(str(pod, 'status', 'phase'))) reason = 'Terminating'
  }
  const total = list(pod, 'spec', 'containers').length + [...specs.keys()].filter(isSidecar).length
  return { ready: `${ready}/${total}`, reason, restarts: restarts.count, lastRestart: restarts.last }
}

/** Returns why the initialization stands at this container; undefined if it is done. */
function initProblem(status: JsonObject, isSidecar: boolean, index: number, total: number): string | undefined {
  const ended = at(status, 'state', 'terminated')
  if (isObject(ended) && (ended['exitCode'] ?? 0) === 0) return undefined
  if (isSidecar && status['started'] === true) return undefined
  if (isObject(ended)) return `Init:${endReason(ended)}`
  const waiting = str(status, 'state', 'waiting', 'reason')
  return waiting && waiting !== 'PodInitializing' ? `Init:${waiting}` : `Init:${index}/${total}`
}

function endReason(ended: JsonObject): string {
  if (ended['reason']) return String(ended['reason'])
  return ended['signal'] ? `Signal:${String(ended['signal'])}` : `ExitCode:${String(ended['exitCode'] ?? 0)}`
}

/** The first container with a reason wins. */
function containersState(
  statuses: readonly JsonObject[],
  restarts: Restarts,
): { ready: number; reason: string | undefined; failure: string | undefined } {
  let ready = 0
  let reason: string | undefined
  let failure: string | undefined
  for (const status of statuses.toReversed()) {
    restarts.add(status)
    const waiting = str(status, 'state', 'waiting', 'reason')
    const ended = at(status, 'state', 'terminated')
    if (waiting) reason = waiting
    else if (isObject(ended)) {
      reason = endReason(ended)
      if ((ended['exitCode'] ?? 0) !== 0) failure = reason
    } else if (status['ready'] === true && isObject(at(status, 'state', 'running'))) ready++
  }
  return { ready, reason, failure }
}

function restartsText(pod: ApiObject, nowMs: number): string {
  const { restarts, lastRestart } = summaryOf(pod)
  return restarts > 0 && lastRestart ? `${restarts} (${age(lastRestart, nowMs)} ago)` : String(restarts)
}

function gatesText(pod: ApiObject): string {
  const gates = list(pod, 'spec', 'readinessGates').map((gate) => str(gate, 'conditionType'))
  return gates.length === 0 ? '<none>' : `${gates.filter((gate) => hasCondition(pod, gate)).length}/${gates.length}`
}

export const POD_COLUMNS: readonly Column[] = [
  NAME,
  text('Ready', (pod) => summaryOf(pod).ready),
  text('Status', (pod) => summaryOf(pod).reason),
  text('Restarts', restartsText),
  AGE,
  ...[
    text('IP', (pod) => str(list(pod, 'status', 'podIPs')[0], 'ip') || '<none>'),
    text('Node', 'spec.nodeName', '<none>'),
    text('Nominated Node', 'status.nominatedNodeName', '<none>'),
    text('Readiness Gates', gatesText),
  ].map(wide),
]

/** The conditions of a row: kubectl hides rows of completed pods in some views. */
export function podRowConditions(pod: ApiObject): JsonObject[] {
  const phase = str(pod, 'status', 'phase')
  if (phase !== 'Succeeded' && phase !== 'Failed') return []
  const message = phase === 'Failed' ? 'The pod failed.' : 'The pod has completed successfully.'
  return [{ type: 'Completed', status: 'True', reason: phase, message }]
}
