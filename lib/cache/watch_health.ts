/** Tracks the current failure of a watch and decides what is logged. */
import { ApiError, isExpired, messageOf, NetworkError } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { type AnyResource, clusterSuffix, groupResourceOf } from '../core/resource.ts'
import type { Clock } from '../async/clock.ts'
import { type Log, RateLimitedLog } from '../observe/log.ts'
import { isMissingKind, withVerbs } from '../client/codec.ts'

/**
 * A failure that needs a person is logged as a warning at once, and only once. A temporary failure (a broken
 * connection, a busy server) is logged as a warning when it happens twice in a row, at a limited rate for all kinds of
 * a server. An expired version is normal and never a warning.
 */
export class WatchHealth {
  readonly #resource: AnyResource
  readonly #title: string
  readonly #log: Log
  readonly #optional: boolean
  readonly #outages: RateLimitedLog | undefined
  #failure: { readonly error: unknown } | undefined
  /** Whether the server has served the kind: a list is in the store, or a watch or an event has come. */
  #wasServed = false
  /** The kind of the failure that was logged as a warning. */
  #warned: unknown

  /** `optional`: a kind whose definition is installed by others. */
  constructor(
    resource: AnyResource,
    log: Log,
    { cluster, optional = false, outages }: {
      readonly cluster?: string | undefined
      readonly optional?: boolean
      /** Shared by the kinds of a server: while it is down, all of them fail for the same reason. */
      readonly outages?: RateLimitedLog | undefined
    } = {},
  ) {
    this.#outages = outages
    this.#resource = resource
    this.#title = `${groupResourceOf(resource)}${clusterSuffix({ cluster })}`
    this.#log = log
    this.#optional = optional
  }

  /** The last failure; undefined after a recovery. */
  get failure(): unknown {
    return this.#failure?.error
  }

  /** Logs a failure. `synced`: the first list is in the store, so the start does not wait for this one. */
  failed(error: unknown, waitMs: number, synced: boolean): void {
    const isFirst = this.#failure === undefined
    if (synced) this.#wasServed = true
    const line = `${this.explain(error)}; next try in ${formatMs(waitMs)}`
    this.#failure = { error }
    const kind = kindOfFailure(error)
    const isQuiet = isExpired(error) || (synced && isFirst && isTemporary(error))
    if (isQuiet || kind === this.#warned) return this.#log.debug(line)
    const warn = (more: string): void => {
      // A line that was only counted comes with a later try: its server may be back with a wrong certificate.
      this.#warned = kind
      this.#log.warn(line + more, error instanceof Error && error.cause !== undefined ? { cause: error.cause } : {})
    }
    if (this.#outages && isTemporary(error)) this.#outages.line(warn)
    else warn('')
  }

  /** Called for each list, accepted watch and event. */
  recovered(): void {
    const again = this.#wasServed ? ' again' : ''
    this.#failure = undefined
    this.#wasServed = true
    if (this.#warned === undefined) return
    this.#warned = undefined
    this.#log.info(`Watching ${this.#title}${again}`)
  }

  /** Returns a message that names what cannot be watched, and what to do. */
  explain(error: unknown): string {
    if (isMissingKind(error)) {
      const isOurs = this.#resource.definition !== undefined
      // Not installed again by itself: deleting the definition may be the first step of removing the operator.
      if (isOurs && this.#wasServed) {
        const restart = this.#optional ? '' : ", or restart the operator with crds: 'install'"
        return `Cannot watch ${this.#title}: the server no longer serves ${this.#resource.version} of it, so its ` +
          `CustomResourceDefinition was deleted, with its objects, or changed; install it again${restart}`
      }
      const remedy = isOurs
        ? `install its CustomResourceDefinition${this.#optional ? '' : `, or set crds: 'install'`}`
        : 'is its API enabled there?'
      return `Cannot watch ${this.#title}: the server does not serve ${this.#resource.version} of it (${remedy})`
    }
    // A 403 of RBAC names the rule, and one of a proxy has nothing to do with a role.
    const message = withVerbs(messageOf(error), 'list', 'watch')
    // A NetworkError of a transport names the host only, and an error of a decoder nothing.
    return /^Cannot (watch|list) /.test(message)
      ? message
      : `Cannot watch ${this.#title}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
  }
}

const outageLogs = new WeakMap<object, RateLimitedLog>()

/** Returns the log that all kinds of one connection share. */
export function outageLogOf(api: object, clock: Clock): RateLimitedLog {
  let log = outageLogs.get(api)
  if (!log) outageLogs.set(api, log = new RateLimitedLog(clock))
  return log
}

/** Returns whether a failure is one of the connection or of a busy server, rather than a refusal. */
export function isTemporary(error: unknown): boolean {
  return error instanceof NetworkError || (error instanceof ApiError && (error.code === 429 || error.code >= 500))
}

function kindOfFailure(error: unknown): unknown {
  const { code, name } = Object(error) as Partial<NetworkError>
  return code ?? name ?? typeof error
}
