/** Refuses owners that are in another cluster: the garbage collector would delete the object at once. */
import { isReason } from '../core/errors.ts'
import { formatKey, type KubeObject, type OwnerReference } from '../core/objects.ts'
import { type AnyResource, clusterSuffix } from '../core/resource.ts'
import type { OwnerCheck } from '../client/kube_client.ts'
import type { Cluster } from '../manager/cluster.ts'
import { informersOfKind } from './kind_informers.ts'

/** The part of an object that counts here. */
type Wanted = { readonly metadata?: Partial<KubeObject['metadata']> }

/**
 * Returns the check of the writes to `target()`. An owner is refused only if another cluster's cache has it, by kind,
 * name and uid, and neither the cache nor the server of the target has it too: two names may lead to one cluster.
 */
export function foreignOwners(target: () => Cluster, all: () => Iterable<Cluster>): OwnerCheck {
  return async (object, action, api, signal) => {
    const { metadata = {} } = object as Wanted
    // An object in deletion keeps its owners; its finalizers must go all the same.
    if (!metadata.ownerReferences || metadata.deletionTimestamp) return
    for (const owner of metadata.ownerReferences) {
      if (findIn(target(), owner, metadata.namespace)) continue
      for (const home of all()) {
        const found = findIn(home, owner, metadata.namespace)
        if (!found) continue
        try {
          if ((await api.get(found, signal)).metadata.uid === owner.uid) break
        } catch (error) {
          // Without the right to read the owner there, its uid in another cluster decides.
          if (!isReason(error, 'NotFound') && !isReason(error, 'Forbidden')) throw error
        }
        const place = clusterSuffix(home.api) || " in the operator's own cluster"
        throw new TypeError(
          `Cannot ${action()}: its owner ${owner.kind} "${formatKey(found)}" is${place}, so the garbage collector of ` +
            'the cluster of the write would delete it at once; write it without that owner, and delete it in finalize(…)',
        )
      }
    }
  }
}

interface Found {
  readonly resource: AnyResource
  readonly namespace: string | undefined
  readonly name: string
}

/** Returns an owner that the cache of a cluster has. */
function findIn({ cache }: Cluster, owner: OwnerReference, namespace: string | undefined): Found | undefined {
  for (const { resource, reader } of informersOfKind(cache, owner, namespace)) {
    const found = { resource, namespace: resource.scope === 'Cluster' ? undefined : namespace, name: owner.name }
    if (reader.get(formatKey(found))?.metadata.uid === owner.uid) return found
  }
  return undefined
}
