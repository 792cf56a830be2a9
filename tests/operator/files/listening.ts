/** Servers on the given addresses; it prints the result of each. */
import process from 'node:process'
import { Server } from 'kubeloop'

for (const address of process.argv.slice(2)) {
  const stopping = new AbortController()
  const server = new Server({ name: 'own', address, fetch: () => new Response('') })
  const ended = server.start(stopping.signal)
  ended.catch(() => {}) // said by ready
  try {
    await server.ready(stopping.signal)
    console.log('listens')
    stopping.abort()
    await ended
  } catch (error) {
    console.log((error as Error).message)
  }
}
