/** Finds the ports of an operator that the kubelet and other pods reach. */
import { parseAddress } from '../../manager/servers/address.ts'
import { hasWebhooks, type OperatorDescription } from '../../operator/description/description.ts'
import { isLoopback } from '../../runtime/net/address.ts'
import { WEBHOOK_PORT } from '../../webhook/server/defaults.ts'
import type { DeployOptions } from './options.ts'

export function addressOf(
  stated: number | string | { readonly address?: number | string } | undefined,
): number | string | undefined {
  return typeof stated === 'object' ? stated.address : stated
}

/** Returns the port of an address that other pods and the kubelet can reach. */
export function portOf(address: number | string | undefined): number | undefined {
  if (address === undefined) return undefined
  const { host, port } = parseAddress(address)
  return port === 0 || (host !== undefined && isLoopback(host)) ? undefined : port
}

/** The ports that others reach, by name; `ports`: those of servers of the user's own. */
export function reachable(
  description: OperatorDescription,
  { ports: own = [] }: DeployOptions,
): { readonly name: string; readonly containerPort: number }[] {
  const { health, metrics, profiling, webhooks } = description.options
  const ports = {
    health: portOf(addressOf(health)),
    metrics: portOf(addressOf(metrics)),
    webhooks: hasWebhooks(description) ? webhooks?.port ?? WEBHOOK_PORT : undefined,
    profiling: portOf(profiling),
  }
  const named = Object.entries(ports).flatMap(([name, port]) =>
    port === undefined ? [] : [{ name, containerPort: port }]
  )
  const others = [...new Set(own)].filter((port) => named.every(({ containerPort }) => containerPort !== Number(port)))
  return [...named, ...others.map((port) => ({ name: `own-${port}`, containerPort: Number(port) }))]
}
