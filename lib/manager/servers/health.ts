/** Serves `/healthz` and `/readyz` with the paths, bodies and status codes of controller-runtime and Kubernetes. */
import { firstOf, isReason, messageOf } from '../../core/errors.ts'
import { formatMs } from '../../core/duration.ts'
import { groupResourceOf } from '../../core/resource.ts'
import { untilAborted } from '../../async/abort.ts'
import { systemClock, within } from '../../async/clock.ts'
import { RateLimitedLog, silentLog } from '../../observe/log.ts'
import type { Cache } from '../../cache/cache.ts'
import type { Informer } from '../../cache/informer.ts'
import { type ListenOptions, notFound, type Server, textResponse } from './server.ts'

/** Passes if it returns or resolves. Its error is logged, and is in the response to a request for this check alone. */
export type HealthCheck = (signal: AbortSignal) => void | Promise<void>

/** Options of {@link HealthServer}. */
export interface HealthOptions extends ListenOptions {
  /** The time limit of a check: then it fails, and its signal is aborted. Default: 5 s. */
  readonly checkTimeoutMs?: number | undefined
}

/** The checks of one path, and their last logged failures. */
interface Endpoint {
  readonly path: string
  readonly checks: Map<string, HealthCheck>
  readonly failing: Map<string, string>
}

/** The result of one check. */
interface Part {
  readonly name: string
  readonly state: 'ok' | 'excluded' | 'failed'
}

/** Serves /healthz and /readyz. */
export interface HealthServer extends Server {
  /**
   * Adds a check that fails if this process should be restarted. Throws if the name is taken or the server was started.
   */
  addLiveness(name: string, check: HealthCheck): void
  /**
   * Adds a check that fails if this process cannot serve others now. Throws if the name is taken or the server was
   * started.
   */
  addReadiness(name: string, check: HealthCheck): void
  fetch(request: Request): Promise<Response>
}

/**
 * Makes the server. The class is given, as this file is loaded beside mod.js, which has the only one.
 *
 * @throws TypeError if the address is invalid.
 */
export function healthServer(Class: typeof Server, options: HealthOptions = {}): HealthServer {
  const checks = new HealthChecks(options)
  const fetch = (request: Request): Promise<Response> => checks.answer(request)
  const server = new Class({ ...options, name: 'health', fetch, maxBodyBytes: 0 })
  const adds = (at: 0 | 1) => (name: string, check: HealthCheck): void => {
    const { path } = checks.endpoints[at]!
    if (server.isStarted) throw new Error(`Cannot add the check "${name}" to ${path}: the server was started already`)
    checks.add(checks.endpoints[at]!, name, check)
  }
  return Object.assign(server, { fetch, addLiveness: adds(0), addReadiness: adds(1) })
}

class HealthChecks {
  readonly #options: HealthOptions
  readonly endpoints: readonly Endpoint[] = ['/healthz', '/readyz'].map((path) => ({
    path,
    checks: new Map(),
    failing: new Map(),
  }))

  readonly #failureLog: RateLimitedLog

  constructor(options: HealthOptions) {
    this.#options = options
    this.#failureLog = new RateLimitedLog(options.clock ?? systemClock, options.log)
  }

