/** The conversion of a definition: ours, that of an earlier release, and whether it answers. */
import { messageOf } from '../core/errors.ts'
import type { CustomResourceDefinition } from '../core/resource.ts'
import { type Clock, sleep } from '../async/clock.ts'
import { isOwnConversion, isSameServer } from '../webhook/common/ownership.ts'
import type { Crd, Dependencies } from './definition.ts'

/** The time limit for the server to use a new address of the conversion. */
const CONVERTED_MS = 10_000

/** Returns our conversion. Without CAs it has the stored ones, which another writer injects. */
export function conversionOf(
  { spec: { conversion: ours } }: CustomResourceDefinition,
  { spec }: Crd,
  mergeCas: Dependencies['mergeCas'],
): Crd['spec']['conversion'] {
  if (!ours || spec.conversion?.strategy !== 'Webhook') return ours
  const { caBundle: stored, ...there } = spec.conversion.webhook.clientConfig
  const { caBundle: own, ...here } = ours.webhook.clientConfig
  if (stored === undefined) return ours
  const caBundle = own === undefined ? stored : mergeCas && isSameServer(there, here) ? mergeCas(stored, own) : own
  return { ...ours, webhook: { ...ours.webhook, clientConfig: { ...here, caBundle } } }
}

/** Returns our conversion, or none in place of that of an earlier release. Undefined: what is there is of others. */
export function wantedConversion(
  crd: CustomResourceDefinition,
  before: Crd,
  { fieldManager, leftovers, mergeCas }: Pick<Dependencies, 'fieldManager' | 'leftovers' | 'mergeCas'>,
): Crd['spec']['conversion'] {
  const there = before.spec.conversion
  if (crd.spec.conversion || !leftovers || there?.strategy !== 'Webhook') return conversionOf(crd, before, mergeCas)
  const isOwn = isOwnConversion(before, there.webhook.clientConfig, fieldManager, leftovers.namespace)
  return isOwn ? { strategy: 'None' } : undefined
}

/** Tests whether a request failed because the webhook of the conversion did not answer. */
export function isUnconverted(error: unknown): boolean {
  return messageOf(error).includes('conversion webhook')
}

/** Calls `work` again for at most 10 s while the server cannot convert: it uses a new address after a moment. */
export async function untilConverted<T>(work: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const deadline = clock.monotonic() + CONVERTED_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isUnconverted(error) || clock.monotonic() >= deadline) throw error
    }
    await sleep(clock, 250, signal)
  }
}
