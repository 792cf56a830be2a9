/** The rules of nodes and their runtime classes. */
import { clone, isObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { unchanged } from '../../model/checks.ts'
import { selectable } from '../../model/selectors.ts'

export const NODE_RULES: Partial<Rules> = {
  keepsStatus: true,
  defaults(node) {
    const status = node['status']
    if (isObject(status) && isObject(status['capacity'])) status['allocatable'] ??= clone(status['capacity'])
  },
  fields: selectable('spec.unschedulable=false'),
}

export const RUNTIME_CLASS_RULES: Partial<Rules> = {
  createOnUpdate: true,
  unconditionalUpdate: false,
  validate: (runtimeClass, old) => unchanged(runtimeClass, old, 'handler'),
}
