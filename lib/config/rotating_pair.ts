/** A client certificate and its key in files that are replaced one after the other. */
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import { isPair } from '../runtime/net/key_pair.ts'

/** A value that may change, and how to have it looked at again. */
export interface Source<T> {
  read(): Promise<T>
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
  /** Where the pair is named, for the log. */
  readonly at: string
}

/** How long a pair that does not fit is believed: the other half is written soon. */
const TORN_MS = 1000
/** How often a pair that still does not fit is reported. */
const WARN_MS = 60_000

export class RotatingPair implements Source<Pair> {
  readonly #options: RotatingPairOptions
  /** What was returned last. */
  #last: Pair | undefined
  /** The last that fitted. */
  #good: Pair | undefined
  #tornUntilMs = -Infinity
  #warnAtMs = -Infinity

  constructor(options: RotatingPairOptions) {
    this.#options = options
  }

  /** While the two do not belong together, returns the last two that did; without any, what the files have, for TLS to refuse. */
  async read(): Promise<Pair> {
    if (this.#last && this.#options.clock.monotonic() < this.#tornUntilMs) return this.#last
    let pair = await this.#readBoth()
    if (this.#good && isSame(pair, this.#good)) return (this.#last = this.#good)
    if (!fits(pair)) {
      // Most often the other half was written meanwhile.
      this.invalidate()
      pair = await this.#readBoth()
    }
    if (fits(pair)) return (this.#last = this.#good = pair)
    this.#tornUntilMs = this.#options.clock.monotonic() + TORN_MS
    if (this.#good) this.#warn()
    return (this.#last = this.#good ?? pair)
  }

  /** The next {@link read} looks at the files. */
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

function isSame(a: Pair, b: Pair): boolean {
  return a.cert === b.cert && a.key === b.key
}

/** What cannot be read, as a file that is half written, is no pair either. */
function fits({ cert, key }: Pair): boolean {
  try {
    return isPair(cert, key)
  } catch {
    return false // TLS says what is wrong with it, if it stays so
  }
}
