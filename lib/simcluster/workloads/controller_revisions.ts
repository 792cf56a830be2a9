/** The history of templates of StatefulSets and DaemonSets: ControllerRevisions. */
import { type Client, defineIndex, type Index } from 'kubeloop'
import {
  ControllerRevision,
  type V1ControllerRevision,
  type V1DaemonSet,
  type V1PodTemplateSpec,
  type V1StatefulSet,
} from 'kubeloop/kinds'
import { jsonEqual } from '../../core/equal.ts'
import { fnv1a } from '../../core/fnv.ts'
import { byOwner, claim, orphansOf } from './owned.ts'

const revisionsByOwner: Index<V1ControllerRevision> = defineIndex(ControllerRevision, byOwner)

/**
 * Resolves with the revision of the present template, and all, the newest first. Creates it, or makes an older one the
 * newest. `label`: the label with its hash.
 */
export async function revise(
  client: Client,
  owner: V1StatefulSet | V1DaemonSet,
  label: string,
): Promise<{ readonly update: V1ControllerRevision; readonly all: readonly V1ControllerRevision[] }> {
  const { metadata, spec } = owner
  const { namespace, name, annotations } = metadata
  const claimed = await claim(client, revisionsByOwner, owner)
  // Those that its deletion orphans are not made again.
  const orphans = metadata.deletionTimestamp ? await orphansOf(client, revisionsByOwner, owner) : []
  const known = [...claimed, ...orphans].toSorted((a, b) => b.revision - a.revision)
  const data = { spec: { template: { ...spec?.template, $patch: 'replace' } } }
  const same = known.find((each) => jsonEqual(each.data, data))
  if (same && same === known[0]) return { update: same, all: known }
  const revision = (known[0]?.revision ?? 0) + 1
  if (same) {
    const update = await client.patch(ControllerRevision, same, { merge: { revision } })
    return { update, all: [update, ...known.filter((each) => each !== same)] }
  }
  const hash = hashText(JSON.stringify(data))
  const labels = { ...spec?.template.metadata?.labels, [label]: hash }
  const own = { namespace, name: `${name.slice(0, 223)}-${hash}`, labels, annotations }
  const { object } = await client.createIfMissing(ControllerRevision, { metadata: own, data, revision }, { owner })
  return { update: object, all: [object, ...known] }
}

export function templateOf({ data }: V1ControllerRevision): V1PodTemplateSpec {
  const { spec } = data as { readonly spec: { readonly template: V1PodTemplateSpec & { readonly $patch?: string } } }
  const { $patch: _patch, ...template } = spec.template
  return template
}

/** Deletes the oldest revisions beyond the limit that are not in use. */
export async function truncate(
  client: Client,
  all: readonly V1ControllerRevision[],
  isUsed: (revision: V1ControllerRevision) => boolean,
  limit = 10,
): Promise<void> {
  for (const { metadata } of all.filter((each) => !isUsed(each)).slice(limit)) {
    await client.delete(ControllerRevision, { metadata }, { uid: metadata.uid })
  }
}

const LETTERS = 'bcdfghjklmnpqrstvwxz2456789'

/** Returns a hash of 32 bits that is neither a word nor a number. */
export function hashText(text: string): string {
  return [...String(fnv1a(text) >>> 0)].map((digit) => LETTERS[digit.charCodeAt(0) % LETTERS.length]).join('')
}
