/** The warnings of odd values in pods and their templates. */
import { nameProblems } from '../../model/names.ts'
import { type ApiObject, at, isObject, type JsonObject } from '../../model/json.ts'
import { list, str } from '../common/columns.ts'
import { amountOf } from '../common/resources.ts'

/** The kinds whose pods have their names. */
const NAMED = ['Deployment', 'ReplicaSet', 'ReplicationController', 'Job', 'CronJob']

/** Returns the warnings of the name of a new object. */
export function nameWarnings({ kind, metadata }: ApiObject): string[] {
  const problems = kind === 'Pod' || NAMED.includes(kind) ? nameProblems(metadata.name!, 'label') : []
  const where = kind === 'Pod' ? "the Pod's hostname" : 'Pod names and hostnames'
  const start = `metadata.name: this is used in ${where}, which can result in surprising behavior; a DNS label is`
  return problems.length > 0 ? [`${start} recommended: [${problems.join(' ')}]`] : []
}

const TERMS = ['podAffinity', 'podAntiAffinity'].flatMap((each) => [
  [`affinity.${each}.requiredDuringSchedulingIgnoredDuringExecution`, ''],
  [`affinity.${each}.preferredDuringSchedulingIgnoredDuringExecution`, 'podAffinityTerm'],
])

/** Returns the warnings of the spec of a pod at a path, in the order of the real server. */
export function podWarnings(spec: JsonObject, path: string): string[] {
  const containers = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((field) =>
    list(spec, field).map((container, index) => [`${path}.${field}[${index}]`, container] as const)
  )
  const isNegative = Number(spec['terminationGracePeriodSeconds']) < 0
  return [
    ...selectorWarnings(spec, path, 'topologySpreadConstraints', ''),
    ...repeated(spec, path, 'hostAliases', 'ip'),
    ...repeated(spec, path, 'imagePullSecrets', 'name'),
    ...list(spec, 'imagePullSecrets').flatMap(({ name }, index) =>
      name ? [] : [`${path}.imagePullSecrets[${index}].name: invalid empty name ""`]
    ),
    ...fractions({ overhead: spec['overhead'] }, path, ['overhead']),
    ...containers.flatMap(([place, container]) => [
      ...fractions(container['resources'] as JsonObject, `${place}.resources`, ['limits', 'requests']),
      ...hiddenVariables(container, place),
    ]),
    ...portWarnings(containers),
    ...(isNegative
      ? [`${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
    ...TERMS.flatMap(([field, inner]) => selectorWarnings(spec, path, field!, inner!)),
  ]
}

function selectorWarnings(spec: JsonObject, path: string, field: string, inner: string): string[] {
  return list(spec, ...field.split('.')).flatMap((term, index) => {
    const place = `${path}.${field}[${index}]${inner && `.${inner}`}.labelSelector`
    const isMissing = !isObject(at(term, ...(inner ? [inner] : []), 'labelSelector'))
    return isMissing ? [`${place}: a null labelSelector results in matching no pod`] : []
  })
}

function repeated(spec: JsonObject, path: string, field: string, key: string): string[] {
  const all = list(spec, field).map((each) => str(each, key))
  return all.flatMap((each, index) =>
    all.indexOf(each) < index ? [`${path}.${field}[${index}].${key}: duplicate ${key} ${JSON.stringify(each)}`] : []
  )
}

function fractions(holder: JsonObject | undefined, path: string, fields: readonly string[]): string[] {
  return ['memory', 'ephemeral-storage'].flatMap((resource) =>
    fields.flatMap((field) => {
      const amount = at(holder, field, resource)
      if (amount === undefined || Number.isInteger(amountOf(amount))) return []
      return [`${path}.${field}[${resource}]: fractional byte value "${amount}" is invalid, must be an integer`]
    })
  )
}

/** A variable that is defined again must refer to its former value. */
function hiddenVariables(container: JsonObject, path: string): string[] {
  const seen = new Set<string>()
  return list(container, 'env').flatMap((variable, index) => {
    const [name, value] = [str(variable, 'name'), str(variable, 'value')]
    const [isKnown, own] = [seen.has(name), `$(${name})`]
    seen.add(name)
    if (!isKnown || (!isObject(variable['valueFrom']) && value !== own && value.includes(own))) return []
    const what = `hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`
    return [`${path}.env[${index}]: ${what}`]
  })
}

function portWarnings(containers: readonly (readonly [path: string, container: JsonObject])[]): string[] {
  const ports = containers.flatMap(([path, container]) =>
    list(container, 'ports').map((port, index) => [`${path}.ports[${index}]`, port] as const)
  )
  const [numbers, names] = [new Map<string, [string, JsonObject][]>(), new Map<string, string>()]
  const overlaps = ports.flatMap(([path, port]) => {
    const key = `${String(port['containerPort'])}/${str(port, 'protocol')}`
    const others = numbers.get(key) ?? []
    numbers.set(key, [...others, [path, port]])
    return others.flatMap(([place, other]) => {
      const [isSamePort, ip, otherIp] = [
        port['hostPort'] === other['hostPort'],
        str(port, 'hostIP'),
        str(other, 'hostIP'),
      ]
      const how = isSamePort && ip === otherIp
        ? 'duplicate'
        : !port['hostPort'] || !other['hostPort']
        ? 'overlapping'
        : isSamePort && !ip !== !otherIp
        ? 'dangerously ambiguous'
        : ''
      return how ? [`${path}: ${how} port definition with ${place}`] : []
    })
  })
  const repeated = ports.flatMap(([path, port]) => {
    const name = str(port, 'name')
    const other = names.get(name)
    if (name && other === undefined) names.set(name, path)
    if (!name || other === undefined) return []
    const detail = `services and probes that select ports by name will use ${other}`
    return [`${path}: duplicate port name ${JSON.stringify(name)} with ${other}, ${detail}`]
  })
  return [...overlaps, ...repeated]
}
