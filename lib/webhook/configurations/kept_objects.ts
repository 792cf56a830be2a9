/** Watches definitions and webhook configurations, and restores or reports what others change. For the leader. */
import { jsonEqual } from '../../core/equal.ts'
import { isReason, LeadershipLost, messageOf } from '../../core/errors.ts'
import type { KubeObject } from '../../core/objects.ts'
import {
  type AnyResource,
  CRD,
  type CustomResourceConversion,
  type CustomResourceDefinition,
  type CustomResourceVersion,
} from '../../core/resource.ts'
import { pause } from '../../async/clock.ts'
import type { PartEnvironment } from '../../observe/environment.ts'
import type { Api } from '../../client/api.ts'
import type { TrustingObject } from './trusted_cas.ts'
import { findObject } from './leftovers.ts'
import { isSameServer, serverOf, setsConversion } from '../common/ownership.ts'
import { untilChanged } from '../common/until_changed.ts'

/** How often an object is read, whatever its watch reports, and the time in which few restorations are made. */
const CHECK_MS = 60_000

/** The maximum number of restorations in that time: another writer that insists must not make this a loop. */
const MAX_WRITES = 3

export interface Kept extends PartEnvironment {
  /** Fenced for the leader. */
  readonly api: Api
  /** Adds the operator's CAs to an object that lacks them. Resolves with whether something was written. */
  readonly addCas: (target: TrustingObject, signal: AbortSignal) => Promise<boolean>
}

export interface KeptDefinition extends Kept {
  readonly name: string
  /** Resolves with what the operator wants. */
  readonly wanted: (signal: AbortSignal) => Promise<CustomResourceConversion>
  /** The versions that the operator defines. */
  readonly versions: readonly Pick<CustomResourceVersion, 'name' | 'served' | 'storage'>[]
  /** Whether to restore the conversion. */
  readonly restores: boolean
  /** Installs the definition. Undefined: its versions are not restored. */
  readonly reinstall: ((signal: AbortSignal) => Promise<void>) | undefined
  readonly operator: string
}

type Crd = KubeObject & {
  readonly spec: Omit<CustomResourceDefinition['spec'], 'conversion'> & {
    readonly conversion?: CustomResourceConversion | { readonly strategy: 'None' }
  }
}

/**
 * Keeps what a definition has of ours until the signal is aborted. With the strategy None the API server drops the
 * fields that a version lacks, so that is restored at once; another server's address only if that does not convert: it
 * may be of a newer replica. Versions are restored that the operator defines: others are of a newer release.
 *
 * @throws LeadershipLost if the fence of `api` falls.
 */
export async function keepDefinition(kept: KeptDefinition, signal: AbortSignal): Promise<void> {
  const { name, api, log, operator, restores, reinstall } = kept
  const title = `CustomResourceDefinition "${name}"`
  const target = { resource: CRD, name }
  const reported = new Set<string>()
  await keepObject(target, kept, async (found, signal) => {
    const crd = found as Crd
    const conversion = await conversionChange(crd, kept, signal)
    if (conversion?.wanted) {
      const spec = { ...crd.spec, conversion: conversion.wanted }
      await api.update(target, { ...crd, spec }, { fieldManager: operator }, signal)
      log.error(`Restored the conversion of ${title}, ${conversion.text}`)
      return true
    }
    const versions = versionChange(crd, kept)
    if (versions && reinstall) {
      log.error(`Restoring the versions of ${title}, ${versions}`)
      await reinstall(signal)
      return true
    }
    const texts = [
      ...(conversion ? [`the conversion of ${title}, ${conversion.text}`] : []),
      ...(versions && !restores ? [`the versions of ${title}, ${versions}`] : []),
    ]
    for (const text of texts) {
      if (reported.has(text)) continue
      log.error(`Another writer changed ${text}: apply what kubeloop manifests FILE prints, or set crds: 'install'`)
    }
    reported.clear()
    for (const text of texts) reported.add(text)
    return !conversion && await kept.addCas(target, signal)
  }, signal)
}

