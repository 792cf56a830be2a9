/** Requests to the servers that an operator's extensions add: in a world they do not listen, and are called. */
import type { Fetch, Runnable } from 'kubeloop'
import { messageOf } from '../core/errors.ts'
import type { Replica } from './replica.ts'

/**
 * Answers a request by the server of that name: by the first of the replicas on which it would listen.
 *
 * @throws TypeError if no running replica has a server of that name. Error if it listens on the leader alone, and no
 * replica leads.
 */
export async function fetchFrom(replicas: readonly Replica[], name: string, request: Request): Promise<Response> {
  const cannot = `Cannot fetch ${new URL(request.url).pathname} from the server "${name}"`
  const servers = replicas.flatMap((replica) => replica.servers.map((server) => ({ replica, server })))
  const namesakes = servers.filter(({ server }) => server.name === name && fetchOf(server))
  if (namesakes.length === 0) {
    const names = [...new Set(servers.flatMap(({ server }) => (fetchOf(server) ? [`"${server.name}"`] : [])))]
    const known = names.length > 0 ? `the operator's extensions add ${names.join(', ')}` : 'no extension adds a server'
    throw new TypeError(`${cannot}: ${replicas.length > 0 ? known : 'no replica runs'}`)
  }
  const found = namesakes.find(({ replica, server }) =>
    server.everyReplica !== false || replica.parts?.manager.isElected
  )
  if (!found) throw new Error(`${cannot}: it listens on the leader alone, and no replica leads`)
  const { replica, server } = found
  try {
    return await fetchOf(server)!(request)
  } catch (error) {
    replica.log.error(`The server "${name}" could not answer a request: ${messageOf(error)}`, { error })
    return new Response(null, { status: 500 })
  }
}

/** What answers for a server, or for a runnable of a user's that is one. */
function fetchOf(server: Runnable): Fetch | undefined {
  const { fetch } = server as { readonly fetch?: unknown }
  return typeof fetch === 'function' ? (request) => (fetch as Fetch).call(server, request) : undefined
}
