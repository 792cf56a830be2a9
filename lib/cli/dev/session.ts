/**
 * Connects an operator with the `kubeloop dev` process that started it.
 *
 * Each notices when the other one ends. The session is a request to the embedded API, because a runtime's watch mode
 * leaves no other connection between the two processes.
 */
import { resourceId } from '../../core/resource.ts'
import { lineBatches } from '../../async/lines.ts'
import type { ClosableTransport } from '../../runtime/net/transport.ts'
import type { OtherCluster } from '../../operator/description/context.ts'
import type { ReconcileReport } from '../../controller/controller.ts'
import type { RecordLine } from '../../testing/rights_recorder.ts'
import { hasWebhooks, type OperatorDescription } from '../../operator/description/description.ts'
import { watchedResources } from '../../operator/description/used_kinds.ts'
import type { Manifest } from '../manifests.ts'

/** The path of sessions. No API group can have this name. The answer is followed: it may pause for any time. */
export const SESSION_PATH = '/kubeloop/dev/session?follow=true'

/** The path of an operator's notices. */
export const NOTICE_PATH = '/kubeloop/dev/session/notice'

/** Its webhooks are installed, it has another cluster, it asks for a right, or what it does, for the page of `--ui`. */
export interface Notice {
  readonly installed?: true
  /** The name of a cluster that a provider has added, which is served when the notice is answered. */
  readonly cluster?: string
  /** A line of the record. */
  readonly right?: RecordLine
  readonly loop?: LoopBatch
}

/** Returns the path prefix of another cluster's API. All clusters share a port, so that Deno needs one permission. */
export function pathOfCluster(name: string): string {
  return `/clusters/${name}`
}

/** The exit code of an operator that has reported why it ends, so that the command reports nothing. */
export const REPORTED = 87

/** The exit code of an operator whose standard output is closed, so that the command stops. */
export const OUTPUT_CLOSED = 88

/** The environment variable with the settings of the operator's process, as JSON. */
export const DEV = 'KUBELOOP_DEV'

export interface DevSettings {
  /** Whether lines are for people; otherwise they are JSON. */
  readonly pretty: boolean
  /** The operator's file, as the user wrote it. */
  readonly file: string
  /** The ServiceAccount whose rights it has. Empty: the account of its manifests. Absent: it has all rights. */
  readonly as?: string | undefined
  /** Whether it keeps its leader election. */
  readonly elects: boolean
  /** The port of its webhooks on 127.0.0.1, the same for all its starts: the API keeps their address. */
  readonly webhookPort: number
  /** The port of its health, metrics and profiles on 127.0.0.1. */
  readonly monitoringPort: number
}

export interface SessionAccount {
  readonly namespace: string
  readonly name: string
  readonly hasOwnRoles: boolean
  /** What it needs in each cluster. */
  readonly manifests: readonly Manifest[]
}

export interface SessionRequest {
  readonly operator: string
  readonly pid: number
  /**
   * The kinds that it reconciles in its own cluster, first those that it defines, then those that it only watches, as
   * `group/version/plural`.
   */
  readonly kinds: readonly string[]
  /** Its other clusters, each with its kinds. */
  readonly clusters: readonly { readonly name: string; readonly kinds: readonly string[] }[]
  /** Whether it installs webhooks, and sends a notice when they are in place. */
  readonly webhooks: boolean
  /** Absent: it has all rights. */
  readonly account?: SessionAccount
}

/** The first line of the response, whose body stays open for as long as the command runs. */
export interface SessionResponse {
  /** The number of this start, from 1. */
  readonly start: number
  /** How long the restart took, from the end of the last run, or after a crash from the save. Absent if unknown. */
  readonly downMs?: number
  /** The file that changed. Absent if unknown. */
  readonly changed?: string
  /** The tokens of its account, by cluster; that of its own cluster has an empty name. */
  readonly tokens?: Readonly<Record<string, string>>
  /** Why it must not run. */
  readonly refused?: string
  /** What the page of `--ui` has paused. Absent without that option: then no {@link LoopBatch} is sent. */
  readonly paused?: Paused
}

/** The runs that are held: of all keys, or of some, each as `controller key`. */
export interface Paused {
  readonly all: boolean
  readonly keys: readonly string[]
}

