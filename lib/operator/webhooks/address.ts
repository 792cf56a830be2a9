/** How the API server reaches the webhooks of an operator. */
import { toMs } from '../../core/duration.ts'
import { ConfigError } from '../../core/errors.ts'
import { hostOf, isLoopback } from '../../runtime/net/address.ts'
import { isInPod } from '../../runtime/os/env.ts'
import type { WebhookTarget } from '../../webhook/configurations/configurations.ts'
import type { OperatorOptions, WebhookOptions } from '../description/options.ts'
import type { WebhookMode } from './setup.ts'

/** How the API server calls this process. `loopback`: by a URL of 127.0.0.1, with the port that is bound. */
export type StatedTarget = WebhookTarget | 'loopback'

/** Throws if an API server elsewhere would be given an address of this machine. */
export function refuseRemote(apiServer: string | undefined, url: string): void {
  const server = apiServer === undefined ? null : URL.parse(apiServer)
  if (!server || isLoopback(hostOf(server))) return
  throw new ConfigError(
    `Cannot install webhooks at ${url}: the API server at ${server.host} cannot call this machine so; state webhooks.url ` +
      "with an address that it can call, or set crds: 'verify'",
  )
}

export function serviceNamespaceOf(stated: StatedTarget): string | undefined {
  return stated !== 'loopback' && 'service' in stated ? stated.service.namespace : undefined
}

/** Whether only this machine can call the webhooks. */
export function isOnLoopback(stated: StatedTarget): boolean {
  if (stated === 'loopback') return true
  const url = 'url' in stated ? URL.parse(stated.url) : null
  return url !== null && isLoopback(hostOf(url))
}

export function loopback(port: number): { readonly url: string } {
  return { url: `https://127.0.0.1:${port}` }
}

export function serviceOf(service: WebhookOptions['service'], operator: string, namespace: string): WebhookTarget {
  const { name = operator, ...rest } = typeof service === 'string' ? { name: service } : service ?? {}
  return { service: { namespace, ...rest, name } }
}

export function statedTarget(
  { service, url }: Pick<WebhookOptions, 'service' | 'url'>,
  operator: string,
  namespace: string,
  mode: WebhookMode,
): StatedTarget {
  if (url !== undefined) return { url }
  if (service === undefined && !runsInPod(mode)) return 'loopback'
  return serviceOf(service, operator, namespace)
}

function runsInPod(mode: WebhookMode): boolean {
  return mode === 'stated' && isInPod()
}

/** The other half of the grace period is left for open requests. */
export function shutdownDelayOf({ webhooks = {}, grace = '30s' }: OperatorOptions, mode: WebhookMode): number {
  const delayMs = toMs(webhooks.shutdownDelay ?? (runsInPod(mode) ? '5s' : 0))
  return mode === 'stated' ? Math.min(delayMs, grace === 'forever' ? Infinity : toMs(grace) / 2) : 0
}
