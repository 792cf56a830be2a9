/** Serves profiles. What makes them is loaded at the first request, from a file of its own. */
import { fileMissing } from '../../core/errors.ts'
import { type Fetch, type ListenOptions, Server } from './server.ts'

/** A server of `profilingHandler`. Anyone who reaches it can slow the process down and read its memory: keep it on loopback. */
export function profilingServer(options: ListenOptions = {}): Server {
  let handler: Promise<Fetch> | undefined
  const load = async (): Promise<Fetch> => {
    const { profilingHandler } = await import('./profiling.ts').catch(fileMissing('Cannot profile', 'profiling.js'))
    return profilingHandler(options)
  }
  // One handler: it refuses a second recording at the same time.
  return new Server({ ...options, name: 'profiling', fetch: async (request) => (await (handler ??= load()))(request) })
}
