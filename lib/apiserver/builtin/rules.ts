/** What is particular to built-in kinds, by `plural.group`: defaults, fields the server decides, what may not change. */
import { APPS_RULES } from './apps.ts'
import { BATCH_RULES } from './batch.ts'
import { CORE_RULES } from './core.ts'
import { EVENT_RULES } from './events.ts'
import { LEASE_RULES } from './leases.ts'
import { OTHER_RULES } from './others.ts'
import { CRD_RULES } from '../crd/rules.ts'
import type { Rules } from '../kinds.ts'

export const BUILTIN_RULES: Readonly<Record<string, Partial<Rules>>> = {
  ...CORE_RULES,
  ...APPS_RULES,
  ...BATCH_RULES,
  ...EVENT_RULES,
  ...LEASE_RULES,
  ...OTHER_RULES,
  ...CRD_RULES,
}
