/** A TCP proxy that breaks connections as networks do. It does not read the data. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface BreakingProxy {
  readonly port: number
  /** The number of open connections that transfer data. */
  readonly open: number
  /** Ends every connection at once, with a reset if the runtime supports it. */
  reset(): void
  /** Holds all data back. Returns a function that sends it and ends the pause. */
  stall(): () => void
  /** Makes the open connections half-open: no data is transferred any more, and they are not closed. */
  freeze(): void
  /** Whether new connections are ended at once. */
  refuses: boolean
  close(): Promise<void>
}

export async function breakingProxy(target: { readonly host: string; readonly port: number }): Promise<BreakingProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  const frozen = new Set<Socket>()
  const server = createServer((client) => {
    client.on('error', () => client.destroy())
    if (proxy.refuses) return void client.destroy()
    const upstream = connect(target)
    const pair = [client, upstream] as const
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    upstream.on('error', end)
    for (const [from, to] of [[client, upstream], [upstream, client]] as const) {
      from.setNoDelay(true)
      from.on('data', (bytes) => void (frozen.has(client) || to.write(bytes)))
      from.on('close', () => {
        frozen.delete(client)
        end()
      })
    }
  })
  const proxy = {
    port: 0,
    refuses: false,
    get open() {
      return [...pairs].filter(([client]) => !frozen.has(client)).length
    },
    reset() {
      for (const [client] of pairs) client.destroy()
    },
    stall() {
      const stalled = [...pairs]
      for (const [client, upstream] of stalled) {
        client.pause()
        upstream.pause()
      }
      return () => {
        for (const [client, upstream] of stalled) {
          client.resume()
          upstream.resume()
        }
      }
    },
    freeze() {
      for (const [client] of pairs) frozen.add(client)
    },
    async close() {
      server.close()
      for (const [client, upstream] of pairs) {
        client.destroy()
        upstream.destroy()
      }
      await once(server, 'close')
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy.port = (server.address() as { port: number }).port
  return proxy
}
