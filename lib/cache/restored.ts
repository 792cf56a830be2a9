/** Finds out whether the server was restored to an older state, such as etcd from a backup, which no watch reports. */
import { turnBudgetOf } from '../async/clock.ts'
import { isNewerVersion, type KubeObject, type ObjectMeta } from '../core/objects.ts'
import { named } from '../client/requests.ts'
import { listPages, type ListPagesOptions } from './list_pages.ts'
import { isTooLarge } from './watch_state.ts'

export interface StoredObjects extends ListPagesOptions {
  readonly store: { heads(): Iterable<Pick<KubeObject, 'metadata'>> }
  readonly control: {
    /** The last deletion that a watch has delivered, with its version. */
    deleted?: ObjectMeta
  }
}

/**
 * Returns whether the server has not reached the version `from`, or lacks the last known change there, of an object or
 * a deletion: it was restored, and has passed `from` again. Resolves with false if the request fails otherwise: the
 * next watch reports that.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
 */
export async function isRestored(
  options: StoredObjects,
  from: string,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const { target, fields, clock, control: { deleted } } = options
  const budget = turnBudgetOf(clock)
  let last = deleted
  for (const { metadata } of options.store.heads()) {
    if (isNewerVersion(metadata.resourceVersion, last?.resourceVersion)) last = metadata
    // Of a compact store, each is decoded.
    if (budget.isSpent) await budget.turn()
    if (signal.aborted) return
  }
  const one = {
    ...options,
    objects: undefined,
    at: { resourceVersion: from, resourceVersionMatch: 'Exact' as const },
    target: { ...target, namespace: last?.namespace ?? target.namespace },
    fields: [fields, last && named(last.name)].filter(Boolean).join(),
  }
  // Without a known change, there is no object at all.
  const expected = last === deleted ? undefined : last!.resourceVersion
  return await listPages(one, signal).then(
    ({ objects: [entry] }) => entry?.[1].metadata.resourceVersion !== expected,
    isTooLarge,
  )
}
