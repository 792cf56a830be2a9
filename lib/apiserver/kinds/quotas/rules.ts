/** The rules of ResourceQuotas and LimitRanges. */
import { type JsonObject, list, objectAt } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { unchanged } from '../../model/checks.ts'
import { limitRangeFaults, quotaFaults } from './checks.ts'

export const QUOTA_RULES: Partial<Rules> = {
  validate: (quota, old) => [...quotaFaults(quota, 'spec', 'hard'), ...unchanged(quota, old, 'spec.scopes')],
  validateStatus: (quota) => [...quotaFaults(quota, 'status', 'hard'), ...quotaFaults(quota, 'status', 'used')],
}

export const LIMIT_RANGE_RULES: Partial<Rules> = {
  createOnUpdate: true,
  validate: limitRangeFaults,
  defaults(range) {
    for (const item of list(range, 'spec', 'limits')) if (item['type'] === 'Container') limitDefaults(item)
  },
}

/** The default limit of a container is the maximum; its default request is the default limit, then the minimum. */
function limitDefaults(item: JsonObject): void {
  const limit = { ...objectAt(item, 'max'), ...objectAt(item, 'default') }
  const requests = { ...objectAt(item, 'min'), ...limit, ...objectAt(item, 'defaultRequest') }
  if (Object.keys(limit).length > 0) item['default'] = limit
  if (Object.keys(requests).length > 0) item['defaultRequest'] = requests
}
