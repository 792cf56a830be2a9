/** Refuses applies by which two controllers of an operator remove each other's fields. */
import { fileMissing, firstOf } from '../core/errors.ts'
import type { Api } from './api.ts'
import type { ApplyCache } from './apply_cache.ts'
import { isMissingObject } from './codec.ts'
import type { NamedTarget } from './target.ts'

/** The maximum number of fields in an error. */
const MAX_LOST = 5

interface SharedApply {
  readonly manager: string
  /** The controller that applies. */
  readonly writer: string
  readonly applied: ApplyCache
  readonly signal: AbortSignal | undefined
}

/** Throws if the apply would remove what another controller of this operator applied by the same field manager. */
export async function refuseSharing(
  api: Api,
  target: NamedTarget,
  wanted: object,
  { manager, writer, applied, signal }: SharedApply,
): Promise<void> {
  const shared = applied.sharedBy(target.resource, target, manager, writer, wanted)
  if (shared.others.length > 0) {
    const cannot = `Cannot apply ${api.describe(target)}`
    const current = await api.get(target, signal).catch((error: unknown) => {
      if (!isMissingObject(error)) throw error
    })
    const { lostFields } = await import('./shared_apply.ts').catch(fileMissing(cannot, 'shared_apply.js'))
    const lost = current ? lostFields(current, wanted, manager) : []
    if (lost.length > 0) {
      const others = shared.others.map((name) => `"${name}"`).join(', ')
      throw new Error(
        `${cannot} by controller "${writer}": it would remove ${
          firstOf(lost, MAX_LOST).join(', ')
        }, which controller ${others} applied by the same field manager "${manager}"; give one of these controllers ` +
          `another fieldManager: app.controllerFor(Kind, { fieldManager: '${manager}-${writer}' })`,
      )
    }
  }
  shared.judged()
}
