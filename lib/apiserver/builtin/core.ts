/** The rules of the core group. */
import { encodeBase64 } from '../../core/base64.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject } from '../json.ts'
import { jsonEqual } from '../../core/equal.ts'
import type { Rules } from '../kinds.ts'
import { qualifiedNameProblems } from '../storage/names.ts'
import { immutable } from '../storage/objects.ts'
import { type Cause, fault } from '../http/status.ts'
import { podSpecDefaults, podSpecFaults, requestDefaults } from './pod_spec.ts'
import { SERVICE_RULES } from './services.ts'

export const CORE_RULES: Readonly<Record<string, Partial<Rules>>> = {
  namespaces: {
    nameRule: 'label',
    defaults(namespace) {
      const { name } = namespace.metadata
      if (name) namespace.metadata.labels = { ...namespace.metadata.labels, 'kubernetes.io/metadata.name': name }
      namespace['status'] ??= {}
    },
    prepareCreate(namespace) {
      const spec = isObject(namespace['spec']) ? namespace['spec'] : {}
      const finalizers = Array.isArray(spec['finalizers']) ? spec['finalizers'] : []
      namespace['spec'] = {
        ...spec,
        finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'],
      }
      namespace['status'] = { phase: 'Active' }
    },
    prepareUpdate(namespace, old) {
      // Only /finalize changes the finalizers of the spec.
      const spec = isObject(namespace['spec']) ? namespace['spec'] : {}
      namespace['spec'] = { ...spec, finalizers: clone(at(old, 'spec', 'finalizers') ?? []) }
    },
    beginDelete(namespace, nowIso) {
      namespace.metadata.deletionTimestamp = nowIso
      namespace['status'] = { phase: 'Terminating' }
    },
    fields: (namespace) => ({ 'status.phase': String(at(namespace, 'status', 'phase') ?? '') }),
  },
  configmaps: { validate: configMapFaults },
  secrets: {
    defaults(secret) {
      secret['type'] ??= 'Opaque'
    },
    prepareCreate: mergeStringData,
    prepareUpdate: mergeStringData,
    validate: secretFaults,
    fields: (secret) => ({ type: String(secret['type'] ?? '') }),
  },
  serviceaccounts: {},
  resourcequotas: {
    validate: (quota) => quotaFaults(quota, 'spec', 'hard'),
    validateStatus: (quota) => [...quotaFaults(quota, 'status', 'hard'), ...quotaFaults(quota, 'status', 'used')],
  },
  services: SERVICE_RULES,
  pods: {
    generation: true,
    defaults(pod) {
      const { spec } = pod
      if (!isObject(spec)) return
      podSpecDefaults(spec)
      requestDefaults(spec)
      spec['enableServiceLinks'] ??= true
    },
    prepareCreate(pod) {
      pod['status'] = { phase: 'Pending', qosClass: qosClass(pod) }
    },
    validate(pod, old) {
      const faults = podSpecFaults((pod['spec'] ?? {}) as JsonObject, 'spec')
      return old ? [...faults, ...podChangeFaults(pod, old)] : faults
    },
    // A pod without a node is removed at once.
    gracePeriod: (pod, requested) => (at(pod, 'spec', 'nodeName')
      ? requested ?? Number(
        at(pod, 'spec', 'terminationGracePeriodSeconds') ?? 30,
      )
      : 0),
    fields: (pod) => ({
      'spec.nodeName': String(at(pod, 'spec', 'nodeName') ?? ''),
      'spec.restartPolicy': String(at(pod, 'spec', 'restartPolicy') ?? ''),
      'spec.schedulerName': String(at(pod, 'spec', 'schedulerName') ?? ''),
      'spec.serviceAccountName': String(
        at(pod, 'spec', 'serviceAccountName') ?? '',
      ),
      'spec.hostNetwork': String(at(pod, 'spec', 'hostNetwork') ?? false),
      'status.phase': String(at(pod, 'status', 'phase') ?? ''),
      'status.podIP': String(at(pod, 'status', 'podIP') ?? ''),
      'status.nominatedNodeName': String(
        at(pod, 'status', 'nominatedNodeName') ?? '',
      ),
    }),
  },
  nodes: { fields: (node) => ({ 'spec.unschedulable': String(at(node, 'spec', 'unschedulable') ?? false) }) },
  endpoints: { createOnUpdate: true },
  persistentvolumes: { prepareCreate: (volume) => void (volume['status'] = { phase: 'Pending' }) },
  persistentvolumeclaims: { prepareCreate: (claim) => void (claim['status'] = { phase: 'Pending' }) },
}

const KEY = /^[-._a-zA-Z0-9]+$/
const KEY_MESSAGE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', " +
  "regex used for validation is '[-._a-zA-Z0-9]+')"
const MAX_SECRET_BYTES = 1024 * 1024

function dataKeyFaults(data: Json | undefined, path: string): Cause[] {
  return Object.keys(isObject(data) ? data : {}).filter((key) => !KEY.test(key) || key.length > 253)
    .map((key) =>
      fault.invalid(`${path}[${key}]`, key, key.length > 253 ? 'must be no more than 253 characters' : KEY_MESSAGE)
    )
}

function configMapFaults(map: ApiObject, old: ApiObject | undefined): Cause[] {
  const faults = [...dataKeyFaults(map['data'], 'data'), ...dataKeyFaults(map['binaryData'], 'binaryData')]
  if (sizeOf(map['data']) + sizeOf(map['binaryData']) > MAX_SECRET_BYTES) {
    faults.push(fault.tooLong('', MAX_SECRET_BYTES))
  }
  if (old?.['immutable'] === true) faults.push(...immutableDataFaults(map, old, ['data', 'binaryData']))
  return faults
}

