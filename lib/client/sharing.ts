/** Refuses applies by which controllers and tasks of an operator remove each other's fields. */
import { fileMissing } from '../core/errors.ts'
import type { Api } from './api.ts'
import type { ApplyCache } from './apply_cache.ts'
import type { NamedTarget } from './target.ts'

interface SharedApply {
  readonly manager: string
  /** The controller or task that applies. */
  readonly writer: string
  readonly applied: ApplyCache
  readonly signal: AbortSignal | undefined
}

/** Throws if the apply would remove what another controller or task applied by the same field manager. */
export async function refuseSharing(
  api: Api,
  target: NamedTarget,
  wanted: object,
  { manager, writer, applied, signal }: SharedApply,
): Promise<void> {
  const shared = applied.sharedBy(target.resource, target, manager, writer, wanted)
  if (shared.others.length > 0) {
    const action = `apply ${api.describe(target)}`
    const { refuseLoss } = await import('./shared_apply.ts').catch(fileMissing(action, 'shared_apply.js'))
    await refuseLoss(() => api.get(target, signal), wanted, { action, manager, writer, others: shared.others })
  }
  shared.judged()
}
