/** What a Service is in a cluster: an address whose new connections reach the pods that were ready a moment ago. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** Until connections follow a change of a pod. */
export const FOLLOW_MS = 700

export class Service {
  /** The ports of the pods. */
  readonly #listed = new Set<number>()
  readonly #sockets = new Set<Socket>()
  #count = 0
  readonly #server = createServer((socket) => this.#forward(socket))

  async listen(host: string, port: number): Promise<void> {
    await once(this.#server.listen(port, host), 'listening')
  }

  follow(port: number, isReady: boolean): void {
    setTimeout(() => isReady ? this.#listed.add(port) : this.#listed.delete(port), FOLLOW_MS)
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #forward(socket: Socket): void {
    const port = [...this.#listed][this.#count++ % this.#listed.size]
    if (port === undefined) return void socket.destroy()
    const ends = [socket, connect(port, '127.0.0.1')] as const
    for (const [i, end] of ends.entries()) {
      this.#sockets.add(end)
      end.on('close', () => this.#sockets.delete(end)).on('error', () => ends[1 - i]!.destroy()).pipe(
        ends[1 - i]!,
      )
    }
  }
}
