/** A small file that is replaced from outside: a projected token, a CA bundle, a client certificate. */
import { ConfigError, messageOf, NOT_CAPABLE } from '../core/errors.ts'
import type { Log } from '../observe/log.ts'
import { isMissing } from '../runtime/os/files.ts'
import type { Environment } from './environment.ts'

/** As client-go. The kubelet renews a token when a fifth of its life is left. */
const REREAD_MS = 60_000

export interface RotatingFileOptions {
  readonly environment: Environment
  readonly log: Log
  readonly file: string
  /** The file's purpose, for messages: `token`, `certificate-authority`. */
  readonly what: string
  /** Parses the text. Throws a ConfigError if it is invalid. */
  readonly parse: (text: string) => string
}

/** Text that is read again at most once a minute, at a call of {@link read}. */
export class RotatingFile {
  readonly #options: RotatingFileOptions
  #last: { readonly text: string; readonly readAt: number } | undefined
  #reading: Promise<string> | undefined
  #isStale = false
  #warnAtMs = -Infinity

  constructor(options: RotatingFileOptions) {
    this.#options = options
  }

  /** Returns the text; the last one while the file cannot be read. @throws ConfigError if there is none. */
  read(): Promise<string> {
    const { clock } = this.#options.environment
    const isFresh = this.#last && !this.#reading && !this.#isStale && clock.monotonic() - this.#last.readAt < REREAD_MS
    if (isFresh) return Promise.resolve(this.#last!.text)
    const begun = this.#reading
    if (begun && !this.#isStale) return begun
    // A read that has begun may have the text from before the invalidation. Its own callers get its error.
    const read = begun ? begun.catch(() => {}).then(() => this.#read()) : this.#read()
    const reading = read.finally(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    this.#isStale = false
    return (this.#reading = reading)
  }

  /** Makes the next {@link read} read the file. */
  invalidate(): void {
    this.#isStale = true
  }

  async #read(): Promise<string> {
    const { environment, log, file, what, parse } = this.#options
    let text: string
    try {
      text = parse(await environment.readText(file))
    } catch (error) {
      const problem = readFailure(file, what, error)
      if (!this.#last) throw problem
      if (environment.clock.monotonic() >= this.#warnAtMs) {
        // A server that refuses the text has it read again at each request.
        this.#warnAtMs = environment.clock.monotonic() + REREAD_MS
        log.warn('Using the last text of a file that cannot be read now', { file, error: problem.message })
      }
      text = this.#last.text
    }
    this.#last = { text, readAt: environment.clock.monotonic() }
    return text
  }
}

/** Returns the ConfigError for a file that cannot be read. ConfigErrors pass through. */
export function readFailure(file: string, what: string, error: unknown): ConfigError {
  if (error instanceof ConfigError) return error
  const { code, name } = (error instanceof Error ? error : {}) as { readonly code?: unknown; readonly name?: string }
  const why = isMissing(error)
    ? 'there is no such file'
    : code === 'EACCES' || code === 'EPERM'
    ? 'permission denied'
    : name === NOT_CAPABLE
    ? `Deno needs --allow-read=${file}`
    : messageOf(error)
  return new ConfigError(`Cannot read ${what} ${file}: ${why}`, { cause: error })
}
