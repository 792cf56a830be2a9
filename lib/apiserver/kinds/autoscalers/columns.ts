/** Formats the metrics of a HorizontalPodAutoscaler: the current values beside the wanted ones. */
import { firstOf } from '../common/columns.ts'
import { type ApiObject, at, type JsonObject, list, str } from '../../model/json.ts'
import { SOURCES } from './checks.ts'

const MAX_METRICS = 2
const UNKNOWN = '<unknown>'

export function metricsText(scaler: ApiObject): string {
  const metrics = list(scaler, 'spec', 'metrics')
  const current = list(scaler, 'status', 'currentMetrics')
  if (metrics.length === 0) return '<none>'
  return firstOf(metrics.map((metric, index) => metricText(metric, current[index])), MAX_METRICS, ', ')
}

function metricText(metric: JsonObject, status: JsonObject | undefined): string {
  const { field } = SOURCES[str(metric, 'type')] ?? {}
  if (field === undefined) return '<unknown type>'
  const wanted = at(metric, field, 'target')
  const current = at(status, field, 'current')
  const isResource = field === 'resource' || field === 'containerResource'
  const name = isResource ? `${str(metric, field, 'name')}: ` : ''
  const average = str(wanted, 'averageValue')
  if (average) {
    const note = field === 'external' || field === 'object' ? ' (avg)' : ''
    return `${name}${str(current, 'averageValue') || UNKNOWN}/${average}${note}`
  }
  if (!isResource) return `${current === undefined ? UNKNOWN : str(current, 'value') || '0'}/${str(wanted, 'value')}`
  const [used, limit] = [current, wanted].map((each) => at(each, 'averageUtilization'))
  return `${name}${used === undefined ? UNKNOWN : `${used}%`}/${limit === undefined ? '<auto>' : `${limit}%`}`
}
