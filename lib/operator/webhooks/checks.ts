/** Refuses mistakes in the options of webhooks, also where the start does not use them, as in a test. */
import { toMs } from '../../core/duration.ts'
import { isDomainName } from '../../core/names.ts'
import { namesOf } from '../../webhook/configurations/configurations.ts'
import type { RotationTimings } from '../../webhook/certificates/rotation.ts'
import type { SelfMadeOptions, WebhookOptions } from '../description/options.ts'

const HOUR_MS = 3_600_000

/** @throws TypeError for options with which no webhooks can be served. */
export function checkWebhooks({ url, service, certs }: WebhookOptions): void {
  if (url !== undefined && service !== undefined) {
    throw new TypeError('Cannot serve webhooks: both webhooks.url and webhooks.service are given; give one of them')
  }
  if (url !== undefined) namesOf({ url })
  if (typeof certs !== 'object') return
  for (const [path, name] of [['secret', certs.secret], ['ca.secret', certs.ca?.secret ?? certs.secret]] as const) {
    if (isDomainName(name)) continue
    const rule = 'the name of a Secret has lower-case letters, digits, dashes and dots'
    throw new TypeError(`Cannot serve webhooks: webhooks.certs.${path} is "${name}": ${rule}`)
  }
  livesOf(certs)
}

/** @throws TypeError if the certificate would be renewed before replicas serve it, or never in time. */
export function livesOf({ duration = '8760h', renewBefore }: SelfMadeOptions): Partial<RotationTimings> {
  const leafLifeMs = toMs(duration)
  const leafRenewMs = renewBefore === undefined ? leafLifeMs / 3 : toMs(renewBefore)
  const problem = leafLifeMs < HOUR_MS || leafLifeMs > 24_000 * HOUR_MS
    ? 'webhooks.certs.duration must be 1 hour to 24,000 hours'
    : leafRenewMs < Math.max(300_000, leafLifeMs / 10) || leafRenewMs > leafLifeMs * 0.9
    ? 'webhooks.certs.renewBefore must be at least 5 minutes, and one to nine tenths of the duration'
    : undefined
  if (problem !== undefined) throw new TypeError(`Cannot make certificates of webhooks: ${problem}`)
  return { leafLifeMs, leafRenewMs }
}
