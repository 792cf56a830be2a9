/** Finds a free port for a server on loopback, and asks a server whether it is ready. */
import { nodeCrypto, nodeHttp, nodeHttps, nodeNet } from '../os/builtins.ts'

const MAX_ATTEMPTS = 50
const PROBE_TIMEOUT_MS = 5000

/**
 * Returns a port of 127.0.0.1 from 20000 to 29999 that is free now. The range is below the ephemeral ports of outgoing
 * connections, so a server that is killed and restarted finds its port free. Another process may still take it first.
 *
 * @throws Error if 50 random ports were taken.
 */
export async function freePort(): Promise<number> {
  for (let left = MAX_ATTEMPTS;; left--) {
    try {
      return await listenOnce(nodeCrypto().randomInt(20_000, 30_000))
    } catch (cause) {
      if (left === 0) {
        throw new Error(
          `Cannot find a free port on 127.0.0.1: ${MAX_ATTEMPTS} random ports were in use; ` +
            'stop servers that listen on ports 20000 to 29999',
          { cause },
        )
      }
    }
  }
}

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = nodeNet().createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })
}

/** PEM. */
export interface ProbeTls {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** Resolves to true if the server responds with 200 within 5 s, and to false in all other cases. Never rejects. */
export function probe(url: string, tls: ProbeTls): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { agent: false as const, timeout: PROBE_TIMEOUT_MS }
    const sent = url.startsWith('https:')
      ? nodeHttps().request(url, { ...options, ...tls })
      : nodeHttp().request(url, options)
    sent.once('response', (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    sent.once('error', () => resolve(false))
    sent.once('timeout', () => sent.destroy())
    sent.end()
  })
}
