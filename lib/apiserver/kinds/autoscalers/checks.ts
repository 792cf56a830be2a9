/** Validation of HorizontalPodAutoscalers, in the form of autoscaling/v2. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import { atLeast, checked, type Checks, name, oneOf, required } from '../common/checks.ts'
import { list, str } from '../common/columns.ts'

/** The field of a metric by its type. */
const SOURCES: Readonly<Record<string, string>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
}

export function autoscalerFaults(scaler: ApiObject): Cause[] {
  const spec = (scaler['spec'] ?? {}) as JsonObject
  const max = Number(spec['maxReplicas'] ?? 0)
  const min = spec['minReplicas']
  return [
    ...checked(spec, [['minReplicas', atLeast(1)]], 'spec'),
    ...(max === 0 ? [fault.required('spec.maxReplicas', 'must be set and greater than 0')] : []),
    ...(max < 0 ? [fault.invalid('spec.maxReplicas', max, 'must be greater than or equal to 1')] : []),
    ...(typeof min === 'number' && max < min
      ? [fault.invalid('spec.maxReplicas', max, 'must be greater than or equal to `minReplicas`')]
      : []),
    ...referenceFaults(at(spec, 'scaleTargetRef'), 'spec.scaleTargetRef'),
    ...metricsFaults(spec),
  ]
}

function referenceFaults(reference: Json | undefined, path: string): Cause[] {
  const ref = isObject(reference) ? reference : {}
  const apiVersion = str(ref, 'apiVersion')
  return [
    ...checked(ref, [['kind', required(), name('path')], ['name', required(), name('path')]], path),
    ...(apiVersion.includes('/')
      ? []
      : [fault.invalid(`${path}.apiVersion`, apiVersion, 'apiVersion must specify API group')]),
  ]
}

function metricsFaults(spec: JsonObject): Cause[] {
  const metrics = list(spec, 'metrics')
  const isExternal = metrics.some(({ type }) => type === 'Object' || type === 'External')
  const detail = 'must specify at least one Object or External metric to support scaling to zero replicas'
  return [
    ...metrics.flatMap((metric, index) => metricFaults(metric, `spec.metrics[${index}]`)),
    ...(spec['minReplicas'] === 0 && !isExternal ? [fault.forbidden('spec.metrics', detail)] : []),
  ]
}

/** What names the values of a source, by its field. */
const NAMES: Readonly<Record<string, Checks>> = {
  resource: [['name', required()]],
  containerResource: [['name', required()], ['container', required()]],
  pods: [['metric.name', required()]],
  external: [['metric.name', required()]],
  object: [['describedObject.kind', required()], ['describedObject.name', required()], ['metric.name', required()]],
}

function metricFaults(metric: JsonObject, path: string): Cause[] {
  const type = str(metric, 'type')
  const source = SOURCES[type]
  if (source === undefined) {
    return [
      ...(type ? [] : [fault.required(`${path}.type`, 'must specify a metric source type')]),
      fault.notSupported(`${path}.type`, type, Object.keys(SOURCES)),
    ]
  }
  const place = `${path}.${source}`
  const value = metric[source]
  if (!isObject(value)) return [fault.required(place, 'must populate information for the given metric source')]
  const target = isObject(value['target']) ? value['target'] : {}
  const isResource = source === 'resource' || source === 'containerResource'
  const wanted = isResource ? 'averageUtilization' : 'averageValue'
  const others = isResource ? ['averageValue'] : source === 'pods' ? [] : ['value']
  const isSet = [wanted, ...others].some((field) => target[field] !== undefined)
  return [
    ...checked(value, NAMES[source]!, place),
    ...checked(target, [
      ['type', required(), oneOf('Utilization', 'Value', 'AverageValue')],
      ['averageUtilization', atLeast(1, 'must be greater than 0')],
    ], `${place}.target`),
    ...(isSet ? [] : [fault.required(`${place}.target.${wanted}`, 'must be set')]),
  ]
}
