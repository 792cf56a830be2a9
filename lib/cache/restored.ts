/** Finds out whether the server was restored to an older state, such as etcd from a backup, which no watch reports. */
import { isNewerVersion, type KubeObject, type ObjectMeta } from '../core/objects.ts'
import { listPages, type ListPagesOptions } from './list_pages.ts'

export interface StoredObjects extends ListPagesOptions {
  readonly store: { values(): Iterable<KubeObject> }
}

/**
 * Returns whether the server's version is lower than `from`, or the server has the newest stored object no longer or at
 * a lower version: it may have passed `from` again. Its deletion looks the same, and is rare. One request answers both.
 * Resolves with false if it fails: the next watch reports that.
 */
export async function isRestored(options: StoredObjects, from: string, signal: AbortSignal): Promise<boolean> {
  const { fields, target } = options
  let newest: Partial<ObjectMeta> = {}
  for (const { metadata } of options.store.values()) {
    if (isNewerVersion(metadata.resourceVersion, newest.resourceVersion)) newest = metadata
  }
  // An empty name selects nothing: the version alone.
  const { name = '', namespace = target.namespace, resourceVersion } = newest
  const one = {
    ...options,
    target: { ...target, namespace },
    fields: `${fields ? `${fields},` : ''}metadata.name=${name}`,
  }
  return await listPages(one, signal).then((now) =>
    isNewerVersion(from, now.resourceVersion) ||
    isNewerVersion(resourceVersion, now.objects.values().next().value?.metadata.resourceVersion)
  ).catch(() => false)
}