  /**
   * Answers `/healthz` with 200 and `ok`, or with 500 and a line per check. `?verbose` always gives the lines,
   * `?exclude=name` skips a check. `/healthz/name` is one check, with the reason of its failure. `/readyz` is the same.
   * Without checks, both have `ping`.
   */
  async answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const path = pathname.replace(/\/+$/, '')
    for (const endpoint of this.endpoints) {
      if (path === endpoint.path) return await this.#all(endpoint, searchParams, request.signal)
      if (!path.startsWith(`${endpoint.path}/`)) continue
      const name = decoded(path.slice(endpoint.path.length + 1))
      const check = checksOf(endpoint).get(name)
      if (check) return await this.#one(endpoint, name, check, request.signal)
    }
    return notFound()
  }

  add({ path, checks }: Endpoint, name: string, check: HealthCheck): void {
    if (!name) throw new TypeError(`Cannot add a check to ${path}: it has no name`)
    if (checks.has(name)) throw new Error(`Cannot add the check "${name}" to ${path}: the name is taken`)
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

  /** Returns the error of a check, or undefined if it passed. Logs a new error. */
  async #run({ path, failing }: Endpoint, name: string, check: HealthCheck, signal: AbortSignal): Promise<unknown> {
    const { clock = systemClock, log = silentLog, checkTimeoutMs = 5000 } = this.#options
    const late = (): Error => new Error(`it did not answer within ${formatMs(checkTimeoutMs)}`)
    try {
      // The async function makes a throw a rejection.
      await within(
        clock,
        checkTimeoutMs,
        late,
        (limited) => untilAborted((async () => await check(limited))(), limited),
        signal,
      )
      if (failing.delete(name)) log.info(`The check "${name}" of ${path} passes again`)
      return undefined
    } catch (thrown) {
      const failure = thrown ?? new Error('it failed without an error')
      // The client has gone, which aborted the check: this proves nothing about it.
      if (signal.aborted) return failure
      const message = `The check "${name}" of ${path} fails: ${withCauses(failure)}`
      // A message may be another one at each probe.
      if (failing.get(name) !== message) this.#failureLog.warn(message)
      failing.set(name, message)
      return failure
    }
  }
}

function checksOf({ checks }: Endpoint): ReadonlyMap<string, HealthCheck> {
  return checks.size > 0 ? checks : PING
}

const PING: ReadonlyMap<string, HealthCheck> = new Map([['ping', ping]])

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

/** For the log, as the response withholds the causes. */
function withCauses(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${withCauses(cause)}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // No check has such a name.
    return text
  }
}

/** Succeeds whenever the process can answer. */
export function ping(): void {}

/**
 * Returns a check that fails while a kind has no first list or is refused (by RBAC, our identity, or a missing CRD).
 * The error names the kinds; the reason is only in its cause, which a probe does not show. A watch that breaks and
 * recovers does not fail the check: a restart of the API server would take every replica out of its service. Optional
 * kinds do not count. The first list of `converted` kinds (by `plural.group`) does not count either: it may need the
 * conversion of this process, which the API server calls through a Service only when this process is ready. A kind of
 * `others`, the caches of further clusters, counts until its first list: a credential that one of them revokes must not
 * take every replica out of the Services of its own cluster, such as that of the webhooks.
 */
export function cachesSynced(
  caches: readonly Cache[],
  converted: ReadonlySet<string> = new Set(),
  others: readonly Cache[] = [],
): HealthCheck {
  const informersOf = (of: readonly Cache[]): Informer[] =>
    of.flatMap((cache) => [...cache.informers()]).filter(({ optional }) => !optional)
  return () => {
    const bad = [
      ...informersOf(caches).filter(({ isSynced, failure, resource }) =>
        (!isSynced && !converted.has(groupResourceOf(resource))) || isRefused(failure)
      ),
      ...informersOf(others).filter(({ isSynced }) => !isSynced),
    ]
    if (bad.length === 0) return
    const reasons = bad.flatMap(({ title, problem }) => problem === undefined ? [] : `${title}: ${problem}`)
    throw new Error(`not synced: ${firstOf(bad.map(({ title }) => title), 5).join(', ')}`, {
      cause: firstOf(reasons, 5).join('; ') || undefined,
    })
  }
}

function isRefused(failure: unknown): boolean {
  return (['Forbidden', 'Unauthorized', 'NotFound'] as const).some((reason) => isReason(failure, reason))
}

/** Returns a check that fails while this process acts as leader without a valid lease. */
export function leaderHealthy(elector: { checkHealthy(): void }): HealthCheck {
  return () => elector.checkHealthy()
}
