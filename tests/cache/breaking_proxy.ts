/** A TCP proxy that breaks connections as networks do. It does not look into what it carries. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface BreakingProxy {
  readonly port: number
  /** Connections that are open and carry. */
  readonly open: number
  /** Ends every connection at once; a reset, where the runtime can. */
  reset(): void
  /** Carries nothing for a while, and then what has gathered. Returns what ends it. */
  stall(): () => void
  /** Carries nothing over the connections that are open any more, and does not say so. */
  freeze(): void
  /** Whether new connections are refused: they are ended at once. */
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
