/** The rules of pods. */
import { jsonEqual } from '../../../core/equal.ts'
import { type ApiObject, at, clone, isObject, type JsonObject, put, sortedByKey } from '../../model/json.ts'
import type { PrepareContext, Rules } from '../../model/kinds.ts'
import { type Cause, fault, forbidden } from '../../model/status.ts'
import { qualified } from '../common/checks.ts'
import { list, str } from '../common/columns.ts'
import { podParts } from './parts.ts'
import { podSpecFaults } from './checks.ts'
import { hostPortDefaults, podSpecDefaults, requestDefaults } from './defaults.ts'

export const POD_RULES: Partial<Rules> = {
  generation: true,
  defaults(pod) {
    const { spec } = pod
    if (!isObject(spec)) return
    podSpecDefaults(spec)
    hostPortDefaults(spec)
    requestDefaults(spec)
    spec['enableServiceLinks'] ??= true
  },
  prepareCreate(pod, context) {
    if (Number(at(pod, 'spec', 'terminationGracePeriodSeconds')) < 0) put(pod['spec'] as JsonObject, GRACE, 1)
    pod['status'] = { phase: 'Pending', qosClass: qosClass(pod) }
    checkRuntimeClass(pod, context)
    setPriority(pod, context)
    addTolerations(pod)
  },
  prepareUpdate(pod, old) {
    addTolerations(pod)
    const spec = pod['spec'] as JsonObject
    for (const name of ['priority', 'preemptionPolicy']) spec[name] ??= at(old, 'spec', name)
  },
  validate(pod, old) {
    const faults = podSpecFaults((pod['spec'] ?? {}) as JsonObject, 'spec')
    if (old) return [...faults, ...podChangeFaults(pod, old)]
    return at(pod, 'spec', 'ephemeralContainers') === undefined
      ? faults
      : [...faults, fault.forbidden('spec.ephemeralContainers', 'cannot be set on create')]
  },
  statusKeeps: 'ownerReferences',
  prepareStatus(pod, old) {
    const status = pod['status']
    if (isObject(status)) status['qosClass'] ??= at(old, 'status', 'qosClass')
  },
  validateStatus: (pod) =>
    list(pod, 'status', 'conditions').flatMap(({ type }, index) =>
      qualified(type, `status.conditions[${index}].Type`, {})
    ),
  parts: podParts(qosClass),
  // A pod without a node is removed at once.
  gracePeriod: (
    pod,
    requested,
  ) => (at(pod, 'spec', 'nodeName') ? requested ?? Number(at(pod, 'spec', 'terminationGracePeriodSeconds') ?? 30) : 0),
  fields: (pod) => ({
    'spec.nodeName': String(at(pod, 'spec', 'nodeName') ?? ''),
    'spec.restartPolicy': String(at(pod, 'spec', 'restartPolicy') ?? ''),
    'spec.schedulerName': String(at(pod, 'spec', 'schedulerName') ?? ''),
    'spec.serviceAccountName': String(at(pod, 'spec', 'serviceAccountName') ?? ''),
    'spec.hostNetwork': String(at(pod, 'spec', 'hostNetwork') ?? false),
    'status.phase': String(at(pod, 'status', 'phase') ?? ''),
    'status.podIP': String(at(pod, 'status', 'podIP') ?? ''),
    'status.nominatedNodeName': String(at(pod, 'status', 'nominatedNodeName') ?? ''),
  }),
}

const GRACE = 'terminationGracePeriodSeconds'

const NODE_PROBLEMS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const TOLERATION_SECONDS = 300

/** Adds the tolerations that every pod gets, in place: it stays on a lost node for five minutes. */
function addTolerations(pod: ApiObject): void {
  const spec = pod['spec'] as JsonObject
  const tolerations = list(spec, 'tolerations')
  const tolerates = (problem: string): boolean =>
    tolerations.some(({ key, effect }) => (!key || key === problem) && (!effect || effect === 'NoExecute'))
  const missing = NODE_PROBLEMS.filter((problem) => !tolerates(problem)).map((key) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: TOLERATION_SECONDS,
  }))
  if (missing.length > 0) spec['tolerations'] = [...tolerations, ...missing]
}

/** Sets the overhead of a pod's runtime class, in place. Throws 403 for an unknown class. */
function checkRuntimeClass(pod: ApiObject, { find }: PrepareContext): void {
  const spec = pod['spec'] as JsonObject
  const name = str(spec, 'runtimeClassName')
  if (!name) return
  const runtimeClass = find('runtimeclasses.node.k8s.io', name)
  if (!runtimeClass) {
    const reason = `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`
    throw forbidden({ group: '', plural: 'pods' }, pod.metadata.name ?? '', reason)
  }
  const overhead = at(runtimeClass, 'overhead', 'podFixed')
  if (overhead !== undefined) spec['overhead'] = clone(overhead)
}

const PRIORITY_CLASSES = 'priorityclasses.scheduling.k8s.io'

