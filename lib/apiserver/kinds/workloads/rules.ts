/** The rules of workloads with a pod template. */
import { jsonEqual } from '../../../core/equal.ts'
import { type ApiObject, at, isObject, type JsonObject, size } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { badRequest } from '../../model/status.ts'
import { child, type Defaults, fill, parentsOf } from '../common/fill.ts'
import { countFaults, daemonSetFaults, deploymentFaults, replicaSetFaults, statefulSetFaults } from './checks.ts'
import { podSpecDefaults } from '../pods/defaults.ts'
import { unchanged } from '../../model/checks.ts'

export const DEPLOYMENT_RULES: Partial<Rules> = {
  generation: true,
  statusKeeps: 'labels',
  defaults(deployment) {
    const spec = specOf(deployment)
    fill(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 })
    rollingDefaults(child(spec, 'strategy'), { maxUnavailable: '25%', maxSurge: '25%' })
  },
  generationCountsAnnotations: true,
  validate: deploymentFaults,
  validateStatus: (deployment) => countFaults(deployment, 'updatedReplicas', 'readyReplicas', 'availableReplicas'),
}

export const REPLICA_SET_RULES: Partial<Rules> = {
  generation: true,
  statusKeeps: 'labels',
  defaults: (set) => fill(specOf(set), { replicas: 1 }),
  validate: replicaSetFaults,
  validateStatus: (set) => countFaults(set, 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'),
}

export const STATEFUL_SET_RULES: Partial<Rules> = {
  generation: true,
  statusKeeps: 'labels',
  defaults(set) {
    const spec = specOf(set)
    fill(spec, { podManagementPolicy: 'OrderedReady', replicas: 1, revisionHistoryLimit: 10 })
    const strategy = child(spec, 'updateStrategy')
    // Unlike other kinds, only a missing type creates the parameters.
    if (!strategy['type']) rollingDefaults(strategy, {})
    if (strategy['type'] === 'RollingUpdate') fill(strategy, { 'rollingUpdate.partition': 0 })
    fill(child(spec, 'persistentVolumeClaimRetentionPolicy'), { whenDeleted: 'Retain', whenScaled: 'Retain' })
    for (const claim of parentsOf(spec, ['volumeClaimTemplates[]'])) {
      fill(claim, { kind: 'PersistentVolumeClaim', apiVersion: 'v1', 'spec.volumeMode': 'Filesystem' })
      fill(child(claim, 'status'), { phase: 'Pending' })
    }
  },
  nameRule: 'label',
  validate: statefulSetFaults,
  validateStatus: (set) => countFaults(set, 'readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'),
}

export const DAEMON_SET_RULES: Partial<Rules> = {
  generation: true,
  statusKeeps: 'labels',
  defaults(set) {
    const spec = specOf(set)
    fill(spec, { revisionHistoryLimit: 10 })
    rollingDefaults(child(spec, 'updateStrategy'), { maxUnavailable: 1, maxSurge: 0 })
    setTemplateGeneration(set, templateGeneration(set))
  },
  prepareCreate: (set) => setTemplateGeneration(set, Math.max(1, templateGeneration(set))),
  prepareUpdate(set, old) {
    const before = templateGeneration(old)
    const isSame = jsonEqual(at(set, 'spec', 'template'), at(old, 'spec', 'template'))
    setTemplateGeneration(set, isSame ? before : before + 1)
  },
  validate: daemonSetFaults,
  validateStatus: (set) => countFaults(set),
}

export const REVISION_RULES: Partial<Rules> = { validate: (revision, old) => unchanged(revision, old, 'data') }

export const POD_TEMPLATE_RULES: Partial<Rules> = {
  generation: true,
  defaults: (object) => parentsOf(object, ['template', 'spec']).forEach(podSpecDefaults),
}

export const REPLICATION_CONTROLLER_RULES: Partial<Rules> = {
  generation: true,
  statusKeeps: 'labels',
  keepsDependents: true,
  defaults(controller) {
    const spec = specOf(controller)
    spec['replicas'] ??= 1
    const labels = at(spec, 'template', 'metadata', 'labels')
    if (!isObject(labels)) return
    if (size(spec['selector']) === 0) spec['selector'] = { ...labels }
    if (size(controller.metadata.labels) === 0) controller.metadata.labels = { ...labels } as Record<string, string>
  },
}

/** Sets the type of an update strategy and the parameters of a rolling update, in place. */
function rollingDefaults(strategy: JsonObject, parameters: JsonObject): void {
  fill(strategy, { type: 'RollingUpdate' })
  if (strategy['type'] === 'RollingUpdate') fill(child(strategy, 'rollingUpdate'), parameters as Defaults)
}

const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'

/** Throws 400 for a text that Go does not parse as an integer. */
function templateGeneration({ metadata }: ApiObject): number {
  const text = metadata.annotations?.[TEMPLATE_GENERATION] ?? '0'
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  const reason = `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`
  throw badRequest(`DaemonSet in version "v1" cannot be handled as a DaemonSet: ${reason}`)
}

function setTemplateGeneration({ metadata }: ApiObject, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: String(generation) }
}

/** Returns the spec, after setting the defaults of its template. */
function specOf(object: ApiObject): JsonObject {
  const spec = child(object, 'spec')
  for (const podSpec of parentsOf(spec, ['template', 'spec'])) podSpecDefaults(podSpec)
  return spec
}
