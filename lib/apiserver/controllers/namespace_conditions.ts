/** The conditions of a deleted namespace, which name what is left in it. */
import { type ApiObject, isObject, type Json, type JsonObject } from '../model/json.ts'

/** The objects of one kind that are left in a namespace. */
export interface Remaining {
  readonly plural: string
  readonly group: string
  readonly objects: readonly ApiObject[]
}

/**
 * Returns the conditions as the namespace controller of kube-controller-manager writes them. A condition whose status
 * stays keeps its time.
 */
export function contentConditions(old: unknown, remaining: readonly Remaining[], nowIso: string): JsonObject[] {
  const counts = remaining.map(({ plural, group, objects }) =>
    `${plural}.${group} has ${objects.length} resource instances`
  )
  const finalizers = finalizerCounts(remaining).map(([name, count]) => `${name} in ${count} resource instances`)
  const resources = `Some resources are remaining: ${counts.sort().join(', ')}`
  const left = `Some content in the namespace has finalizers remaining: ${finalizers.sort().join(', ')}`
  return [
    ['NamespaceDeletionDiscoveryFailure', 'False', 'ResourcesDiscovered', 'All resources successfully discovered'],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      'False',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ],
    [
      'NamespaceDeletionContentFailure',
      'False',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ],
    ['NamespaceContentRemaining', 'True', 'SomeResourcesRemain', resources],
    finalizers.length > 0 ? ['NamespaceFinalizersRemaining', 'True', 'SomeFinalizersRemain', left] : [
      'NamespaceFinalizersRemaining',
      'False',
      'ContentHasNoFinalizers',
      'All content-preserving finalizers finished',
    ],
  ].map(([type, status, reason, message]) => ({
    type: type!,
    status: status!,
    lastTransitionTime: timeOf(old, type!, status!) ?? nowIso,
    reason: reason!,
    message: message!,
  }))
}

/** Returns the number of objects by finalizer. */
function finalizerCounts(remaining: readonly Remaining[]): (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const { objects } of remaining) {
    for (const { metadata } of objects) {
      for (const name of metadata.finalizers ?? []) counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  return [...counts]
}

/** Returns the time of a condition that has this status already. */
function timeOf(old: unknown, type: string, status: string): Json | undefined {
  const conditions: unknown[] = Array.isArray(old) ? old : []
  const condition = conditions.find((each) => isObject(each) && each['type'] === type && each['status'] === status)
  return isObject(condition) ? condition['lastTransitionTime'] : undefined
}
