/**
 * An operator under `kubeloop dev` and the process that started it: the operator says that it is there, and both hear
 * when the other one ends. It goes over the embedded API, the one thing that every runtime's watcher leaves them.
 */
import { resourceId } from '../../core/resource.ts'
import { lineBatches } from '../../async/lines.ts'
import type { ClosableTransport } from '../../runtime/net/transport.ts'
import type { OtherCluster } from '../../operator/context.ts'
import { type OperatorDescription, watchedResources } from '../../operator/description.ts'

/** Where sessions are opened. No API group can be called so. */
export const SESSION_PATH = '/kubeloop/dev/session'

/** Where the API of another cluster is, below that of the operator's own: one port, which Deno lets an operator connect to. */
export function pathOfCluster(name: string): string {
  return `/clusters/${name}`
}

/** The exit code of an operator's process that has said why it ends: the command adds nothing then. */
export const REPORTED = 87

/** The same of one whose output is read no more: there is nothing to go on for. */
export const OUTPUT_CLOSED = 88

/** What the operator says of itself. */
export interface SessionRequest {
  readonly operator: string
  readonly pid: number
  /** The kinds that it reconciles in its own cluster, then the others that it watches there, as `group/version/plural`. */
  readonly kinds: readonly string[]
  /** Its other clusters, with the same of each. */
  readonly clusters: readonly { readonly name: string; readonly kinds: readonly string[] }[]
}

/** What it is answered: the first line of a body that stays open for as long as the other process runs. */
export interface SessionAnswer {
  /** 1 for the first start, one more for each restart. */
  readonly start: number
  /** How long the restart took: from the end of the last run, or from the change after a crash. Absent when it is not known. */
  readonly downMs?: number
  /** The file that changed, where that is known. */
  readonly changed?: string
}

export interface Session {
  readonly answer: SessionAnswer
  /** Settles when the other process is gone. */
  readonly ended: Promise<void>
}

/** Opens a session, to which the connection belongs from then on; undefined when the server is not `kubeloop dev`. */
export async function openSession(
  connection: ClosableTransport,
  description: OperatorDescription,
  pid: number,
): Promise<Session | undefined> {
  const kindsIn = (cluster?: OtherCluster): string[] => {
    const reconciled = description.controllers.filter(({ options }) => options.cluster === cluster).map((
      { resource },
    ) => resource)
    return [...new Set([...reconciled, ...watchedResources(description, cluster)].map(resourceId))]
  }
  const clusters = description.clusters.map((cluster) => ({ name: cluster.name, kinds: kindsIn(cluster) }))
  const request: SessionRequest = { operator: description.options.name, pid, kinds: kindsIn(), clusters }
  const headers = { 'content-type': 'application/json' }
  const response = await connection({ method: 'POST', path: SESSION_PATH, headers, body: JSON.stringify(request) })
  if (response.status !== 200) {
    response.body.cancel()
    connection.close()
    return undefined
  }
  const batches = lineBatches(response.body)
  let first: string | undefined
  while (first === undefined) {
    const next = await batches.next()
    if (next.done) throw new Error('Cannot open a session with `kubeloop dev`: it has just ended')
    first = next.value[0]
  }
  const ended = drain(batches).finally(() => connection.close())
  return { answer: JSON.parse(first) as SessionAnswer, ended }
}

async function drain(batches: AsyncIterator<unknown>): Promise<void> {
  try {
    while (!(await batches.next()).done);
  } catch {
    // Cut off rather than ended: the other process is gone either way.
  }
}
