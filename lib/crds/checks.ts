/** Refuses definitions that contradict themselves. */
import type { AnyResource, CustomResourceDefinition } from '../core/resource.ts'
import { changeText, schemaChanges } from '../schema/schema_changes.ts'
import { cannotInstall, type Crd, schemaOf } from './definition.ts'

/** Throws for a kind of another cluster with refinements: only the operator's own cluster calls its webhooks. */
export function refuseUnchecked(elsewhere: readonly AnyResource[]): void {
  const found = elsewhere.find(({ definition }) => definition?.hasRefinements)
  if (!found) return
  throw new TypeError(
    `Cannot start: nothing checks the refinements in the schema of ${found.kind} in another cluster, which does not ` +
      "call this operator's webhooks; define it there without them, or watch it with optional: true if another " +
      'operator there admits it',
  )
}

/** Throws if objects may be stored in a version that the operator does not use. */
export function refuseLostVersion(crd: CustomResourceDefinition, { status }: Crd): void {
  const ours = new Set(crd.spec.versions.map(({ name }) => name))
  const lost = status?.storedVersions?.find((name) => !ours.has(name))
  if (lost === undefined) return
  const remedy = 'name it in app.cache(Kind), or in app.convert(), until it is gone from status.storedVersions, ' +
    'or run the newer release'
  throw new Error(
    `${cannotInstall(crd)}: objects may be stored as ${lost}, which nothing in this operator uses; ${remedy}`,
  )
}

/**
 * Throws if versions differ and the server cannot convert: with strategy None it drops the fields that one of them
 * lacks.
 */
export function refuseDifferentVersions(
  { metadata, spec }: CustomResourceDefinition,
  strategy: string | undefined,
): void {
  const [first, ...others] = spec.versions
  if (strategy === 'Webhook') return
  for (const other of others) {
    const [change] = schemaChanges(schemaOf(first!), schemaOf(other))
    if (!change) continue
    throw new TypeError(
      `Cannot serve versions ${first!.name} and ${other.name} of "${metadata.name}": their schemas differ (in ` +
        `${other.name}, ${changeText(change)}), so the server would drop fields without a conversion; declare one ` +
        'with app.convert(), or give all versions one schema',
    )
  }
}
