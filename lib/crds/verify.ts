/** Verifies at a start that a cluster has the definitions of an operator. */
import { firstOf, isReason, messageOf } from '../core/errors.ts'
import type { AnyResource, CustomResourceConversion } from '../core/resource.ts'
import { crdDifferences } from '../schema/crd_differences.ts'
import { crdOf } from '../schema/crds.ts'
import { refuseDifferentVersions } from './checks.ts'
import { wantedConversion } from './conversion.ts'
import { type Crd, type Dependencies, find, MAX_NAMED, titleOf, treatEarlier } from './definition.ts'

/**
 * Throws if a CRD is missing or lacks something of ours. Of a conversion, only the strategy is compared: the address of
 * the webhook may be another. Without the right to read CRDs, logs a warning instead.
 */
export async function verifyCrds(
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  const work = { ...dependencies, resources, signal }
  const { api, log, conversions, serviceNamespace } = work
  const conversion = { strategy: 'Webhook' } as CustomResourceConversion
  // The command prints the webhook configurations, too.
  const command = `kubeloop crd FILE${serviceNamespace === undefined ? '' : ` --namespace ${serviceNamespace}`}`
  const remedy = `install it: \`${command} | kubectl apply -f -\` (crds: 'install' does that at start)`
  for (const crd of crdOf(resources, { conversions, conversion })) {
    const { name } = crd.metadata
    let found: Crd | undefined
    try {
      found = await find(api, name, signal)
    } catch (error) {
      if (!isReason(error, 'Forbidden')) throw error
      log.warn(`Cannot verify ${titleOf(crd)}: ${messageOf(error)}; starting anyway`)
      continue
    }
    if (!found) throw new Error(`Cannot start: ${titleOf(crd)} is not installed in this cluster; ${remedy}`)
    if (!crd.spec.conversion) {
      refuseDifferentVersions(crd, found.spec.conversion?.strategy)
      if (wantedConversion(crd, found, dependencies)) {
        const stored = found.spec.versions.find(({ storage }) => storage)!.name
        // A rollout would end the replicas that convert.
        if (!crd.spec.versions.some(({ name }) => name === stored)) {
          throw new Error(
            `Cannot start: ${titleOf(crd)} stores ${stored}, which this operator does not define, and calls it to ` +
              'convert: run a release that converts',
          )
        }
        const patch = '[{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]'
        log.error(
          `${titleOf(crd)} has the conversion of an earlier release, and the operator has none, so reads and writes ` +
            `can fail; remove it: kubectl patch crd ${name} --type json -p '${patch}'`,
        )
      }
    }
    const differences = crdDifferences(crd, found)
    if (differences.length === 0) continue
    const what = firstOf(differences, MAX_NAMED).join('; ')
    throw new Error(`Cannot start: ${titleOf(crd)} in this cluster does not fit this operator: ${what}; ${remedy}`)
  }
  await treatEarlier(false, work)
}
