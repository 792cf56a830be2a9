/** The rules of HorizontalPodAutoscalers, and the conversion between their two versions. */
import { type ApiObject, at, clone, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { list } from '../common/columns.ts'
import { autoscalerFaults } from './checks.ts'

const CPU_METRIC = (percent: number): JsonObject => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: percent } },
})
const DEFAULT_CPU_PERCENT = 80

const BEHAVIOR: Readonly<Record<string, JsonObject>> = {
  scaleUp: {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, { type: 'Percent', value: 100, periodSeconds: 15 }],
  },
  scaleDown: { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
}

export const AUTOSCALER_RULES: Partial<Rules> = { defaults: autoscalerDefaults, validate: autoscalerFaults }

export const AUTOSCALER_V1_RULES: Partial<Rules> = {
  defaults(scaler) {
    const spec = scaler['spec'] as JsonObject
    spec['minReplicas'] ??= 1
    if (scaler.metadata.annotations?.[METRICS] === undefined) {
      spec['targetCPUUtilizationPercentage'] ??= DEFAULT_CPU_PERCENT
    }
  },
  validate: (scaler) => autoscalerFaults(fromV1(scaler)),
  toStored(scaler) {
    const stored = fromV1(scaler)
    autoscalerDefaults(stored)
    return stored
  },
  fromStored: toV1,
}

function autoscalerDefaults(scaler: ApiObject): void {
  const spec = scaler['spec'] as JsonObject
  spec['minReplicas'] ??= 1
  if (list(spec, 'metrics').length === 0) spec['metrics'] = [CPU_METRIC(DEFAULT_CPU_PERCENT)]
  const { behavior } = spec
  if (!isObject(behavior)) return
  for (const [name, rules] of Object.entries(BEHAVIOR)) {
    const given = isObject(behavior[name]) ? behavior[name] : {}
    behavior[name] = { ...clone(rules), ...given }
  }
}

const METRICS = 'autoscaling.alpha.kubernetes.io/metrics'
const CURRENT_METRICS = 'autoscaling.alpha.kubernetes.io/current-metrics'
const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions'
const BEHAVIOR_KEY = 'autoscaling.alpha.kubernetes.io/behavior'

const isCpuPercent = (metric: JsonObject): boolean =>
  metric['type'] === 'Resource' && at(metric, 'resource', 'name') === 'cpu' &&
  at(metric, 'resource', 'target', 'averageUtilization') !== undefined

/** Converts the stored form to autoscaling/v1, which keeps in annotations, as v2 has it, what it has no fields for. */
function toV1(stored: ApiObject): ApiObject {
  const { metrics: given, behavior, ...spec } = clone(stored['spec'] ?? {}) as JsonObject
  const { currentMetrics, conditions, ...status } = clone(stored['status'] ?? {}) as JsonObject
  const metrics = Array.isArray(given) ? given.filter(isObject) : []
  const cpu = metrics.find(isCpuPercent)
  const current = Array.isArray(currentMetrics) ? currentMetrics.filter(isObject) : []
  const notes = {
    [METRICS]: metrics.filter((metric) => !isCpuPercent(metric)),
    [CURRENT_METRICS]: current,
    [BEHAVIOR_KEY]: behavior,
    [CONDITIONS]: conditions,
  }
  const currentCpu = current.find((metric) =>
    metric['type'] === 'Resource' && at(metric, 'resource', 'name') === 'cpu' &&
    at(metric, 'resource', 'current', 'averageUtilization') !== undefined
  )
  return {
    ...stored,
    apiVersion: 'autoscaling/v1',
    metadata: withNotes(stored.metadata, notes),
    spec: {
      ...spec,
      ...(cpu && { targetCPUUtilizationPercentage: at(cpu, 'resource', 'target', 'averageUtilization') }),
    },
    status: {
      ...status,
      currentReplicas: status['currentReplicas'] ?? 0,
      ...(currentCpu && {
        currentCPUUtilizationPercentage: at(currentCpu, 'resource', 'current', 'averageUtilization'),
      }),
    },
  }
}

function withNotes(metadata: ApiObject['metadata'], notes: JsonObject): ApiObject['metadata'] {
  const entries = Object.entries(notes).filter(([, value]) =>
    isObject(value) || Array.isArray(value) && value.length > 0
  )
  if (entries.length === 0) return metadata
  const texts = entries.map(([name, value]) => [name, JSON.stringify(value)] as const)
  return { ...metadata, annotations: { ...metadata.annotations, ...Object.fromEntries(texts) } }
}

/** Converts autoscaling/v1 to autoscaling/v2. */
export function fromV1(scaler: ApiObject): ApiObject {
  const annotations = { ...scaler.metadata.annotations }
  const note = (name: string): Json | undefined => {
    const text = annotations[name]
    delete annotations[name]
    try {
      return text === undefined ? undefined : JSON.parse(text) as Json
    } catch {
      return undefined // the real server ignores such an annotation too
    }
  }
  const { targetCPUUtilizationPercentage: percent, ...spec } = clone(scaler['spec'] ?? {}) as JsonObject
  const { currentCPUUtilizationPercentage, ...status } = clone(scaler['status'] ?? {}) as JsonObject
  if (status['currentReplicas'] === 0) delete status['currentReplicas']
  const [metrics, current, behavior, conditions] = [METRICS, CURRENT_METRICS, BEHAVIOR_KEY, CONDITIONS].map(note)
  const objects = (value: Json | undefined): JsonObject[] => Array.isArray(value) && value.every(isObject) ? value : []
  const wanted = [...objects(metrics), ...(typeof percent === 'number' ? [CPU_METRIC(percent)] : [])]
  const currentMetrics = currentCPUUtilizationPercentage === undefined ? [] : [{
    type: 'Resource',
    resource: { name: 'cpu', current: { averageUtilization: currentCPUUtilizationPercentage } },
  }]
  const metadata = { ...scaler.metadata, annotations }
  if (Object.keys(annotations).length === 0) delete (metadata as JsonObject)['annotations']
  return {
    ...scaler,
    apiVersion: 'autoscaling/v2',
    metadata,
    spec: {
      ...spec,
      metrics: wanted.length > 0 ? wanted : [CPU_METRIC(DEFAULT_CPU_PERCENT)],
      ...(isObject(behavior) && { behavior }),
    },
    status: {
      ...status,
      currentMetrics: current === undefined ? (currentMetrics.length > 0 ? currentMetrics : null) : objects(current),
      ...(Array.isArray(conditions) && { conditions }),
    },
  }
}
