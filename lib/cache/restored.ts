/** Finds out whether the server was restored to an older state, such as etcd from a backup, which no watch reports. */
import { isNewerVersion, type KubeObject, type ObjectMeta } from '../core/objects.ts'
import { listPages, type ListPagesOptions } from './list_pages.ts'
import { isTooLarge } from './watch_state.ts'

export interface StoredObjects extends ListPagesOptions {
  readonly store: { values(): Iterable<KubeObject> }
}

/**
 * Returns whether the server has not reached the version `from`, or had another version of the newest stored object
 * there: it was restored, and has passed `from` again. Resolves with false if the request fails otherwise: the next
 * watch reports that.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
 */
export async function isRestored(
  options: StoredObjects,
  from: string,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const { target } = options
  let newest: Partial<ObjectMeta> = {}
  for (const { metadata } of options.store.values()) {
    if (isNewerVersion(metadata.resourceVersion, newest.resourceVersion)) newest = metadata
  }
  // An empty name selects nothing: the version alone.
  const { name = '', namespace = target.namespace, resourceVersion } = newest
  const one = {
    ...options,
    at: { resourceVersion: from, resourceVersionMatch: 'Exact' as const },
    target: { ...target, namespace },
    fields: `metadata.name=${name}`,
  }
  return await listPages(one, signal).then(
    ({ objects: [entry] }) => entry?.[1].metadata.resourceVersion !== resourceVersion,
    isTooLarge,
  )
}
