/** The rules of nodes and their runtime classes. */
import { jsonEqual } from '../../../core/equal.ts'
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, clone, isObject, type Json } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { checked, cidr, name, oneOf, qualified, required, unchanged } from '../common/checks.ts'
import { list } from '../common/columns.ts'
import { amountOf } from '../common/resources.ts'

export const NODE_RULES: Partial<Rules> = {
  keepsStatus: true,
  defaults(node) {
    const status = node['status']
    if (isObject(status) && isObject(status['capacity'])) status['allocatable'] ??= clone(status['capacity'])
  },
  validate: nodeFaults,
  fields: (node) => ({ 'spec.unschedulable': String(at(node, 'spec', 'unschedulable') ?? false) }),
}

export const RUNTIME_CLASS_RULES: Partial<Rules> = {
  createOnUpdate: true,
  unconditionalUpdate: false,
  validate: (runtimeClass, old) => [
    ...checked(runtimeClass, [['handler', required(), name('label')]]),
    ...overheadFaults(at(runtimeClass, 'overhead', 'podFixed')),
    ...unchanged(runtimeClass, old, 'handler'),
  ],
}

function overheadFaults(amounts: Json | undefined): Cause[] {
  return Object.entries(isObject(amounts) ? amounts : {}).filter(([, amount]) => amountOf(amount) < 0)
    .map(([each, amount]) => fault.invalid(`overhead.limits[${each}]`, amount, 'must be greater than or equal to 0'))
}

function nodeFaults(node: ApiObject, old: ApiObject | undefined): Cause[] {
  const taints = list(node, 'spec', 'taints')
  const faults = [
    ...taints.flatMap((taint, index) => {
      const path = `metadata.taints[${index}]`
      const isSame = (other: typeof taint): boolean =>
        other['key'] === taint['key'] && other['effect'] === taint['effect']
      const shown = {
        Key: taint['key'],
        Value: taint['value'] ?? '',
        Effect: taint['effect'],
        TimeAdded: taint['timeAdded'] ?? null,
      }
      const duplicate = fault.duplicate(path, shown)
      return [
        ...qualified(taint['key'] ?? '', `${path}.key`, taint),
        ...checked(taint, [['effect', required(), oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute')]], path),
        ...(taints.findIndex(isSame) < index
          ? [{ ...duplicate, message: `${duplicate.message}: taints must be unique by key and effect pair` }]
          : []),
      ]
    }),
    ...checked(node, [['spec.podCIDRs[]', cidr]]),
  ]
  if (!old) return faults
  const fixed = (field: string, path: string, label: string): void => {
    const before = at(old, 'spec', field)
    if (before === undefined || jsonEqual(before, at(node, 'spec', field))) return
    faults.push(fault.forbidden(path, `node updates may not change ${label} except from "" to valid`))
  }
  fixed('podCIDRs', 'spec.podCIDRs', 'podCIDR')
  fixed('providerID', 'spec.providerID', 'providerID')
  return faults
}
