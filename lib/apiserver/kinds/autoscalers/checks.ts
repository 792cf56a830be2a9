/** Validation of HorizontalPodAutoscalers, in the form of autoscaling/v2. */
import { atLeast, checked, type Checks, fields, name, nonZero, oneOf, required } from '../../model/checks.ts'
import { type ApiObject, at, isObject, type Json, objectAt, str } from '../../model/json.ts'
import { type Cause, fault } from '../../model/status.ts'

/** The field of a metric by its type, what names its values, and what its target states of them. */
export const SOURCES: Readonly<
  Record<string, { readonly field: string; readonly names: readonly string[]; readonly targets: readonly string[] }>
> = {
  ContainerResource: {
    field: 'containerResource',
    names: ['name', 'container'],
    targets: ['averageUtilization', 'averageValue'],
  },
  External: { field: 'external', names: ['metric.name'], targets: ['averageValue', 'value'] },
  Object: {
    field: 'object',
    names: ['describedObject.kind', 'describedObject.name', 'metric.name'],
    targets: ['averageValue', 'value'],
  },
  Pods: { field: 'pods', names: ['metric.name'], targets: ['averageValue'] },
  Resource: { field: 'resource', names: ['name'], targets: ['averageUtilization', 'averageValue'] },
}

const REFERENCE: Checks = [
  ['kind', required(), name('path')],
  ['name', required(), name('path')],
  [
    'apiVersion',
    (value, path) => str(value).includes('/') ? [] : [fault.invalid(path, value ?? '', 'must specify an API group')],
  ],
]

const TARGET: Checks = [
  ['type', required(), oneOf('Utilization', 'Value', 'AverageValue')],
  ['averageUtilization', atLeast(1)],
]

export function autoscalerFaults({ spec }: ApiObject): Cause[] {
  const min = at(spec, 'minReplicas')
  return checked(objectAt(spec), [
    ['minReplicas', atLeast(1)],
    ['maxReplicas', nonZero],
    ['maxReplicas', atLeast(typeof min === 'number' ? min : 1)],
    ['scaleTargetRef', fields(REFERENCE)],
    ['metrics[]', metric],
  ], 'spec')
}

function metric(value: Json | undefined, path: string): readonly Cause[] {
  const type = str(value, 'type')
  const source = SOURCES[type]
  if (!source) {
    return [...required()(type, `${path}.type`, {}), fault.notSupported(`${path}.type`, type, Object.keys(SOURCES))]
  }
  const { field, names, targets } = source
  const place = `${path}.${field}`
  const stated = at(value, field)
  if (!isObject(stated)) return [fault.required(place)]
  const target = objectAt(stated, 'target')
  return [
    ...checked(stated, names.map((each) => [each, required()]), place),
    ...checked(target, TARGET, `${place}.target`),
    ...(targets.some((each) => target[each] !== undefined) ? [] : [fault.required(`${place}.target.${targets[0]}`)]),
  ]
}
