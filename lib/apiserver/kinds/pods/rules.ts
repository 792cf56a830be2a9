/** The rules of pods. */
import { jsonEqual } from '../../../core/equal.ts'
import {
  type ApiObject,
  at,
  clone,
  isObject,
  type Json,
  type JsonObject,
  list,
  num,
  objectAt,
  put,
  sortedByKey,
  str,
} from '../../model/json.ts'
import type { PrepareContext, Rules } from '../../model/kinds.ts'
import { type Cause, fault, forbidden, type StatusError } from '../../model/status.ts'
import { POD_PARTS } from './parts.ts'
import { podSpecFaults } from './checks.ts'
import { hostPortDefaults, podSpecDefaults, requestDefaults } from './defaults.ts'
import { checked } from '../../model/checks.ts'
import { selectable } from '../../model/selectors.ts'

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
    if (num(pod, 'spec', GRACE) < 0) put(pod['spec'] as JsonObject, GRACE, 1)
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
  parts: POD_PARTS,
  // A pod without a node is removed at once.
  gracePeriod: ({ spec }, requested) => at(spec, 'nodeName') ? requested ?? Number(at(spec, GRACE) ?? 30) : 0,
  fields: selectable(
    ...[
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'spec.hostNetwork=false',
    ],
    ...['status.phase', 'status.podIP', 'status.nominatedNodeName'],
  ),
}

const GRACE = 'terminationGracePeriodSeconds'

const NODE_PROBLEMS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const TOLERATION_SECONDS = 300

/** Adds the tolerations that every pod gets, in place: it stays on a lost node for five minutes. */
function addTolerations(pod: ApiObject): void {
  const spec = pod['spec'] as JsonObject
  const given = list(spec, 'tolerations')
  const missing = NODE_PROBLEMS.filter((problem) =>
    !given.some(({ key, effect }) => (!key || key === problem) && (!effect || effect === 'NoExecute'))
  ).map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: TOLERATION_SECONDS }))
  if (missing.length > 0) spec['tolerations'] = [...given, ...missing]
}

