/** A small file that somebody else replaces now and then: a projected token, a CA bundle, a client certificate. */
import { ConfigError, messageOf } from '../core/errors.ts'
import type { Log } from '../observe/log.ts'
import { type Environment, isNotFound } from './environment.ts'

/** The kubelet renews a token when a fifth of its life is left; client-go and client-node look once a minute, too. */
const REREAD_MS = 60_000

export interface RotatingFileOptions {
  readonly environment: Environment
  readonly log: Log
  readonly file: string
  /** What the file is, for messages: `token`, `certificate-authority`. */
  readonly what: string
  /** Makes of the text what is wanted, and throws a ConfigError when it is not that. */
  readonly parse: (text: string) => string
}

/** Text that is read again about once a minute, when somebody asks for it. */
export class RotatingFile {
  readonly #options: RotatingFileOptions
  #last: { readonly text: string; readonly readAt: number } | undefined
  #reading: Promise<string> | undefined

  constructor(options: RotatingFileOptions) {
    this.#options = options
  }

  /** While the file cannot be read, the text that was read last is used on. @throws ConfigError when there is none. */
  read(): Promise<string> {
    const { clock } = this.#options.environment
    if (this.#last && clock.monotonic() - this.#last.readAt < REREAD_MS) return Promise.resolve(this.#last.text)
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  /** The next {@link read} looks at the file. */
  invalidate(): void {
    if (this.#last) this.#last = { ...this.#last, readAt: -Infinity }
  }

  async #read(): Promise<string> {
    const { environment, log, file, what, parse } = this.#options
    let text: string
    try {
      text = parse(await environment.readText(file))
    } catch (error) {
      const problem = readFailure(file, what, error)
      if (!this.#last) throw problem
      log.warn('Using the last text of a file that cannot be read now', { file, error: problem.message })
      text = this.#last.text
    }
    this.#last = { text, readAt: environment.clock.monotonic() }
    return text
  }
}

/** What a file that cannot be read means. ConfigErrors pass through. */
export function readFailure(file: string, what: string, error: unknown): ConfigError {
  if (error instanceof ConfigError) return error
  if (isNotFound(error)) return new ConfigError(`Cannot read ${what} ${file}: there is no such file`, { cause: error })
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EACCES' || code === 'EPERM') {
    return new ConfigError(`Cannot read ${what} ${file}: permission denied`, { cause: error })
  }
  if (error instanceof Error && error.name === 'NotCapable') {
    return new ConfigError(`Cannot read ${what} ${file}: Deno needs --allow-read=${file}`, { cause: error })
  }
  return new ConfigError(`Cannot read ${what} ${file}: ${messageOf(error)}`, { cause: error })
}
