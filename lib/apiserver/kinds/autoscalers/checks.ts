/** Validation of HorizontalPodAutoscalers, in the form of autoscaling/v2. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import { atLeast, checked, type Checks, fields, name, oneOf, required } from '../common/checks.ts'
import { list, str } from '../common/columns.ts'

/** The field of a metric by its type. */
const SOURCES: Readonly<Record<string, string>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
}

const MAX_WINDOW_SECONDS = 3600
const MAX_PERIOD_SECONDS = 1800

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
    ...['scaleUp', 'scaleDown'].flatMap((each) => behaviorFaults(at(spec, 'behavior', each), `spec.behavior.${each}`)),
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

function metricFaults(metric: JsonObject, path: string): Cause[] {
  const type = str(metric, 'type')
  const source = SOURCES[type]
  if (source === undefined) {
    return [
      ...(type ? [] : [fault.required(`${path}.type`, 'must specify a metric source type')]),
      // The real server reports it twice.
      ...Array.from({ length: 2 }, () => fault.notSupported(`${path}.type`, type, Object.keys(SOURCES))),
    ]
  }
  const value = metric[source]
  if (!isObject(value)) {
    return [fault.required(`${path}.${source}`, 'must populate information for the given metric source')]
  }
  return sourceFaults(source, value, `${path}.${source}`)
}

/** An empty type is also none of these. */
function targetType(value: Json | undefined, path: string): readonly Cause[] {
  if (['Utilization', 'Value', 'AverageValue'].includes(String(value))) return []
  return [fault.invalid(path, value ?? '', 'must be either Utilization, Value, or AverageValue')]
}

function sourceFaults(source: string, value: JsonObject, path: string): Cause[] {
  const target = (isObject(value['target']) ? value['target'] : {}) as JsonObject
  const place = `${path}.target`
  const metricName: Checks = [['metric.name', required('must specify a metric name')]]
  const type: Checks = [['target.type', required('must specify a metric target type')], ['target.type', targetType]]
  const percent = checked(target, [['averageUtilization', atLeast(1, 'must be greater than 0')]], place)
  switch (source) {
    case 'resource':
    case 'containerResource': {
      const isSet = target['averageUtilization'] !== undefined || target['averageValue'] !== undefined
      return [
        ...checked(value, [['name', required('must specify a resource name')]], path),
        ...checked(value, source === 'resource' ? [] : [['container', required('must specify a container')]], path),
        ...checked(value, type, path),
        ...percent,
        ...(isSet ? [] : [
          fault.required(`${place}.averageUtilization`, 'must set either a target raw value or a target utilization'),
        ]),
      ]
    }
    case 'pods':
      return [
        ...checked(value, [...metricName, ...type], path),
        ...(target['averageValue'] === undefined
          ? [fault.required(`${place}.averageValue`, 'must specify a positive target averageValue')]
          : []),
      ]
    default:
      return [
        ...(source === 'object' ? referenceNameFaults(value['describedObject'], `${path}.describedObject`) : []),
        ...checked(value, [...metricName, ...type], path),
        ...(target['value'] === undefined && target['averageValue'] === undefined
          ? [fault.required(`${place}.averageValue`, 'must set either a target value or averageValue')]
          : []),
      ]
  }
}

function referenceNameFaults(reference: Json | undefined, path: string): Cause[] {
  return checked(isObject(reference) ? reference : {}, [['kind', required()], ['name', required()]], path)
}

function behaviorFaults(rules: Json | undefined, path: string): Cause[] {
  if (!isObject(rules)) return []
  const seconds = rules['stabilizationWindowSeconds']
  return [
    ...checked(rules, [['stabilizationWindowSeconds', atLeast(0, 'must be greater than or equal to zero')]], path),
    ...(typeof seconds === 'number' && seconds > MAX_WINDOW_SECONDS
      ? [
        fault.invalid(
          `${path}.stabilizationWindowSeconds`,
          seconds,
          `must be less than or equal to ${MAX_WINDOW_SECONDS}`,
        ),
      ]
      : []),
    ...checked(rules, [
      ['selectPolicy', oneOf('Disabled', 'Max', 'Min')],
      ['policies', required('must specify at least one Policy')],
      [
        'policies[]',
        fields([
          ['type', oneOf('Percent', 'Pods')],
          ['value', atLeast(1, 'must be greater than zero')],
          [
            'periodSeconds',
            atLeast(1, 'must be greater than zero'),
            (value, place) =>
              Number(value) > MAX_PERIOD_SECONDS
                ? [fault.invalid(place, value, `must be less than or equal to ${MAX_PERIOD_SECONDS}`)]
                : [],
          ],
        ]),
      ],
    ], path),
  ]
}
