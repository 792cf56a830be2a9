/** Formats the metrics of a HorizontalPodAutoscaler: the current values beside the wanted ones. */
import { type ApiObject, at, type JsonObject } from '../../model/json.ts'
import { firstOf, list, str } from '../common/columns.ts'

const MAX_METRICS = 2
const UNKNOWN = '<unknown>'

/** The field of a metric by its type. */
const FIELDS: Readonly<Record<string, string>> = {
  External: 'external',
  Pods: 'pods',
  Object: 'object',
  Resource: 'resource',
  ContainerResource: 'containerResource',
}

export function metricsText(scaler: ApiObject): string {
  const metrics = list(scaler, 'spec', 'metrics')
  const current = list(scaler, 'status', 'currentMetrics')
  if (metrics.length === 0) return '<none>'
  return firstOf(metrics.map((metric, index) => metricText(metric, current[index])), MAX_METRICS, ', ')
}

function metricText(metric: JsonObject, status: JsonObject | undefined): string {
  const field = FIELDS[str(metric, 'type')]
  if (field === undefined) return '<unknown type>'
  const wanted = at(metric, field, 'target')
  const current = at(status, field, 'current')
  const name = field === 'resource' || field === 'containerResource' ? `${str(metric, field, 'name')}: ` : ''
  const average = str(wanted, 'averageValue')
  if (average) {
    const note = field === 'external' || field === 'object' ? ' (avg)' : ''
    return `${name}${str(current, 'averageValue') || UNKNOWN}/${average}${note}`
  }
  if (name) {
    return `${name}${percent(at(current, 'averageUtilization')) ?? UNKNOWN}/${
      percent(at(wanted, 'averageUtilization')) ?? '<auto>'
    }`
  }
  return `${current === undefined ? UNKNOWN : str(current, 'value') || '0'}/${str(wanted, 'value')}`
}

function percent(value: unknown): string | undefined {
  return typeof value === 'number' ? `${value}%` : undefined
}
