/** The rules of HorizontalPodAutoscalers, and the conversion between their two versions. */
import { type ApiObject, at, clone, isObject, type Json, type JsonObject, put, putAt } from '../../model/json.ts'
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

type Names = readonly (readonly [v1: string, v2: string])[]

const TARGET: Names = [['target', 'describedObject'], ['metricName', 'metric.name']]

/** The fields of a metric's type in v1, in the order of its JSON, and their paths in v2. */
const SPECS: Readonly<Record<string, Names>> = {
  object: [...TARGET, ['targetValue', 'target.value'], ['selector', 'metric.selector'], [
    'averageValue',
    'target.averageValue',
  ]],
  pods: [['metricName', 'metric.name'], ['targetAverageValue', 'target.averageValue'], ['selector', 'metric.selector']],
  resource: [
    ['name', 'name'],
    ['targetAverageUtilization', 'target.averageUtilization'],
    ['targetAverageValue', 'target.averageValue'],
  ],
  containerResource: [
    ['name', 'name'],
    ['targetAverageUtilization', 'target.averageUtilization'],
    ['targetAverageValue', 'target.averageValue'],
    ['container', 'container'],
  ],
  external: [
    ['metricName', 'metric.name'],
    ['metricSelector', 'metric.selector'],
    ['targetValue', 'target.value'],
    ['targetAverageValue', 'target.averageValue'],
  ],
}

/** The same for the current values. */
const STATUSES: Readonly<Record<string, Names>> = Object.fromEntries(
  Object.entries(SPECS).map(([type, names]) => [
    type,
    names.map(([v1, v2]) => [v1.replace(/^target(?=[AV])/, 'current'), v2.replace('target.', 'current.')] as const),
  ]),
)

const METRICS = 'autoscaling.alpha.kubernetes.io/metrics'
const CURRENT_METRICS = 'autoscaling.alpha.kubernetes.io/current-metrics'
const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions'
const BEHAVIOR_KEY = 'autoscaling.alpha.kubernetes.io/behavior'

/** Quantities that v1 holds by value: they are 0 if they are unset. */
const BY_VALUE: readonly string[] = ['object.targetValue', 'pods.targetAverageValue']

function metricToV1(metric: JsonObject, fields: Readonly<Record<string, Names>>): JsonObject {
  const result: JsonObject = { type: metric['type']! }
  for (const [type, names] of Object.entries(fields)) {
    if (!isObject(metric[type])) continue
    const converted: JsonObject = {}
    for (const [v1, v2] of names) {
      const isByValue = fields === STATUSES
        ? v1 === 'currentValue' || (v1 === 'currentAverageValue' && type !== 'external')
        : BY_VALUE.includes(`${type}.${v1}`)
      const value = at(metric[type], ...v2.split('.')) ?? (isByValue ? '0' : undefined)
      if (value !== undefined) converted[v1] = value
    }
    result[type] = converted
  }
  return result
}

function metricFromV1(metric: JsonObject, fields: Readonly<Record<string, Names>>): JsonObject {
  const result: JsonObject = { type: metric['type']! }
  for (const [type, names] of Object.entries(fields)) {
    const given = metric[type]
    if (!isObject(given)) continue
    const converted: JsonObject = {}
    for (const [v1, v2] of names) if (given[v1] !== undefined) putAt(converted, v2.split('.'), given[v1])
    if (fields === SPECS) targetType(type, converted)
    result[type] = converted
  }
  return result
}

/** Sets the type of a target, which v1 does not have, in place. */
function targetType(type: string, source: JsonObject): void {
  const target = at(source, 'target')
  if (!isObject(target)) return
  if (type === 'object' && target['averageValue'] !== undefined && target['value'] === '0') delete target['value']
  const isUtilization = target['averageUtilization'] !== undefined
  const isAverage = type === 'object' ? target['averageValue'] !== undefined : target['value'] === undefined
  source['target'] = { type: isUtilization ? 'Utilization' : isAverage ? 'AverageValue' : 'Value', ...target }
}

const isCpuPercent = (metric: JsonObject): boolean =>
  metric['type'] === 'Resource' && at(metric, 'resource', 'name') === 'cpu' &&
  at(metric, 'resource', 'target', 'averageUtilization') !== undefined

