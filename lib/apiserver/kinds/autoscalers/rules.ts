/** The rules of HorizontalPodAutoscalers, and the conversion between their two versions. */
import type { Rules } from '../../model/kinds.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject, list, objectAt } from '../../model/json.ts'
import { autoscalerFaults } from './checks.ts'

const CPU_METRIC = (percent: Json): JsonObject => ({
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
    if (scaler.metadata.annotations?.[noteOf('metrics')] === undefined) {
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
    behavior[name] = { ...clone(rules), ...objectAt(behavior, name) }
  }
}

/** The fields that autoscaling/v1 does not have. It keeps them in annotations, as v2 has them. */
const NOTED = [['spec', 'metrics'], ['spec', 'behavior'], ['status', 'currentMetrics'], [
  'status',
  'conditions',
]] as const

function noteOf(field: string): string {
  return `autoscaling.alpha.kubernetes.io/${field === 'currentMetrics' ? 'current-metrics' : field}`
}

const cpuPercent = (metric: JsonObject, of: 'target' | 'current'): Json | undefined =>
  metric['type'] === 'Resource' && at(metric, 'resource', 'name') === 'cpu'
    ? at(metric, 'resource', of, 'averageUtilization')
    : undefined

function toV1(stored: ApiObject): ApiObject {
  const parts = { spec: { ...objectAt(stored['spec']) }, status: { ...objectAt(stored['status']) } }
  const annotations = { ...stored.metadata.annotations }
  const percentOf = (field: string, metrics: readonly JsonObject[], of: 'target' | 'current'): JsonObject => {
    const percent = metrics.map((each) => cpuPercent(each, of)).find((each) => each !== undefined)
    return percent === undefined ? {} : { [field]: percent }
  }
  const [wanted, current] = [list(parts.spec, 'metrics'), list(parts.status, 'currentMetrics')]
  parts.spec['metrics'] = wanted.filter((each) => cpuPercent(each, 'target') === undefined)
  for (const [part, field] of NOTED) {
    const value = parts[part][field]
    delete parts[part][field]
    const isNoted = isObject(value) || Array.isArray(value) && value.length > 0
    if (isNoted) annotations[noteOf(field)] = JSON.stringify(value)
  }
  return {
    ...stored,
    apiVersion: 'autoscaling/v1',
    metadata: Object.keys(annotations).length > 0 ? { ...stored.metadata, annotations } : stored.metadata,
    spec: { ...parts.spec, ...percentOf('targetCPUUtilizationPercentage', wanted, 'target') },
    status: {
      currentReplicas: 0,
      ...parts.status,
      ...percentOf('currentCPUUtilizationPercentage', current, 'current'),
    },
  }
}

/** Converts autoscaling/v1 to autoscaling/v2. */
export function fromV1(scaler: ApiObject): ApiObject {
  const { targetCPUUtilizationPercentage: wanted, ...spec } = clone(objectAt(scaler['spec']))
  const { currentCPUUtilizationPercentage: current, ...status } = clone(objectAt(scaler['status']))
  if (status['currentReplicas'] === 0) delete status['currentReplicas']
  const { annotations: given, ...metadata } = scaler.metadata
  const annotations = { ...given }
  const noted = Object.fromEntries(NOTED.map(([, field]) => [field, parsed(annotations[noteOf(field)])]))
  for (const [, field] of NOTED) delete annotations[noteOf(field)]
  const { metrics: stated } = noted
  const metrics = Array.isArray(stated) && stated.every(isObject) ? stated : []
  if (wanted !== undefined || metrics.length === 0) metrics.push(CPU_METRIC(wanted ?? DEFAULT_CPU_PERCENT))
  return {
    ...scaler,
    apiVersion: 'autoscaling/v2',
    metadata: { ...metadata, ...(Object.keys(annotations).length > 0 && { annotations }) },
    spec: { ...spec, metrics, ...(isObject(noted['behavior']) && { behavior: noted['behavior'] }) },
    status: {
      ...status,
      currentMetrics: noted['currentMetrics'] ?? (current === undefined ? null : [{
        type: 'Resource',
        resource: { name: 'cpu', current: { averageUtilization: current } },
      }]),
      ...(Array.isArray(noted['conditions']) && { conditions: noted['conditions'] }),
    },
  }
}

/** Returns the JSON of an annotation; undefined if it is none: the real server ignores that, too. */
function parsed(text: string | undefined): Json | undefined {
  try {
    return text === undefined ? undefined : JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
