/** Finds the ports of an operator that the kubelet and other pods reach. */
import { parseAddress } from '../../manager/servers/address.ts'
import { hasWebhooks, type OperatorDescription } from '../../operator/description.ts'
import { isLoopback } from '../../runtime/net/address.ts'
import { WEBHOOK_PORT } from '../../webhook/defaults.ts'

/** Returns the address in an option of the operator. */
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

/** The ports that others reach, by name. */
export function reachable(
  description: OperatorDescription,
): { readonly name: string; readonly containerPort: number }[] {
  const { health, metrics, webhooks } = description.options
  const ports = {
    health: portOf(addressOf(health)),
    metrics: portOf(addressOf(metrics)),
    webhooks: hasWebhooks(description) ? webhooks?.port ?? WEBHOOK_PORT : undefined,
  }
  return Object.entries(ports).flatMap(([name, port]) => port === undefined ? [] : [{ name, containerPort: port }])
}
