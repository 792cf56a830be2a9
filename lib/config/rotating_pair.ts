/** A client certificate and its key, in files that are replaced one after the other. */
import type { Clock } from '../async/clock.ts'
import { jsonEqual } from '../core/equal.ts'
import type { Log } from '../observe/log.ts'
import { isPair } from '../runtime/os/builtins.ts'

/** A value that may change. */
export interface Source<T> {
  /** `closed`: the end of the reader. */
  read(closed?: AbortSignal): Promise<T>
  invalidate(): void
}

export interface Pair {
  readonly cert: string
  readonly key: string
}

export interface RotatingPairOptions {
  readonly cert: Source<string>
  readonly key: Source<string>
  readonly clock: Clock
  readonly log: Log
  /** The place in the kubeconfig, for the log. */
  readonly at: string
}

/** How long a mismatched pair is cached: the other file follows soon. */
const TORN_MS = 1000
/** How often a mismatched pair is reported. */
const WARN_MS = 60_000

export class RotatingPair implements Source<Pair> {
  readonly #options: RotatingPairOptions
  #last: Pair | undefined
  /** The last matching pair. */
  #good: Pair | undefined
  #tornUntilMs = -Infinity
  #warnAtMs = -Infinity

  constructor(options: RotatingPairOptions) {
    this.#options = options
  }

  /** Returns the files, or the last matching pair while they do not match. TLS refuses a first pair that does not. */
  async read(): Promise<Pair> {
    if (this.#last && this.#options.clock.monotonic() < this.#tornUntilMs) return this.#last
    let pair = await this.#readBoth()
    if (jsonEqual(pair, this.#good)) return (this.#last = this.#good!)
    if (!fits(pair)) {
      // Most often the other file was written meanwhile.
      this.invalidate()
      pair = await this.#readBoth()
    }
    if (fits(pair)) return (this.#last = this.#good = pair)
    this.#tornUntilMs = this.#options.clock.monotonic() + TORN_MS
    if (this.#good) this.#warn()
    return (this.#last = this.#good ?? pair)
  }

  /** Makes the next {@link read} read the files. */
  invalidate(): void {
    this.#tornUntilMs = -Infinity
    this.#options.cert.invalidate()
    this.#options.key.invalidate()
  }

  async #readBoth(): Promise<Pair> {
    const [cert, key] = await Promise.all([this.#options.cert.read(), this.#options.key.read()])
    return { cert, key }
  }

  #warn(): void {
    const { clock, log, at } = this.#options
    if (clock.monotonic() < this.#warnAtMs) return
    this.#warnAtMs = clock.monotonic() + WARN_MS
    log.warn('The client certificate and its key do not belong together, using the last two that did; replace both', {
      at,
    })
  }
}

/** Tests whether certificate and key match. Those that cannot be parsed, such as a half-written file, do not. */
export function fits({ cert, key }: Pair): boolean {
  try {
    return isPair(cert, key)
  } catch {
    return false // TLS reports the error if it stays
  }
}