/** Sets the overhead of a pod's runtime class, in place. Throws 403 for an unknown class. */
function checkRuntimeClass(pod: ApiObject, { find }: PrepareContext): void {
  const spec = pod['spec'] as JsonObject
  const name = str(spec, 'runtimeClassName')
  if (!name) return
  const runtimeClass = find('runtimeclasses.node.k8s.io', name)
  if (!runtimeClass) throw refusal(pod, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`)
  const overhead = at(runtimeClass, 'overhead', 'podFixed')
  if (overhead !== undefined) spec['overhead'] = clone(overhead)
}

function refusal({ metadata }: ApiObject, reason: string): StatusError {
  return forbidden({ group: '', plural: 'pods' }, metadata.name ?? '', reason)
}

const PRIORITY_CLASSES = 'priorityclasses.scheduling.k8s.io'

/** Sets the priority by the class of a pod, or by the default class, in place. Throws 403 for an unknown class. */
function setPriority(pod: ApiObject, { find, all }: PrepareContext): void {
  const spec = pod['spec'] as JsonObject
  const name = str(spec, 'priorityClassName')
  const priorityClass = name ? find(PRIORITY_CLASSES, name) ?? SYSTEM_CLASSES.get(name) : all(PRIORITY_CLASSES)
    .filter((each) => each['globalDefault'] === true).sort((a, b) => Number(a['value']) - Number(b['value']))[0]
  if (name && !priorityClass) throw refusal(pod, `no PriorityClass with name ${name} was found`)
  if (priorityClass && !name) spec['priorityClassName'] = (priorityClass as ApiObject).metadata.name!
  spec['priority'] = priorityClass?.['value'] ?? 0
  const policy = priorityClass?.['preemptionPolicy'] ?? 'PreemptLowerPriority'
  const given = spec['preemptionPolicy'] ?? policy
  if (given !== policy) {
    throw refusal(
      pod,
      `the string value of PreemptionPolicy (${String(given)}) must not be provided in pod spec; ` +
        `priority admission controller computed ${String(policy)} from the given PriorityClass name`,
    )
  }
  spec['preemptionPolicy'] = policy
}

/** The classes of every cluster. */
const SYSTEM_CLASSES: ReadonlyMap<string, JsonObject> = new Map(Object.entries({
  'system-cluster-critical': { value: 2000000000, preemptionPolicy: 'PreemptLowerPriority' },
  'system-node-critical': { value: 2000001000, preemptionPolicy: 'PreemptLowerPriority' },
}))

function qosClass(pod: ApiObject): string {
  const resources = list(pod, 'spec', 'containers').map((container) => container['resources'])
  const isLimited = (each: Json | undefined): boolean =>
    ['cpu', 'memory'].every((name) => {
      const limit = at(each, 'limits', name)
      return limit !== undefined && limit === (at(each, 'requests', name) ?? limit)
    })
  if (resources.length > 0 && resources.every(isLimited)) return 'Guaranteed'
  const isStated = (each: Json | undefined): boolean => isObject(at(each, 'requests')) || isObject(at(each, 'limits'))
  return resources.some(isStated) ? 'Burstable' : 'BestEffort'
}

const IMMUTABLE_SPEC = 'pod updates may not change fields other than `spec.containers[*].image`,' +
  '`spec.initContainers[*].image`,`spec.activeDeadlineSeconds` and `spec.tolerations` (only additions)'

/** The fields of the spec that may change, each by its own rule; the last ones while gates hold the pod. */
const CHANGEABLE = ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']
const CHANGEABLE_IF_GATED = [...CHANGEABLE, 'nodeSelector', 'affinity']

/** Returns the faults of an update that changes an immutable field of a pod's spec. */
function podChangeFaults(pod: ApiObject, old: ApiObject): Cause[] {
  const recounted = ['containers', 'initContainers'].find((name) =>
    list(pod, 'spec', name).length !== list(old, 'spec', name).length
  )
  if (recounted) return [fault.forbidden(`spec.${recounted}`, 'pod updates may not add or remove containers')]
  const gates = list(old, 'spec', 'schedulingGates').map(({ name }) => name)
  const [before, after] = [old, pod].map((each) => at(each, 'spec', 'activeDeadlineSeconds'))
  const deadline = before === undefined || (after !== undefined && Number(after) <= Number(before))
    ? []
    : [fault.invalid('spec.activeDeadlineSeconds', after ?? null, 'must be less than or equal to previous value')]
  const kept = keepsTolerations(list(pod, 'spec', 'tolerations'), list(old, 'spec', 'tolerations'))
    ? []
    : [fault.forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')]
  const added = checked(pod, [[
    'spec.schedulingGates[].name',
    (name, path) => gates.includes(name) ? [] : [fault.forbidden(path, `only deletion is allowed`)],
  ]])
  const rest = (object: ApiObject): JsonObject => {
    const spec = clone(objectAt(object['spec']))
    for (const name of gates.length > 0 ? CHANGEABLE_IF_GATED : CHANGEABLE) delete spec[name]
    for (const each of [...list(spec, 'containers'), ...list(spec, 'initContainers')]) delete each['image']
    return spec
  }
  const others = jsonEqual(rest(pod), rest(old)) ? [] : [fault.forbidden('spec', IMMUTABLE_SPEC)]
  return [...deadline, ...kept, ...added, ...others]
}

/** Tolerations may be added. */
function keepsTolerations(after: readonly JsonObject[], before: readonly JsonObject[]): boolean {
  if (jsonEqual(after, before)) return true
  const textOf = (toleration: JsonObject): string => JSON.stringify(sortedByKey(toleration))
  const given = new Set(after.map(textOf))
  return before.every((each) => given.has(textOf(each)))
}