/**
 * What the page asks for, a further line of the response. `step` is one run of a held key, without a key of the one
 * that has been held for the longest time; `replay` is a run of any key.
 */
export interface LoopCommand {
  readonly action: 'pause' | 'resume' | 'step' | 'replay'
  /** Both or none: then the action is for all keys. */
  readonly controller?: string
  readonly key?: string
}

/** An error with the user's own frames, the innermost first, and the line of source of that one. */
export interface LoopError {
  readonly message: string
  readonly frames: readonly string[]
  readonly line?: string
}

export type LoopRun =
  & Pick<ReconcileReport, 'controller' | 'kind' | 'key' | 'cluster' | 'causes' | 'count' | 'attempt' | 'writes'>
  & {
    readonly endedMs: number
    readonly durationMs: number
    /** When it runs again without another cause. */
    readonly againMs?: number | undefined
    readonly error?: LoopError | undefined
  }

/** The keys of a controller: how many wait for a worker, which run and since when, and which are held. */
export interface LoopQueue {
  readonly controller: string
  readonly kind: string
  readonly cluster?: string | undefined
  readonly queued: number
  readonly running: readonly { readonly key: string; readonly sinceMs: number }[]
  readonly held: readonly string[]
  readonly heldCount: number
}

export interface LoopBatch {
  readonly runs: readonly LoopRun[]
  /** Absent if nothing has changed. */
  readonly queues?: readonly LoopQueue[]
  /** Tasks that have failed, and that were started again. */
  readonly tasks: readonly { readonly name: string; readonly error?: LoopError }[]
  /** The number of runs that are left out, as the command did not take them in time. */
  readonly dropped: number
}

export interface Session {
  readonly response: SessionResponse
  /** Resolves when the command has ended. */
  readonly ended: Promise<void>
  /** Never rejects: the command has ended then. */
  send(notice: Notice): Promise<void>
  /** Called with each further line of the response. */
  onCommand: ((command: LoopCommand) => void) | undefined
}

/** Opens a session, which then owns the connection. Resolves with undefined if the server is not `kubeloop dev`. */
export async function openSession(
  connection: ClosableTransport,
  description: OperatorDescription,
  pid: number,
  account?: SessionAccount,
): Promise<Session | undefined> {
  const kindsIn = (cluster?: OtherCluster): string[] => {
    const reconciled = description.controllers.filter(({ options }) => options.cluster === cluster)
      .map(({ resource }) => resource)
      .toSorted((a, b) => Number(b.definition !== undefined) - Number(a.definition !== undefined))
    return [...new Set([...reconciled, ...watchedResources(description, cluster)].map(resourceId))]
  }
  const clusters = description.clusters.map((cluster) => ({ name: cluster.name, kinds: kindsIn(cluster) }))
  const request: SessionRequest = {
    operator: description.options.name,
    pid,
    kinds: kindsIn(),
    clusters,
    webhooks: hasWebhooks(description),
    ...(account && { account }),
  }
  const headers = { 'content-type': 'application/json' }
  const response = await connection({ method: 'POST', path: SESSION_PATH, headers, body: JSON.stringify(request) })
  if (response.status !== 200) {
    response.body.cancel()
    connection.close()
    return undefined
  }
  const lines = linesOf(response.body)
  const { value: first } = await lines.next()
  if (!first) throw new Error('Cannot open a session with `kubeloop dev`: it has just ended; start it again')
  const follow = async (): Promise<void> => {
    for await (const line of lines) session.onCommand?.(JSON.parse(line) as LoopCommand)
  }
  const send = async (notice: Notice): Promise<void> => {
    const { body } = await connection({ method: 'POST', path: NOTICE_PATH, headers, body: JSON.stringify(notice) })
    body.cancel()
  }
  const session: Session = {
    response: JSON.parse(first) as SessionResponse,
    // If the connection breaks, the command has ended as well.
    ended: follow().catch(() => {}).finally(() => connection.close()),
    send: (notice) => send(notice).catch(() => {}),
    onCommand: undefined,
  }
  return session
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  for await (const batch of lineBatches(body)) yield* batch
}