/**
 * Adds the operator's CAs to a webhook configuration whenever its entries lack them, until the signal is aborted: what
 * applies it may add entries, or replace it. A missing one is left to others.
 *
 * @throws LeadershipLost if the fence of `api` falls.
 */
export async function keepTrusted(resource: AnyResource, name: string, kept: Kept, signal: AbortSignal): Promise<void> {
  const target = { resource, name }
  await keepObject(target, kept, (_, signal) => kept.addCas(target, signal), signal)
}

/** `look` restores the object, and resolves with whether it has written. It is called again after each change. */
async function keepObject(
  target: TrustingObject,
  { api, clock, log }: Kept,
  look: (found: KubeObject, signal: AbortSignal) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const title = `${target.resource.kind} "${target.name}"`
  const watched = { api, clock, log, title, target, rereadMs: CHECK_MS, pollMs: CHECK_MS }
  let writes: readonly number[] = []
  while (!signal.aborted) {
    try {
      const found = await findObject(api, target, signal)
      if (found && await look(found, signal)) {
        writes = [...writes, clock.monotonic()].slice(-MAX_WRITES)
        if (writes.length === MAX_WRITES) await pause(clock, writes[0]! + CHECK_MS - clock.monotonic(), signal)
        continue
      }
      await untilChanged(watched, found?.metadata.resourceVersion, signal)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof LeadershipLost) throw error
      if (isReason(error, 'Conflict')) continue
      log.warn(`Cannot keep ${title}; trying again in ${CHECK_MS / 1000} s: ${messageOf(error)}`)
      await pause(clock, CHECK_MS, signal)
    }
  }
}

/** Returns what is wrong with the conversion, with what to write. Undefined if it is ours. */
async function conversionChange(
  crd: Crd,
  { wanted, restores, api, operator }: KeptDefinition,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly wanted?: CustomResourceConversion } | undefined> {
  const ours = await wanted(signal)
  const { conversion } = crd.spec
  if (conversion?.strategy !== 'Webhook') {
    const text = 'which had the strategy None: what was written in a version that is not stored may have lost fields'
    // Otherwise a newer release of this operator, which has no conversion, has done it.
    return restores && !setsConversion(crd, operator) ? { text, wanted: ours } : { text }
  }
  const { clientConfig: there } = conversion.webhook
  const { clientConfig: here } = ours.webhook
  if (jsonEqual({ ...there, caBundle: '' }, { ...here, caBundle: '' })) return undefined
  const isOurs = isSameServer(there, here)
  const isBroken = (isOurs || restores) && !(await converts(crd, api, signal))
  // The same address may be written in other words.
  if (isOurs && !isBroken) return undefined
  const text = isOurs
    ? `which calls ${serverOf(there)} at another path or port`
    : `which calls ${serverOf(there)}, not ${serverOf(here)}`
  return restores && isBroken ? { text, wanted: ours } : { text }
}

/** Returns what is wrong with the versions that we define. Undefined if a newer release stores one of its own. */
function versionChange({ spec: { versions } }: Crd, { versions: ours }: KeptDefinition): string | undefined {
  const stored = versions.find(({ storage }) => storage)?.name
  const hub = ours.find(({ storage }) => storage)?.name
  if (!ours.some(({ name }) => name === stored)) return undefined
  if (stored !== hub) return `which stored ${stored}, not ${hub}`
  const missing = ours.find(({ name, served }) => served && !versions.find((each) => each.name === name)?.served)
  return missing && `which did not serve ${missing.name}`
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
      await api.listPage({ resource }, { limit: 1, quiet: true }, signal)
    } catch (error) {
      if (signal.aborted) throw error
      if (messageOf(error).includes('conversion webhook')) return false
    }
  }
  return true
}
