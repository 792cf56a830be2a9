/**
 * `/healthz` and `/readyz`, as pure functions of their checks, and the server of both. Paths, bodies and codes are those of
 * controller-runtime's and Kubernetes' own probes, so that what reads those reads these.
 */
import { messageOf } from '../../core/errors.ts'
import { formatMs } from '../../core/duration.ts'
import { untilAborted } from '../../async/abort.ts'
import { systemClock, within } from '../../async/clock.ts'
import { silentLog } from '../../observe/log.ts'
import { type ListenOptions, notFound, Server, textResponse } from './server.ts'

/** Healthy when it returns or resolves. What it throws is told to the log, and to whoever asks for this check by its path. */
export type HealthCheck = (signal: AbortSignal) => void | Promise<void>

/** Options of {@link HealthServer}. */
export interface HealthOptions extends ListenOptions {
  /** How long a check may take; then it has failed, and its signal is aborted. Default: 5 s. */
  readonly checkTimeoutMs?: number | undefined
}

/** The checks of one path: what they said last time, for the log. */
interface Endpoint {
  readonly path: string
  readonly checks: Map<string, HealthCheck>
  readonly failing: Map<string, string>
}

/** What became of one check. */
interface Part {
  readonly name: string
  readonly state: 'ok' | 'excluded' | 'failed'
}

/** Serves /healthz and /readyz. */
export class HealthServer extends Server {
  readonly #options: HealthOptions
  readonly #endpoints: readonly Endpoint[] = ['/healthz', '/readyz'].map((path) => ({
    path,
    checks: new Map(),
    failing: new Map(),
  }))

  /** Throws a TypeError for an address that is none. */
  constructor(options: HealthOptions = {}) {
    super({ ...options, name: 'health', fetch: (request) => this.fetch(request) })
    this.#options = options
  }

  /** A check of whether this process should be restarted. Throws when the name is taken or the server was started. */
  addLiveness(name: string, check: HealthCheck): void {
    this.#add(this.#endpoints[0]!, name, check)
  }

  /** A check of whether this process is of use to others. Throws when the name is taken or the server was started. */
  addReadiness(name: string, check: HealthCheck): void {
    this.#add(this.#endpoints[1]!, name, check)
  }

  /**
   * `/healthz` is 200 and `ok`, or 500 and one line for each check; `?verbose` gives the lines anyway, and `?exclude=name` leaves
   * a check out. `/healthz/name` is that check alone, and says why it failed. `/readyz` likewise. Without a check, both have `ping`.
   */
  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const path = pathname.replace(/\/+$/, '')
    for (const endpoint of this.#endpoints) {
      if (path === endpoint.path) return await this.#all(endpoint, searchParams, request.signal)
      if (!path.startsWith(`${endpoint.path}/`)) continue
      const name = decoded(path.slice(endpoint.path.length + 1))
      const check = checksOf(endpoint).get(name)
      if (check) return await this.#one(endpoint, name, check, request.signal)
    }
    return notFound()
  }

  #add({ path, checks }: Endpoint, name: string, check: HealthCheck): void {
    if (this.isStarted) throw new Error(`Cannot add the check "${name}" to ${path}: the server was started already`)
    if (!name) throw new TypeError(`Cannot add a check to ${path}: it has no name`)
    if (checks.has(name)) throw new Error(`Cannot add the check "${name}" to ${path}: there is one of that name`)
    checks.set(name, check)
  }

  async #all(endpoint: Endpoint, query: URLSearchParams, signal: AbortSignal): Promise<Response> {
    const excluded = new Set(query.getAll('exclude'))
    const checks = [...checksOf(endpoint)].sort(([a], [b]) => (a < b ? -1 : 1))
    const parts = await Promise.all(checks.map(async ([name, check]): Promise<Part> => {
      if (excluded.delete(name)) return { name, state: 'excluded' }
      return { name, state: (await this.#run(endpoint, name, check, signal)) === undefined ? 'ok' : 'failed' }
    }))
    const failed = parts.some(({ state }) => state === 'failed')
    const text = failed || query.has('verbose') ? report(parts, [...excluded], failed) : 'ok'
    return textResponse(failed ? 500 : 200, text)
  }

  async #one(endpoint: Endpoint, name: string, check: HealthCheck, signal: AbortSignal): Promise<Response> {
    const failure = await this.#run(endpoint, name, check, signal)
    if (failure === undefined) return textResponse(200, 'ok')
    return textResponse(500, `internal server error: ${messageOf(failure)}\n`)
  }

  /** What is wrong; undefined when nothing is. Told to the log when it is new. */
  async #run({ path, failing }: Endpoint, name: string, check: HealthCheck, signal: AbortSignal): Promise<unknown> {
    const { clock = systemClock, log = silentLog, checkTimeoutMs = 5000 } = this.#options
    const late = (): Error => new Error(`it did not answer within ${formatMs(checkTimeoutMs)}`)
    try {
      // An async function, so that a throw is a rejection.
      await within(
        clock,
        checkTimeoutMs,
        late,
        (limited) => untilAborted((async () => await check(limited))(), limited),
        signal,
      )
      if (failing.delete(name)) log.info(`The check "${name}" of ${path} is well again`)
      return undefined
    } catch (thrown) {
      const failure = thrown ?? new Error('it failed without saying why')
      // Whoever asked has gone: nobody hears the answer, and the check may be well.
      if (signal.aborted) return failure
      const message = `The check "${name}" of ${path} fails: ${withCauses(failure)}`
      if (failing.get(name) !== message) log.warn(message)
      failing.set(name, message)
      return failure
    }
  }
}

function checksOf({ checks }: Endpoint): ReadonlyMap<string, HealthCheck> {
  return checks.size > 0 ? checks : PING
}

const PING: ReadonlyMap<string, HealthCheck> = new Map([['ping', () => {}]])

function report(parts: readonly Part[], unknown: readonly string[], failed: boolean): string {
  const lines = parts.map(({ name, state }) => {
    if (state === 'failed') return `[-]${name} failed: reason withheld`
    return `[+]${name} ${state === 'excluded' ? 'excluded: ok' : 'ok'}`
  })
  if (unknown.length > 0) {
    lines.push(
      `warn: some health checks cannot be excluded: no matches for ${
        unknown.map((name) => JSON.stringify(name)).join(',')
      }`,
    )
  }
  return [...lines, `healthz check ${failed ? 'failed' : 'passed'}`, ''].join('\n')
}

/** The log may know what the answer withholds. */
function withCauses(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${withCauses(cause)}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // No check is called that.
    return text
  }
}
