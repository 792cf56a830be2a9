/** A TCP proxy that breaks connections as networks do. It does not read the data. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { sleep, systemClock } from '../../lib/async/clock.ts'

export interface BreakingProxy {
  readonly port: number
  /** The number of open connections that transfer data. */
  readonly open: number
  /** Resets every connection. */
  reset(): void
  /** Holds all data back. Returns a function that sends it and ends the pause. */
  stall(): () => void
  /** Makes the open connections half-open: no data is transferred any more, and they are not closed. */
  freeze(): void
  /** Whether new connections are ended at once. */
  refuses: boolean
  /** Where new connections go. */
  target: Target
  /** The rate of each connection in each direction. Default: as fast as it can. */
  bytesPerSecond: number
  /** Also accepts connections on a socket of the file system, which processes of another network namespace reach. */
  listen(path: string): Promise<void>
  close(): Promise<void>
}

interface Target {
  readonly host: string
  readonly port: number
}

export async function breakingProxy(target: Target): Promise<BreakingProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  const frozen = new Set<Socket>()
  const accept = (client: Socket): void => {
    client.on('error', () => client.destroy())
    if (proxy.refuses) return void client.destroy()
    const upstream = connect(proxy.target)
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
      let sent = Promise.resolve()
      from.on('data', (bytes: Buffer) => {
        if (frozen.has(client)) return
        if (proxy.bytesPerSecond === Infinity) return void to.write(bytes)
        from.pause()
        sent = sent.then(() => trickle(to, bytes)).finally(() => from.resume())
      })
      from.on('close', () => {
        frozen.delete(client)
        end()
      })
    }
  }
  const trickle = async (to: Socket, bytes: Uint8Array): Promise<void> => {
    const size = Math.max(1, Math.floor(proxy.bytesPerSecond / 20))
    for (let at = 0; at < bytes.length && !to.destroyed; at += size) {
      to.write(bytes.subarray(at, at + size))
      if (proxy.bytesPerSecond < Infinity) await sleep(systemClock, 50)
    }
  }
  const server = createServer(accept)
  const others: Server[] = []
  const proxy = {
    port: 0,
    refuses: false,
    target,
    bytesPerSecond: Infinity,
    async listen(path: string) {
      const other = createServer(accept).listen(path)
      others.push(other)
      await once(other, 'listening')
    },
    get open() {
      return [...pairs].filter(([client]) => !frozen.has(client)).length
    },
    reset() {
      for (const [client] of pairs) client.resetAndDestroy()
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
      for (const each of [server, ...others]) each.close()
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
