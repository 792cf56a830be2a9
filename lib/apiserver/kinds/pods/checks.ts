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
  present,
  qualified,
  required,
} from '../common/checks.ts'
import { list, str } from '../common/columns.ts'
import { containersFaults } from './containers.ts'
import { volumesFaults } from './volumes.ts'

const MAX_INT = 2 ** 31 - 1

const noDots: Check = (value, path) =>
  String(value).includes('.') ? [fault.invalid(path, value, 'must not contain dots')] : []

/** A toleration of every value has no value, one of every key also compares none. */
const tolerationValue: Check = (value, path, parent) => {
  const at = path.replace(/value$/, 'operator')
  const { operator = '', key, effect = '', tolerationSeconds } = parent
  const isAny = operator === 'Exists'
  return [
    ...(key || isAny ? [] : [
      fault.invalid(
        at,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    ]),
    ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
      ? [
        fault.invalid(
          path.replace(/value$/, 'effect'),
          effect,
          "effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
      ]
      : []),
    ...(isAny && value ? [fault.invalid(at, value, "value must be empty when `operator` is 'Exists'")] : []),
    ...(isAny ? [] : labelValueProblems(String(value ?? '')).map((problem) => fault.invalid(at, value, problem))),
  ]
}

/** Lt and Gt are behind a feature gate, but named. */
const tolerationOperator: Check = (value, path) =>
  ['', 'Equal', 'Exists'].includes(String(value ?? '')) ? [] : [fault.notSupported(
    path,
    value,
    value === 'Lt' || value === 'Gt' ? ['Equal', 'Exists', 'Lt', 'Gt'] : ['Equal', 'Exists'],
  )]

const AFTER_CONTAINERS: Checks = [
  ['dnsPolicy', oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None')],
  ['nodeSelector', labels],
  ['securityContext.fsGroup', between(0, MAX_INT)],
  ['securityContext.runAsUser', between(0, MAX_INT)],
  ['securityContext.runAsGroup', between(0, MAX_INT)],
  ['securityContext.sysctls[].name', required()],
  [
    'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms',
    required('must have at least one node selector term'),
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
      ['operator', tolerationOperator],
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
    ...gateFaults(spec, path),
    ...dnsFaults(spec, path),
    ...osFaults(spec, path),
  ]
}

function gateFaults(spec: JsonObject, path: string): Cause[] {
  const all = list(spec, 'schedulingGates').map((gate) => str(gate, 'name'))
  return all.flatMap((gate, index) =>
    all.indexOf(gate) < index ? [fault.duplicate(`${path}.schedulingGates[${index}]`, gate)] : qualified(
      gate,
      `${path}.schedulingGates[${index}]`,
      spec,
    )
  )
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

function osFaults(spec: JsonObject, path: string): Cause[] {
  const { os } = spec
  if (!isObject(os)) return []
  const system = str(os, 'name')
  if (!system) return [...present()(undefined, `${path}.os.name`, os)]
  return ['linux', 'windows'].includes(system) ? [] : [fault.notSupported(`${path}.os`, system, ['linux', 'windows'])]
}
