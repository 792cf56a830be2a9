/** The rules of nodes and their runtime classes. */
import { at, clone, isObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { checked, name, oneOf, required, unchanged } from '../common/checks.ts'

export const NODE_RULES: Partial<Rules> = {
  keepsStatus: true,
  defaults(node) {
    const status = node['status']
    if (isObject(status) && isObject(status['capacity'])) status['allocatable'] ??= clone(status['capacity'])
  },
  // The real server's path has `metadata` instead of `spec`.
  validate: ({ spec }) =>
    isObject(spec)
      ? checked(
        spec,
        [['taints[].effect', required(), oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute')]],
        'metadata',
      )
      : [],
  fields: (node) => ({ 'spec.unschedulable': String(at(node, 'spec', 'unschedulable') ?? false) }),
}

export const RUNTIME_CLASS_RULES: Partial<Rules> = {
  createOnUpdate: true,
  unconditionalUpdate: false,
  validate: (runtimeClass, old) => [
    ...checked(runtimeClass, [['handler', required(), name('label')]]),
    ...unchanged(runtimeClass, old, 'handler'),
  ],
}
