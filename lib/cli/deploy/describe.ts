/** Describes an operator as the objects that run it in a cluster, with its definitions and webhooks. */
import { checkDescription } from '../../operator/checks.ts'
import { hasWebhooks, type OperatorDescription } from '../../operator/description.ts'
import { ownKinds } from '../../operator/used_kinds.ts'
import { crdOf } from '../../schema/crds.ts'
import { namespaceOf } from '../../rights/account.ts'
import { rulesOf } from '../../rights/rules.ts'
import { type Deployment, deploymentOf } from './objects.ts'
import type { DeployOptions } from './options.ts'

/**
 * Returns all objects of an operator, and hints. `url`: of its file, which the places in a record are relative to.
 *
 * @throws Error if the operator could not start, an option does not fit it, a name in it is invalid, or an API server
 * would refuse a definition.
 */
export async function describeDeployment(
  operator: OperatorDescription,
  options: DeployOptions,
  url: string,
): Promise<Deployment> {
  checkDescription(operator)
  const namespace = namespaceOf(operator, options)
  const webhooks = hasWebhooks(operator)
    ? (await import('../../operator/webhooks/describe.ts')).describeWebhooks(operator, namespace)
    : undefined
  const { conversion, configurations = [], target } = webhooks ?? {}
  const crds = crdOf(ownKinds(operator), { conversions: operator.conversions, conversion })
  if (crds.length > 0) await (await import('../crd/refused.ts')).throwIfRefused(crds)
  const { recordedRights, unrecordedNotes } = await import('../rights/answer.ts')
  const { record } = options
  const observed = record === undefined ? undefined : await recordedRights(operator, record, { namespace }, url)
  const definitions = { crds, configurations, target, rights: observed && rulesOf(observed.rights) }
  const { objects, notes } = deploymentOf(operator, definitions, { ...options, namespace })
  return { objects, notes: [...notes, ...(observed?.notes ?? unrecordedNotes(operator))] }
}
