/** Runs the operator of a world as a ServiceAccount. */
import { type Cluster, isReason, type KubeObject, type Transport } from 'kubeloop'
import type { OperatorDescription } from '../../operator/description/description.ts'
import { isAccount } from '../../rights/account.ts'
import { accountOf, tokenOf, type TrialAccount } from '../../rights/trial.ts'
import { optionalEnv } from '../../runtime/os/env.ts'
import type { ConversionDescription } from '../../schema/conversions.ts'
import { createObjects } from './initial_objects.ts'
import { lineWriter, RIGHTS, type RightsRecorder, rightsRecorder } from '../rights_recorder.ts'

/** @throws TypeError if `as` is not an account. */
export function trialOf(description: OperatorDescription, as: string | undefined): TrialAccount | undefined {
  if (as === undefined) return undefined
  if (as === 'service-account') return accountOf(description, undefined)
  if (as.includes('/') && isAccount(as)) return accountOf(description, as)
  throw new TypeError(`Cannot create a world: as is "${as}", and must be "service-account" or "NAMESPACE/NAME"`)
}

/** Returns the Namespace of an account, which the objects of a test may need, unless it is one of these. */
export function missingNamespace(account: TrialAccount | undefined, objects: readonly object[]): readonly object[] {
  if (!account) return []
  const isStated = (objects as readonly Partial<KubeObject>[]).some((each) =>
    each?.kind === 'Namespace' && each.metadata?.name === account.namespace
  )
  return isStated ? [] : [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: account.namespace } }]
}

export async function createMissing(
  admin: Cluster,
  objects: readonly object[],
  conversions: readonly ConversionDescription[] = [],
): Promise<void> {
  for (const object of objects) {
    await createObjects(admin, [object], () => [], conversions).catch((error: unknown) => {
      if (!isReason(error, 'AlreadyExists')) throw error
    })
  }
}

/**
 * Wraps an API server's transport to send the token of an account, as a pod does. The first request creates the account
 * and its roles, after the objects of the test: what these state stays as it is.
 */
export function withAccount(
  handle: Transport,
  admin: Cluster,
  account: TrialAccount,
  cluster: string | undefined,
): Transport {
  const open = async (): Promise<string> => {
    await createMissing(admin, account.objectsIn(cluster))
    return await tokenOf(admin.api, account)
  }
  let token: Promise<string> | undefined
  return async (request) => {
    const authorization = `Bearer ${await (token ??= open())}`
    return await handle({ ...request, headers: { ...request.headers, authorization } })
  }
}

/** Returns what records the operator's requests if the environment names a folder for it. */
export function recorderOf(description: OperatorDescription): RightsRecorder | undefined {
  const folder = optionalEnv(RIGHTS)
  if (folder === undefined) return undefined
  return rightsRecorder(description, lineWriter(folder, description.options.name))
}
