/** Parses the addresses that servers listen on. */

/** An address to listen on. */
export interface ListenAddress {
  /** Undefined: all interfaces. An IPv6 address has no brackets. */
  readonly host: string | undefined
  /** 0: any free port. */
  readonly port: number
}

/**
 * Parses an address: a number is a port on 127.0.0.1; `:8080` is a port on all interfaces, as in Go; `host:port` and
 * `[::1]:8080` name the interface.
 *
 * @throws TypeError for anything else, also for a port as a string, which could mean either interface.
 */
export function parseAddress(address: number | string): ListenAddress {
  if (typeof address === 'number') {
    if (!isPort(address)) throw refusal(address, 'a port is a whole number from 0 to 65535')
    return { host: '127.0.0.1', port: address }
  }
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(address)
  if (!match) {
    if (/^\d+$/.test(address)) {
      throw refusal(address, `write ${address} (a number) for 127.0.0.1 alone, or ":${address}" for all interfaces`)
    }
    throw refusal(address, 'write a port as a number, ":8080" for all interfaces, "host:8080" or "[::1]:8080"')
  }
  const port = Number(match[3])
  if (!isPort(port)) throw refusal(address, 'a port is a whole number from 0 to 65535')
  return { host: match[1] ?? (match[2] || undefined), port }
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 0 && port <= 65_535
}

function refusal(address: number | string, why: string): TypeError {
  return new TypeError(`Cannot listen on ${typeof address === 'string' ? `"${address}"` : address}: ${why}`)
}
