/** Keeps the claims of a StatefulSet: their owners say with what the garbage collector deletes them. */
import { type Client, type KubeObject, owners } from 'kubeloop'
import { PersistentVolumeClaim, type V1Pod, type V1StatefulSet, type V1Volume } from 'kubeloop/kinds'
import type { Ownable } from '../../core/owner_references.ts'
import { unlessGone } from './pod_changes.ts'

/** Returns the names of the claims of a pod by the names of their volumes. */
function claimsOf({ spec }: V1StatefulSet, pod: string) {
  return spec?.volumeClaimTemplates?.map((template) => {
    const { metadata: { name: volume = '' } = {} } = template
    return { volume, template, name: `${volume}-${pod}` }
  }) ?? []
}

/** Creates the missing claims of a new pod. Resolves with its volumes. */
export async function createClaims(client: Client, set: V1StatefulSet, pod: string): Promise<V1Volume[]> {
  const { namespace } = set.metadata
  const volumes: V1Volume[] = []
  for (const { volume, template: { metadata: { labels, annotations } = {}, spec = {} }, name } of claimsOf(set, pod)) {
    const draft: Ownable = { metadata: { namespace, name } }
    setOwner(draft, set, undefined)
    const { ownerReferences } = draft.metadata
    const metadata = { namespace, name, labels: { ...labels, ...set.spec?.selector.matchLabels }, annotations }
    await client.createIfMissing(PersistentVolumeClaim, {
      metadata: { ...metadata, ...(ownerReferences && { ownerReferences }) },
      spec,
    })
    volumes.push({ name: volume, persistentVolumeClaim: { claimName: name } })
  }
  return volumes
}

/** Sets the owners of the claims of a pod. `isSurplus`: the set is scaled down, and the pod is deleted. */
export async function keepClaims(client: Client, set: V1StatefulSet, pod: V1Pod, isSurplus: boolean): Promise<void> {
  const { namespace } = set.metadata
  for (const { name } of claimsOf(set, pod.metadata.name)) {
    const claim = await client.live.get(PersistentVolumeClaim, { namespace, name })
    if (!claim) continue
    const { ownerReferences = [], resourceVersion } = claim.metadata
    const others = ownerReferences.filter(({ uid }) => uid !== set.metadata.uid && uid !== pod.metadata.uid)
    const draft = { metadata: { namespace, name, ownerReferences: others } }
    if (!others.some(({ controller }) => controller)) setOwner(draft, set, isSurplus ? pod : undefined)
    const uidsOf = (all: readonly { readonly uid: string }[]): string => all.map(({ uid }) => uid).join()
    if (uidsOf(draft.metadata.ownerReferences) === uidsOf(ownerReferences)) continue
    const merge = { metadata: { ownerReferences: draft.metadata.ownerReferences } }
    const write = client.patch(PersistentVolumeClaim, claim, { merge }, { resourceVersion })
    await unlessGone(write)
  }
}

/** Sets the owner with which a claim is deleted, if any. `surplus`: the pod of the claim, if the set is scaled down. */
function setOwner(draft: Ownable, set: V1StatefulSet, surplus: KubeObject | undefined): void {
  const { whenDeleted, whenScaled } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {}
  if (surplus && whenScaled === 'Delete') owners.setController(draft, surplus)
  else if (whenDeleted === 'Delete') owners.setController(draft, set)
}
