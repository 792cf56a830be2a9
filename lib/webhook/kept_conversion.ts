/** Watches the conversion of a definition, and restores it or reports what another writer did to it. For the leader. */
import { isReason, LeadershipLost, messageOf } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { CRD, type CustomResourceConversion, type CustomResourceDefinition } from '../core/resource.ts'
import { type Clock, pause } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import { findObject } from './leftovers.ts'
import { isSameServer, serverOf, setsConversion } from './ownership.ts'
import { untilChanged } from './until_changed.ts'

/** How often a definition is read, whatever its watch reports, and the minimum between two restorations. */
const CHECK_MS = 60_000

export interface KeptConversion {
  /** The name of the definition. */
  readonly name: string
  /** Resolves with what the operator wants. */
  readonly wanted: (signal: AbortSignal) => Promise<CustomResourceConversion>
  /** Whether to restore it. */
  readonly restores: boolean
  /** Fenced for the leader. */
  readonly api: Api
  readonly clock: Clock
  readonly log: Log
  readonly operator: string
}

type Crd = KubeObject & {
  readonly spec: Omit<CustomResourceDefinition['spec'], 'conversion'> & {
    readonly conversion?: CustomResourceConversion | { readonly strategy: 'None' }
  }
}

/**
 * Keeps the conversion until the signal is aborted. With the strategy None the API server drops the fields that a
 * version lacks, so that is restored at once; another server's address only if that does not convert: it may be of a
 * newer replica.
 *
 * @throws LeadershipLost if the fence of `api` falls.
 */
export async function keepConversion(kept: KeptConversion, signal: AbortSignal): Promise<void> {
  const { name, api, clock, log } = kept
  const title = `CustomResourceDefinition "${name}"`
  const watched = { api, clock, log, title, target: { resource: CRD, name }, rereadMs: CHECK_MS, pollMs: CHECK_MS }
  let reported: string | undefined
  let restoredMs = -Infinity
  while (!signal.aborted) {
    try {
      const found = await findObject(api, { resource: CRD, name }, signal) as Crd | undefined
      const change = found && await changeOf(found, kept, signal)
      if (!change) reported = undefined
      else if (change.wanted) {
        // Another writer that insists must not make this a loop.
        const waitMs = restoredMs + CHECK_MS - clock.monotonic()
        if (waitMs > 0) await pause(clock, waitMs, signal)
        if (signal.aborted) return
        const spec = { ...found.spec, conversion: change.wanted }
        await api.update({ resource: CRD, name }, { ...found, spec }, { fieldManager: kept.operator }, signal)
        restoredMs = clock.monotonic()
        log.error(`Restored the conversion of ${title}, ${change.text}`)
        continue
      } else if (change.text !== reported) {
        const remedy = "apply what kubeloop manifests FILE prints, or set crds: 'install'"
        log.error(`Another writer changed the conversion of ${title}, ${change.text}: ${remedy}`)
        reported = change.text
      }
      await untilChanged(watched, found?.metadata.resourceVersion, signal)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof LeadershipLost) throw error
      if (isReason(error, 'Conflict')) continue
      log.warn(`Cannot keep the conversion of ${title}; trying again in ${CHECK_MS / 1000} s: ${messageOf(error)}`)
      await pause(clock, CHECK_MS, signal)
    }
  }
}

/** Returns what is wrong, with what to write. Undefined if the definition has our conversion. */
async function changeOf(
  crd: Crd,
  { wanted, restores, api, operator }: KeptConversion,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly wanted?: CustomResourceConversion } | undefined> {
  const ours = await wanted(signal)
  const { conversion } = crd.spec
  if (conversion?.strategy !== 'Webhook') {
    const text = 'which had the strategy None: what was written in a version that is not stored may have lost fields'
    // Otherwise a newer release of this operator, which has no conversion, has done it.
    return restores && !setsConversion(crd, operator) ? { text, wanted: ours } : { text }
  }
  const { clientConfig } = conversion.webhook
  if (isSameServer(clientConfig, ours.webhook.clientConfig)) return undefined
  const text = `which calls ${serverOf(clientConfig)}, not ${serverOf(ours.webhook.clientConfig)}`
  return restores && !(await converts(crd, api, signal)) ? { text, wanted: ours } : { text }
}

/** Tests whether the API server can read objects in the versions that are not stored. */
async function converts(
  { spec: { group, names, scope, versions } }: Crd,
  api: Api,
  signal: AbortSignal,
): Promise<boolean> {
  for (const { name: version, served, storage } of versions) {
    if (!served || storage) continue
    const resource = { group, version, kind: names.kind, plural: names.plural, scope }
    try {
      await api.listPage({ resource }, { limit: 1 }, signal)
    } catch (error) {
      if (signal.aborted) throw error
      if (messageOf(error).includes('conversion webhook')) return false
    }
  }
  return true
}
