/** Validation of a pod's spec, in pods and in pod templates. */
import { type Cause, fault } from '../../model/status.ts'
import { isObject, type Json, type JsonObject } from '../../model/json.ts'
import { labelValueProblems } from '../../model/names.ts'
import {
  atLeast,
  between,
  type Check,
  checked,
  type Checks,
  fields,
  ifSet,
  ip,
  labels,
  name,
  oneOf,
  qualified,
  required,
} from '../common/checks.ts'
import { containersFaults } from './containers.ts'
import { volumesFaults } from './volumes.ts'

const MAX_INT = 2 ** 31 - 1

const noDots: Check = (value, path) =>
  String(value).includes('.') ? [fault.invalid(path, value, 'must not contain dots')] : []

/** A toleration of every value has no value, one of every key also compares none. */
const tolerationValue: Check = (value, path, { operator = '', key, effect = '', tolerationSeconds }) => {
  const place = (field: string): string => path.replace(/value$/, field)
  const isAny = operator === 'Exists'
  return [
    ...(key || isAny ? [] : [fault.invalid(place('operator'), operator, 'must be Exists when `key` is empty')]),
    ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
      ? [fault.invalid(place('effect'), effect, 'must be NoExecute when `tolerationSeconds` is set')]
      : []),
    ...(isAny && value ? [fault.invalid(place('operator'), value, 'must be empty when `operator` is Exists')] : []),
    ...(isAny ? [] : labelValueProblems(String(value ?? ''))).map((each) =>
      fault.invalid(place('operator'), value, each)
    ),
  ]
}

const nodeOperator: Check = (value, path) =>
  /^(?:In|NotIn|Exists|DoesNotExist|Gt|Lt)$/.test(String(value))
    ? []
    : [fault.invalid(path, value, 'not a valid selector operator')]

const AFTER_CONTAINERS: Checks = [
  ['dnsPolicy', oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None')],
  ['nodeSelector', labels],
  ['securityContext.fsGroup', between(0, MAX_INT)],
  ['securityContext.runAsUser', between(0, MAX_INT)],
  ['securityContext.runAsGroup', between(0, MAX_INT)],
  [
    'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms',
    required('must have at least one node selector term'),
  ],
  [
    'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchExpressions[].operator',
    nodeOperator,
  ],
  ...['podAffinity', 'podAntiAffinity'].map((each) =>
    [`affinity.${each}.requiredDuringSchedulingIgnoredDuringExecution[].topologyKey`, affinityTopology] as const
  ),
  ['serviceAccountName', ifSet(name('subdomain'))],
  ['nodeName', ifSet(name('subdomain'))],
  ['activeDeadlineSeconds', between(1, MAX_INT)],
  ['hostname', ifSet(noDots, name('label'))],
  ['subdomain', ifSet(noDots, name('label'))],
  [
    'tolerations[]',
    fields([
      ['key', ifSet(qualified)],
      ['value', tolerationValue],
      ['operator', ifSet(oneOf('Equal', 'Exists'))],
      ['effect', ifSet(oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute'))],
    ]),
  ],
  ['hostAliases[].ip', ip],
  [
    'topologySpreadConstraints[]',
    fields([
      ['maxSkew', atLeast(1, 'must be greater than zero')],
      ['topologyKey', required('can not be empty')],
      ['whenUnsatisfiable', oneOf('DoNotSchedule', 'ScheduleAnyway')],
    ]),
  ],
  ['readinessGates[].conditionType', qualified],
]

function affinityTopology(value: Json | undefined, path: string): readonly Cause[] {
  return [...(value ? [] : [fault.required(path, 'can not be empty')]), ...qualified(value ?? '', path, {})]
}

/** Returns the faults of a pod's spec at a path. `others`: volumes that come from elsewhere. */
export function podSpecFaults(
  spec: JsonObject,
  path: string,
  restartPolicies: readonly string[] = ['Always', 'OnFailure', 'Never'],
  others: readonly string[] = [],
): Cause[] {
  const volumes = volumesFaults(spec, path)
  const restartPolicy = spec['restartPolicy'] ?? 'Always'
  return [
    ...volumes.faults,
    ...containersFaults(spec, path, [...volumes.names, ...others]),
    ...oneOf(...restartPolicies)(restartPolicy, `${path}.restartPolicy`, spec),
    ...checked(spec, AFTER_CONTAINERS, path),
    ...dnsFaults(spec, path),
  ]
}

function dnsFaults(spec: JsonObject, path: string): Cause[] {
  if (spec['dnsPolicy'] !== 'None') return []
  if (!isObject(spec['dnsConfig'])) {
    return [fault.required(`${path}.dnsConfig`, 'must provide `dnsConfig` when `dnsPolicy` is None')]
  }
  const servers = spec['dnsConfig']['nameservers']
  const detail = 'must provide at least one DNS nameserver when `dnsPolicy` is None'
  return Array.isArray(servers) && servers.length > 0 ? [] : [
    fault.required(`${path}.dnsConfig.nameservers`, detail),
  ]
}
