/** Describes what an operator wrote to mirrors of its clusters, with the reconciles that wrote it. */
import type { Transport } from 'kubeloop'
import type { ReconcileReport } from '../../controller/controller.ts'
import { formatKey } from '../../core/objects.ts'
import { changedLines, differenceOf } from '../../testing/mirror/difference.ts'
import { idOf, type Mirror, NAMESPACES, type Written } from '../../testing/mirror/mirror.ts'
import { dryRunOf, type Found, uncheckableBeside } from './dry_run.ts'
import type { DryRun, Plan, PlannedChange } from './result.ts'

type Writer = PlannedChange['by'][number]

export class Writers {
  readonly #all = new Map<string, Map<string, Writer>>()

  note({ controller, key, writes }: Pick<ReconcileReport, 'controller' | 'key' | 'writes'>): void {
    for (const write of writes) {
      if (write.result === 'unchanged') continue
      const id = idOfWrite(write.cluster ?? null, write.group, write.kind.split('/')[0]!, write.key)
      const found = this.#all.get(id) ?? this.#all.set(id, new Map()).get(id)!
      found.set(`${controller} ${key}`, { controller, key })
    }
  }

  of(
    cluster: string | null,
    { place, namespace, name }: Pick<Written, 'place' | 'namespace' | 'name'>,
    kind: string,
  ): readonly Writer[] {
    // A deletion of all selected objects has no names.
    const ids = [name, '*'].map((each) => idOfWrite(cluster, place.group, kind, formatKey({ namespace, name: each })))
    return [...new Map(ids.flatMap((id) => [...this.#all.get(id) ?? []])).values()]
  }
}

function idOfWrite(...parts: readonly (string | null)[]): string {
  return JSON.stringify(parts)
}

const AT_ONCE = 16

/** `send` returns a connection for dry runs; without it there is no cluster to ask. */
export async function plannedChanges(
  mirrors: ReadonlyMap<string | null, Pick<Mirror, 'written' | 'loaded'>>,
  writers: Writers,
  { manager, send }: { readonly manager: string; readonly send?: (cluster: string | null) => Transport },
): Promise<Pick<Plan, 'changes'> & { readonly counts: Pick<Plan['counts'], 'dryRuns' | 'events' | 'unchanged'> }> {
  const counts = { dryRuns: 0, events: 0, unchanged: 0 }
  const changes: PlannedChange[] = []
  for (const [cluster, mirror] of mirrors) {
    const found: Found[] = []
    for (const written of await mirror.written()) {
      const difference = differenceOf(written)
      if (COUNTED.test(idOf(written.place))) counts.events++
      else if (difference) found.push({ written, difference })
      else if (written.before) counts.unchanged++
    }
    const dependentsOf = dependentsAmong(mirror, found)
    const connection = send?.(cluster)
    const uncheckable = uncheckableBeside(found)
    const results: PlannedChange[] = []
    const left = found.entries()
    const work = async (): Promise<void> => {
      for (const [at, each] of left) {
        const { written: { namespace, name, before }, difference } = each
        const { apiVersion, kind } = (difference.after ?? difference.before)!
        const why = connection ? uncheckable(each) : 'there is no cluster'
        if (why === undefined) counts.dryRuns++
        const dryRun: DryRun = why === undefined
          ? await dryRunOf(each, connection!, manager)
          : { outcome: 'unchecked', message: why }
        const { action, after } = difference
        const finalizers = action === 'delete' ? after?.metadata.finalizers : undefined
        const dependents = dependentsOf(before)
        const by = writers.of(cluster, each.written, kind)
        // Deleted by no reconcile, it is gone with its Namespace.
        const isContent = by.length === 0 && action === 'delete' && namespace !== ''
        const place = { place: NAMESPACES, namespace: '', name: namespace }
        results[at] = {
          ...(cluster !== null && { cluster }),
          ...{ action, apiVersion, kind, ...(namespace !== '' && { namespace }), name },
          by: isContent ? writers.of(cluster, place, 'Namespace') : by,
          diff: changedLines(difference.before, after),
          ...(finalizers && { finalizers }),
          ...(dependents.length > 0 && { dependents }),
          dryRun,
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    changes.push(...results)
  }
  return { changes, counts }
}

/** Events record what happens, and Leases who leads: they are no change, but counted. */
const COUNTED = /^(?:events\.(?:events\.k8s\.io)?|leases\.coordination\.k8s\.io)$/

/** Returns a function to the objects that the garbage collector would delete with a deleted one, and with those. */
function dependentsAmong(
  mirror: Pick<Mirror, 'loaded'>,
  found: readonly Found[],
): (before: Written['before']) => readonly string[] {
  const deleted = found.filter(({ difference: { action } }) => action === 'delete' || action === 'replace')
  const uidOf = ({ written: { before } }: Found): unknown => before!.metadata.uid
  // Of an owner that was deleted with `propagation: 'Orphan'` they stay, without it.
  const isOrphaning = ({ difference: { after } }: Found): boolean => !!after?.metadata.finalizers?.includes('orphan')
  const orphaning = new Set(deleted.filter(isOrphaning).map(uidOf))
  /** Of each deleted object, the one that was written. */
  const gone = new Map(deleted.map(uidOf).filter((uid) => !orphaning.has(uid)).map((uid) => [uid, uid]))
  const dependents = new Map<unknown, string[]>()
  let left = gone.size === 0 ? [] : [...mirror.loaded()]
  for (let before = Infinity; left.length < before;) {
    before = left.length
    left = left.filter(({ object }) => {
      const { uid, ownerReferences = [], namespace = '', name } = object.metadata
      const owners = ownerReferences.map((each) => each['uid'] as unknown).filter((each) => !orphaning.has(each))
      if (gone.has(uid)) return false
      if (owners.length === 0 || !owners.every((each) => gone.has(each))) return true
      const root = gone.get(owners.at(-1))
      gone.set(uid, root)
      dependents.set(root, [...dependents.get(root) ?? [], `${object.kind} ${formatKey({ namespace, name: name! })}`])
      return false
    })
  }
  return (before) => dependents.get(before?.metadata.uid) ?? []
}