/** Sets the priority by the class of a pod, or by the default class, in place. Throws 403 for an unknown class. */
function setPriority(pod: ApiObject, { find, all }: PrepareContext): void {
  const spec = pod['spec'] as JsonObject
  const name = str(spec, 'priorityClassName')
  const priorityClass = name ? find(PRIORITY_CLASSES, name) ?? SYSTEM_CLASSES.get(name) : all(PRIORITY_CLASSES)
    .filter((each) => each['globalDefault'] === true).sort((a, b) => Number(a['value']) - Number(b['value']))[0]
  if (name && !priorityClass) {
    const detail = `no PriorityClass with name ${name} was found`
    throw forbidden({ group: '', plural: 'pods' }, pod.metadata.name ?? '', detail)
  }
  if (priorityClass && !name) spec['priorityClassName'] = (priorityClass as ApiObject).metadata.name!
  spec['priority'] = priorityClass?.['value'] ?? 0
  const preemption = priorityClass?.['preemptionPolicy'] ?? 'PreemptLowerPriority'
  const given = spec['preemptionPolicy'] ?? preemption
  spec['preemptionPolicy'] = preemption
  if (given === preemption) return
  const problem = `the string value of PreemptionPolicy (${String(given)}) must not be provided in pod spec; ` +
    `priority admission controller computed ${String(preemption)} from the given PriorityClass name`
  throw forbidden({ group: '', plural: 'pods' }, pod.metadata.name ?? '', problem)
}

/** The classes of every cluster. */
const SYSTEM_CLASSES: ReadonlyMap<string, JsonObject> = new Map(Object.entries({
  'system-cluster-critical': { value: 2000000000, preemptionPolicy: 'PreemptLowerPriority' },
  'system-node-critical': { value: 2000001000, preemptionPolicy: 'PreemptLowerPriority' },
}))

function qosClass(pod: ApiObject): string {
  const containers = (at(pod, 'spec', 'containers') ?? []) as JsonObject[]
  const resources = containers.map((container) => container['resources'])
  const limited = resources.every((each) =>
    at(each, 'limits', 'cpu') !== undefined && at(each, 'limits', 'memory') !== undefined &&
    jsonEqual(at(each, 'limits', 'cpu'), at(each, 'requests', 'cpu') ?? at(each, 'limits', 'cpu')) &&
    jsonEqual(at(each, 'limits', 'memory'), at(each, 'requests', 'memory') ?? at(each, 'limits', 'memory'))
  )
  if (limited && containers.length > 0) return 'Guaranteed'
  const any = resources.some((each) => isObject(at(each, 'requests')) || isObject(at(each, 'limits')))
  return any ? 'Burstable' : 'BestEffort'
}

const IMMUTABLE_SPEC = 'pod updates may not change fields other than `spec.containers[*].image`,' +
  '`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing ' +
  'tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

/** The fields of the spec that may change, each by its own rule; the last ones while gates hold the pod. */
const CHANGEABLE = ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']
const CHANGEABLE_IF_GATED = [...CHANGEABLE, 'nodeSelector', 'affinity']

/** Returns the faults of an update that changes an immutable field of a pod's spec. */
function podChangeFaults(pod: ApiObject, old: ApiObject): Cause[] {
  const recounted = ['containers', 'initContainers'].find((name) =>
    list(pod, 'spec', name).length !== list(old, 'spec', name).length
  )
  if (recounted) return [fault.forbidden(`spec.${recounted}`, 'pod updates may not add or remove containers')]
  const gates = new Set(list(old, 'spec', 'schedulingGates').map(({ name }) => name))
  const isGated = gates.size > 0
  const faults = ['containers', 'initContainers'].flatMap((field) =>
    list(pod, 'spec', field).flatMap((each, index) =>
      each['image'] ? [] : [fault.required(`spec.${field}[${index}].image`)]
    )
  )
  faults.push(...deadlineFaults(at(pod, 'spec', 'activeDeadlineSeconds'), at(old, 'spec', 'activeDeadlineSeconds')))
  if (!keepsTolerations(list(pod, 'spec', 'tolerations'), list(old, 'spec', 'tolerations'))) {
    faults.push(
      fault.forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds'),
    )
  }
  for (const [index, { name }] of list(pod, 'spec', 'schedulingGates').entries()) {
    const detail = `only deletion is allowed, but found new scheduling gate '${String(name)}'`
    if (!gates.has(name)) faults.push(fault.forbidden(`spec.schedulingGates[${index}].name`, detail))
  }
  const rest = (object: ApiObject): JsonObject => {
    const spec = clone((object['spec'] ?? {}) as JsonObject)
    for (const name of isGated ? CHANGEABLE_IF_GATED : CHANGEABLE) delete spec[name]
    // A negative period was once stored.
    if (spec[GRACE] === 1 && Number(at(old, 'spec', GRACE)) < 0) spec[GRACE] = at(old, 'spec', GRACE)
    for (const name of ['containers', 'initContainers']) {
      for (const container of (spec[name] ?? []) as JsonObject[]) delete container['image']
    }
    return spec
  }
  return jsonEqual(rest(pod), rest(old)) ? faults : [...faults, fault.forbidden('spec', IMMUTABLE_SPEC)]
}

/** Tolerations may be added. */
function keepsTolerations(after: readonly JsonObject[], before: readonly JsonObject[]): boolean {
  if (jsonEqual(after, before)) return true
  const textOf = (toleration: JsonObject): string => JSON.stringify(sortedByKey(toleration))
  const given = new Set(after.map(textOf))
  return before.every((each) => given.has(textOf(each)))
}

function deadlineFaults(value: unknown, before: unknown): Cause[] {
  const path = 'spec.activeDeadlineSeconds'
  if (typeof before !== 'number') return []
  if (typeof value !== 'number') {
    return [fault.invalid(path, null, 'must not update from a positive integer to nil value')]
  }
  return value > before ? [fault.invalid(path, value, 'must be less than or equal to previous value')] : []
}