/** Converts the stored form to autoscaling/v1, which keeps in annotations what it has no fields for. */
function toV1(stored: ApiObject): ApiObject {
  const { metrics: given, behavior, ...spec } = clone(stored['spec'] ?? {}) as JsonObject
  const { currentMetrics, conditions, ...status } = clone(stored['status'] ?? {}) as JsonObject
  const metrics = Array.isArray(given) ? given.filter(isObject) : []
  const cpu = metrics.find(isCpuPercent)
  const notes: Record<string, Json> = {}
  const others = metrics.filter((metric) => !isCpuPercent(metric)).map((metric) => metricToV1(metric, SPECS))
  if (others.length > 0) notes[METRICS] = others
  const current = Array.isArray(currentMetrics) ? currentMetrics.filter(isObject) : []
  if (current.length > 0) notes[CURRENT_METRICS] = current.map((metric) => metricToV1(metric, STATUSES))
  if (isObject(behavior)) notes[BEHAVIOR_KEY] = behaviorNote(behavior)
  if (Array.isArray(conditions) && conditions.length > 0) notes[CONDITIONS] = conditions
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

function withNotes(metadata: ApiObject['metadata'], notes: Record<string, Json>): ApiObject['metadata'] {
  const entries = Object.entries(notes)
  if (entries.length === 0) return metadata
  const annotations = { ...metadata.annotations }
  for (const [name, value] of entries) annotations[name] = JSON.stringify(value)
  return { ...metadata, annotations }
}

/** The annotation has the names of Go's fields. */
function behaviorNote(behavior: JsonObject): JsonObject {
  const rules = (given: Json | undefined): Json =>
    isObject(given)
      ? {
        StabilizationWindowSeconds: given['stabilizationWindowSeconds'] ?? null,
        SelectPolicy: given['selectPolicy'] ?? null,
        Policies: list(given, 'policies').map((policy) => ({
          Type: policy['type'],
          Value: policy['value'],
          PeriodSeconds: policy['periodSeconds'],
        })),
        Tolerance: given['tolerance'] ?? null,
      }
      : null
  return { ScaleUp: rules(behavior['scaleUp']), ScaleDown: rules(behavior['scaleDown']) }
}

function behaviorOfNote(note: Json): JsonObject | undefined {
  const lower = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(lower)
    if (!isObject(value)) return value
    const result: JsonObject = {}
    for (const [name, each] of Object.entries(value)) {
      if (each !== null && each !== undefined) put(result, name[0]!.toLowerCase() + name.slice(1), lower(each))
    }
    return result
  }
  const behavior = lower(note)
  return isObject(behavior) && Object.keys(behavior).length > 0 ? behavior : undefined
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
  const converted = (value: Json | undefined, fields: Readonly<Record<string, Names>>): JsonObject[] =>
    Array.isArray(value) && value.every(isObject) ? value.map((metric) => metricFromV1(metric, fields)) : []
  const wanted = [...converted(metrics, SPECS), ...(typeof percent === 'number' ? [CPU_METRIC(percent)] : [])]
  const currentMetrics = currentCPUUtilizationPercentage === undefined ? [] : [{
    type: 'Resource',
    resource: { name: 'cpu', current: { averageUtilization: currentCPUUtilizationPercentage } },
  }]
  const restored = isObject(behavior) ? behaviorOfNote(behavior) : undefined
  const metadata = { ...scaler.metadata, annotations }
  if (Object.keys(annotations).length === 0) delete (metadata as JsonObject)['annotations']
  return {
    ...scaler,
    apiVersion: 'autoscaling/v2',
    metadata,
    spec: {
      ...spec,
      metrics: wanted.length > 0 ? wanted : [CPU_METRIC(DEFAULT_CPU_PERCENT)],
      ...(restored && { behavior: restored }),
    },
    status: {
      ...status,
      currentMetrics: current === undefined
        ? (currentMetrics.length > 0 ? currentMetrics : null)
        : converted(current, STATUSES),
      ...(Array.isArray(conditions) && { conditions }),
    },
  }
}
