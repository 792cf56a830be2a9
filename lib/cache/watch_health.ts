/** What is wrong with a watch at the moment, and what of that is worth a line in the log. */
import { ApiError, isExpired, messageOf, NetworkError } from '../core/errors.ts'
import { formatMs } from '../core/duration.ts'
import { type AnyResource, groupResourceOf } from '../core/resource.ts'
import type { Log } from '../observe/log.ts'
import { clusterSuffix } from '../client/api.ts'
import { isMissingKind, withRule } from '../client/codec.ts'

/**
 * A person hears at once, and once, of what he must mend. What mends itself (a connection that breaks, a server that is
 * busy) is mentioned when it happens a second time in a row. That a version has expired is daily life.
 */
export class WatchHealth {
  readonly #resource: AnyResource
  readonly #title: string
  readonly #log: Log
  readonly #optional: boolean
  #failure: { readonly error: unknown; readonly synced: boolean } | undefined
  #wasServed = false
  /** What kind of failure was announced, so that another kind is announced too. */
  #announced: string | undefined

  /** `optional`: a kind whose definition others install. */
  constructor(
    resource: AnyResource,
    log: Log,
    { cluster, optional = false }: { readonly cluster?: string | undefined; readonly optional?: boolean } = {},
  ) {
    this.#resource = resource
    this.#title = `${groupResourceOf(resource)}${clusterSuffix({ cluster })}`
    this.#log = log
    this.#optional = optional
  }

  /** The last failure, until something goes well again. */
  get failure(): unknown {
    return this.#failure?.error
  }

  /** `synced`: there was a first list, so that nobody waits for this one. */
  failed(error: unknown, waitMs: number, synced: boolean): void {
    const isFirst = this.#failure === undefined
    if (synced) this.#wasServed = true
    const next = `next try in ${formatMs(waitMs)}`
    this.#failure = { error, synced }
    const which = kindOfFailure(error)
    const isQuiet = isExpired(error) || (synced && isFirst && mendsItself(error))
    if (isQuiet || which === this.#announced) return this.#log.debug(`${messageOf(error)}; ${next}`)
    this.#announced = which
    this.#log.warn(
      `${this.explain(error)}; ${next}`,
      error instanceof Error && error.cause !== undefined ? { cause: error.cause } : {},
    )
  }

  /** A list came, a watch was accepted, or an event was heard. */
  recovered(): void {
    const again = this.#failure?.synced ? ' again' : ''
    this.#failure = undefined
    this.#wasServed = true
    if (this.#announced === undefined) return
    this.#announced = undefined
    this.#log.info(`Watching ${this.#title}${again}`)
  }

  /** Says what cannot be watched, and what to do. */
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
    const message = messageOf(error)
    if (error instanceof ApiError && error.code === 403) {
      return withRule(
        message,
        ['list', 'watch'],
        ` (the operator's role needs list and watch on ${groupResourceOf(this.#resource)})`,
      )
    }
    // A transport names its host, and not the kind; errors of a watch name both.
    return error instanceof NetworkError && !message.startsWith('Cannot watch ')
      ? `Cannot watch ${this.#title}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
      : message
  }
}

function mendsItself(error: unknown): boolean {
  return error instanceof NetworkError || (error instanceof ApiError && (error.code === 429 || error.code >= 500))
}

function kindOfFailure(error: unknown): string {
  if (error instanceof ApiError) return String(error.code)
  return error instanceof Error ? error.name : typeof error
}
