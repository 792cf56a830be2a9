/** A listening socket, and the connections that came in through it. */
import type { Server, Socket } from 'node:net'
import { messageOf } from '../../core/errors.ts'
import { requireListening } from '../os/env.ts'

/** Listens; undefined is all interfaces. Rejects, saying what to do, when it cannot. */
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
        Object.assign(new Error(`Cannot listen on ${host ?? ''}:${port}: ${why}`, { cause }), { code: cause.code }),
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

/** The open connections of a server, as long as they are open. */
export function trackSockets(server: Server, ...events: readonly string[]): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  const track = (socket: Socket): void => {
    sockets.add(socket)
    // Without it, an answer in two writes waits for the client's delayed acknowledgement of the first: 40 ms each.
    socket.setNoDelay(true)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
  }
  for (const event of events) server.on(event, track)
  return sockets
}
