/** Deletes or reports the webhook configurations of an earlier release of an operator that has no webhooks any more. */
import { LeadershipLost, messageOf } from '../../core/errors.ts'
import type { KubeObject } from '../../core/objects.ts'
import type { AnyResource } from '../../core/resource.ts'
import type { Log } from '../../observe/log.ts'
import type { Api } from '../../client/api.ts'
import { isMissingObject } from '../../client/codec.ts'
import { type Called, isOwnConfiguration, ownConfigurations } from '../common/ownership.ts'

export interface LeftoverDependencies {
  readonly api: Api
  readonly log: Log
  readonly operator: string
  /** The namespace of the operator's Services. Undefined where it has none. */
  readonly namespace?: string | undefined
}

/** Returns an object, or undefined if there is none. */
export async function findObject(
  api: Api,
  target: { readonly resource: AnyResource; readonly name: string },
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await api.get(target, signal)
  } catch (error) {
    if (isMissingObject(error)) return undefined
    throw error
  }
}

/** Deletes the operator's configurations, or logs an error about each. A failure is logged. */
export async function treatLeftovers(
  deletes: boolean,
  dependencies: LeftoverDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { api, log, operator, namespace } = dependencies
  for (const [resource, name] of ownConfigurations(operator)) {
    try {
      const found = await findObject(api, { resource, name }, signal)
      if (!found || !isOwnConfiguration(found, operator, namespace)) continue
      if (deletes) await deleteLeftover(resource, found, dependencies, signal)
      else log.error(leftoverText(resource, name))
    } catch (error) {
      if (signal.aborted || error instanceof LeadershipLost) throw error
      log.warn(`Cannot find webhook configurations of an earlier release: ${messageOf(error)}; starting anyway`)
    }
  }
}

/** Deletes a configuration, unless it has changed since it was read. */
export async function deleteLeftover(
  resource: AnyResource,
  { metadata: { name, resourceVersion } }: Called,
  { api, log }: LeftoverDependencies,
  signal: AbortSignal,
): Promise<void> {
  await api.delete({ resource, name }, { resourceVersion }, signal)
  log.info(`Deleted ${resource.kind} "${name}": the operator has no such webhooks`)
}

export function leftoverText({ kind, plural }: AnyResource, name: string): string {
  return `${kind} "${name}" is of an earlier release, and the operator has no such webhooks, so requests that it matches ` +
    `can fail: delete it by \`kubectl delete ${plural} ${name}\``
}
