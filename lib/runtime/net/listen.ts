/** Binds a server to its address, tracks its connections, and closes it. */
import type { Server, Socket } from 'node:net'
import { untilAborted } from '../../async/abort.ts'
import { ConfigError, messageOf } from '../../core/errors.ts'
import { requireListening } from '../os/env.ts'
import { type Exchanges, newExchanges } from './server_exchange.ts'

/**
 * Starts listening; an undefined host means all interfaces. Resolves to the bound address. Rejects with a ConfigError
 * with the `code` of the system if the address is in use or cannot be used.
 */
export function listen(
  server: Server,
  host: string | undefined,
  port: number,
): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error & { code?: string }): void => {
      const why = cause.code === 'EADDRINUSE'
        ? 'the address is in use; stop what listens there or choose another port'
        : messageOf(cause)
      reject(
        Object.assign(new ConfigError(`Cannot listen on ${host ?? ''}:${port}: ${why}`, { cause }), {
          code: cause.code,
        }),
      )
    }
    const onListening = (): void => {
      server.off('error', onError)
      const address = server.address()
      const bound = typeof address === 'object' && address ? address : { address: host ?? '', port }
      resolve({ host: host ?? bound.address, port: bound.port })
    }
    server.once('error', onError)
    try {
      requireListening(host, port)
    } catch (error) {
      return onError(error as Error)
    }
    server.listen({ port, ...(host !== undefined && { host }) }, onListening)
  })
}

/**
 * Returns the set of a server's open connections, kept up to date. One above `max` closes the oldest, which is no probe
 * of the kubelet: a client that opens many must not keep others out.
 */
export function trackSockets(server: Server, max: number, ...events: readonly string[]): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  const track = (socket: Socket): void => {
    sockets.add(socket)
    const [oldest] = sockets
    if (sockets.size > max && oldest) {
      // Its event follows in a later turn.
      sockets.delete(oldest)
      oldest.destroy()
    }
    // Otherwise a response in two writes waits 40 ms for the client's delayed acknowledgement of the first.
    socket.setNoDelay(true)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
  }
  for (const event of events) server.on(event, track)
  return sockets
}

/** Stops listening, and aborts open requests at the deadline. Resolves when all connections are closed. */
export async function closeServer(
  server: { close(onClosed: () => void): unknown },
  exchanges: Exchanges,
  connections: readonly ReadonlySet<{ destroy(): void }>[],
  deadline: AbortSignal,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // It rejects at the deadline only; then the open requests are aborted.
  await untilAborted(exchanges.settled(), deadline).catch(() => {})
  exchanges.abort()
  await exchanges.settled()
  // Kept connections would delay the close until their idle timeout.
  for (const each of connections.flatMap((some) => [...some])) each.destroy()
  await closed
}

/** What servers with TLS and without have: given to the former, so that a bundle has it once. */
export interface ServerParts {
  readonly closeServer: typeof closeServer
  readonly listen: typeof listen
  readonly newExchanges: typeof newExchanges
  readonly trackSockets: typeof trackSockets
}

export const SERVER_PARTS: ServerParts = { closeServer, listen, newExchanges, trackSockets }
