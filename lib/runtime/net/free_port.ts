/** A port on loopback that nobody listens on. */
import { createServer } from 'node:net'
import { randomInt } from 'node:crypto'

/**
 * A free port from 20000 to 29999: below the range that systems take outgoing connections' ports from,
 * so that a server that is killed finds its port free again. Somebody else may still be quicker.
 */
export async function freePort(): Promise<number> {
  for (let left = ATTEMPTS;; left--) {
    try {
      return await listenOnce(randomInt(20_000, 30_000))
    } catch (cause) {
      if (left === 0) throw new Error(`Cannot find a free port on 127.0.0.1: ${ATTEMPTS} were taken`, { cause })
    }
  }
}

const ATTEMPTS = 50

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })
}