function immutableDataFaults(object: ApiObject, old: ApiObject, fields: readonly string[]): Cause[] {
  const faults = object['immutable'] === true
    ? []
    : [fault.forbidden('immutable', 'field is immutable when `immutable` is set')]
  for (const name of fields) {
    if (!jsonEqual(object[name], old[name])) {
      faults.push(fault.forbidden(name, 'field is immutable when `immutable` is set'))
    }
  }
  return faults
}

function sizeOf(data: Json | undefined): number {
  return Object.values(isObject(data) ? data : {}).reduce<number>((sum, value) => sum + String(value).length, 0)
}

/** Moves `stringData`, which is write-only, into `data`. */
function mergeStringData(secret: ApiObject): void {
  const texts = secret['stringData']
  if (!isObject(texts)) return
  const data: JsonObject = isObject(secret['data']) ? { ...secret['data'] } : {}
  for (const [key, value] of Object.entries(texts)) data[key] = encodeBase64(String(value))
  secret['data'] = data
  delete secret['stringData']
}

function secretFaults(secret: ApiObject, old: ApiObject | undefined): Cause[] {
  const faults = dataKeyFaults(secret['data'], 'data')
  if (old && secret['type'] !== old['type']) faults.push(immutable('type', secret['type']))
  if (old?.['immutable'] === true) faults.push(...immutableDataFaults(secret, old, ['data']))
  if (secret['type'] === 'kubernetes.io/tls') {
    for (const key of ['tls.crt', 'tls.key']) {
      if (at(secret, 'data', key) === undefined) faults.push(fault.required(`data[${key}]`))
    }
  }
  return faults
}

function qosClass(pod: ApiObject): string {
  const containers = (at(pod, 'spec', 'containers') ?? []) as JsonObject[]
  const resources = containers.map((container) => container['resources'])
  const limited = resources.every((each) =>
    at(each, 'limits', 'cpu') !== undefined && at(each, 'limits', 'memory') !== undefined &&
    jsonEqual(at(each, 'limits', 'cpu'), at(each, 'requests', 'cpu') ?? at(each, 'limits', 'cpu')) &&
    jsonEqual(at(each, 'limits', 'memory'), at(each, 'requests', 'memory') ?? at(each, 'limits', 'memory'))
  )
  if (limited && containers.length > 0) return 'Guaranteed'
  const any = resources.some((each) => isObject(at(each, 'requests')) || isObject(at(each, 'limits')))
  return any ? 'Burstable' : 'BestEffort'
}

/** Returns a fault if an update changes an immutable field of a pod's spec. */
function podChangeFaults(pod: ApiObject, old: ApiObject): Cause[] {
  const rest = (object: ApiObject): JsonObject => {
    const spec = clone((object['spec'] ?? {}) as JsonObject)
    for (
      const name of [
        'activeDeadlineSeconds',
        'terminationGracePeriodSeconds',
        'tolerations',
        'schedulingGates',
        'nodeSelector',
        'affinity',
      ]
    ) delete spec[name]
    for (const name of ['containers', 'initContainers']) {
      for (const container of (spec[name] ?? []) as JsonObject[]) delete container['image']
    }
    return spec
  }
  if (jsonEqual(rest(pod), rest(old))) return []
  return [
    fault.forbidden(
      'spec',
      'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,' +
        '`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` ' +
        '(allow it to be set to 1 if it was previously negative)',
    ),
  ]
}

/** Resources of quotas with integer amounts. */
const COUNTED_RESOURCES = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
]
const MEASURED_RESOURCES = ['cpu', 'memory', 'ephemeral-storage']

/** @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/helper/helpers.go standardQuotaResources */
const STANDARD_RESOURCES: ReadonlySet<string> = new Set([
  ...COUNTED_RESOURCES,
  ...MEASURED_RESOURCES,
  ...MEASURED_RESOURCES.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  'requests.storage',
])

/** Returns the faults of a ResourceQuota's resources and amounts. */
function quotaFaults(quota: ApiObject, ...path: readonly [string, string]): Cause[] {
  const amounts = at(quota, ...path)
  if (!isObject(amounts)) return []
  return Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, amount]) => {
    const place = `${path.join('.')}[${name}]`
    return [...quotaNameFaults(name, place), ...quotaValueFaults(name, String(amount), place)]
  })
}

function quotaNameFaults(name: string, path: string): Cause[] {
  const problems = qualifiedNameProblems(name)
  if (!name.includes('/') && !STANDARD_RESOURCES.has(name) && !/^(requests\.)?hugepages-/.test(name)) {
    // `storage` is a standard resource (of volumes), but not one for quota.
    if (problems.length === 0 && name !== 'storage') {
      problems.push('must be a standard resource type or fully qualified')
    }
    problems.push('must be a standard resource for quota')
  }
  return problems.map((problem) => fault.invalid(path, name, problem))
}

/** Returns the faults of an amount in canonical form. */
function quotaValueFaults(name: string, amount: string, path: string): Cause[] {
  const faults: Cause[] = []
  if (amount.startsWith('-')) faults.push(fault.invalid(path, amount, 'must be greater than or equal to 0'))
  const isWhole = !/[num]$|e-/.test(amount)
  if ((COUNTED_RESOURCES.includes(name) || isExtendedResource(name)) && !isWhole) {
    faults.push(fault.invalid(path, amount, 'must be an integer'))
  }
  return faults
}

/** Returns whether a resource is an extended one, such as `nvidia.com/gpu`: those have integer amounts. */
function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.')
}
