/** Validation of a pod's spec, in pods and in pod templates. */
import { containersFaults } from './containers.ts'
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
  must,
  name,
  oneOf,
  qualified,
  required,
  without,
} from '../../model/checks.ts'
import type { JsonObject } from '../../model/json.ts'
import { labelValueProblems } from '../../model/names.ts'
import { type Cause, fault } from '../../model/status.ts'
import { volumesFaults } from './volumes.ts'

const MAX_INT = 2 ** 31 - 1

const label: Check = ifSet(must((value) => !String(value).includes('.'), 'must not contain dots'), name('label'))

/** A toleration of every value has no value, one of every key also compares none. */
const toleration: Check = (value, path, { operator = '', key, effect = '', tolerationSeconds }) => {
  const place = (field: string): string => path.replace(/value$/, field)
  const isAny = operator === 'Exists'
  return [
    ...(key || isAny ? [] : [fault.invalid(place('operator'), operator, 'must be Exists when `key` is empty')]),
    ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
      ? [fault.invalid(place('effect'), effect, 'must be NoExecute when `tolerationSeconds` is set')]
      : []),
    ...(isAny && value ? [fault.invalid(place('operator'), value, 'must be empty when `operator` is Exists')] : []),
    ...(isAny ? [] : without(labelValueProblems)(value, place('operator'), {})),
  ]
}

const nodeOperator: Check = must(
  (value) => /^(?:In|NotIn|Exists|DoesNotExist|Gt|Lt)$/.test(String(value)),
  'not a valid selector operator',
)

const topologyKey: Check = (value, path, parent) => [
  ...required('can not be empty')(value, path, parent),
  ...qualified(value ?? '', path, parent),
]

const TERMS = 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'

const AFTER_CONTAINERS: Checks = [
  ['dnsPolicy', oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None')],
  ['nodeSelector', labels],
  ['securityContext.fsGroup', between(0, MAX_INT)],
  ['securityContext.runAsUser', between(0, MAX_INT)],
  ['securityContext.runAsGroup', between(0, MAX_INT)],
  [TERMS, required('must have at least one node selector term')],
  [`${TERMS}[].matchExpressions[].operator`, nodeOperator],
  ['affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].topologyKey', topologyKey],
  ['affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].topologyKey', topologyKey],
  ['serviceAccountName', ifSet(name('subdomain'))],
  ['nodeName', ifSet(name('subdomain'))],
  ['activeDeadlineSeconds', between(1, MAX_INT)],
  ['hostname', label],
  ['subdomain', label],
  [
    'tolerations[]',
    fields([
      ['key', ifSet(qualified)],
      ['value', toleration],
      ['operator', ifSet(oneOf('Equal', 'Exists'))],
      ['effect', ifSet(oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute'))],
    ]),
  ],
  ['hostAliases[].ip', ip],
  [
    'topologySpreadConstraints[]',
    fields([
      ['maxSkew', atLeast(1)],
      ['topologyKey', required('can not be empty')],
      ['whenUnsatisfiable', oneOf('DoNotSchedule', 'ScheduleAnyway')],
    ]),
  ],
  ['readinessGates[].conditionType', qualified],
]

/** Returns the faults of a pod's spec at a path. `others`: volumes that come from elsewhere. */
export function podSpecFaults(
  spec: JsonObject,
  path: string,
  restartPolicies: readonly string[] = ['Always', 'OnFailure', 'Never'],
  others: readonly string[] = [],
): Cause[] {
  const volumes = volumesFaults(spec, path)
  return [
    ...volumes.faults,
    ...containersFaults(spec, path, [...volumes.names, ...others]),
    ...oneOf(...restartPolicies)(spec['restartPolicy'] ?? 'Always', `${path}.restartPolicy`, spec),
    ...checked(spec, AFTER_CONTAINERS, path),
    ...(spec['dnsPolicy'] === 'None'
      ? checked(spec, [['dnsConfig', required()], ['dnsConfig.nameservers', required()]], path)
      : []),
  ]
}
