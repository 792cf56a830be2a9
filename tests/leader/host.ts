/** A simulated machine with its own clocks and an event loop that can be blocked. */
import type { Clock } from '../../lib/async/clock.ts'
import type { HttpResponse, Transport } from '../../lib/core/transport.ts'
import type { FakeClock } from '../../lib/async/fake_clock.ts'

export interface HostOptions {
  /** How fast its clocks run. Default: 1. */
  readonly rate?: number
  /** The initial lead of its wall clock. Default: 0. */
  readonly aheadMs?: number
}

export class Host implements Clock {
  readonly #clock: FakeClock
  readonly #rate: number
  #aheadMs: number
  /** How long its monotonic clock was stopped, in true time. */
  #sleptMs = 0
  /** Since when the event loop is blocked, and whether the monotonic clock is stopped, too. */
  #blocked: { readonly sinceMs: number; readonly asleep: boolean } | undefined
  #waiting: (() => void)[] = []

  constructor(clock: FakeClock, { rate = 1, aheadMs = 0 }: HostOptions = {}) {
    this.#clock = clock
    this.#rate = rate
    this.#aheadMs = aheadMs
  }

  now(): number {
    return Math.floor(this.#clock.now() + this.#clock.monotonic() * (this.#rate - 1) + this.#aheadMs)
  }

  monotonic(): number {
    const asleepMs = this.#blocked?.asleep ? this.#clock.monotonic() - this.#blocked.sinceMs : 0
    return (this.#clock.monotonic() - this.#sleptMs - asleepMs) * this.#rate
  }

  after(ms: number, fire: () => void): () => void {
    const dueMs = this.monotonic() + ms
    let cancel = (): void => {}
    let isCancelled = false
    const arm = (): void => {
      cancel = this.#clock.after(Math.max(0, dueMs - this.monotonic()) / this.#rate, () => {
        if (this.#blocked) this.#waiting.push(() => isCancelled || arm())
        else if (dueMs - this.monotonic() > 1e-6) arm()
        else fire()
      })
    }
    arm()
    return () => {
      isCancelled = true
      cancel()
    }
  }

  get blocked(): boolean {
    return this.#blocked !== undefined
  }

  /** Blocks the event loop; with `asleep`, stops the machine and its monotonic clock. The wall clock continues. */
  suspend(asleep: boolean): void {
    this.#blocked ??= { sinceMs: this.#clock.monotonic(), asleep }
  }

  resume(): void {
    if (!this.#blocked) return
    if (this.#blocked.asleep) this.#sleptMs += this.#clock.monotonic() - this.#blocked.sinceMs
    this.#blocked = undefined
    for (const go of this.#waiting.splice(0)) go()
  }

  /** Sets the wall clock. */
  setWall(byMs: number): void {
    this.#aheadMs += byMs
  }

  /** Resolves when its event loop runs. */
  async awake(): Promise<void> {
    while (this.#blocked) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Returns a transport that delivers nothing while the event loop is blocked. */
  online(inner: Transport): Transport {
    return async (request) => {
      let response: HttpResponse
      try {
        response = await inner(request)
      } finally {
        await this.awake()
      }
      const { body } = response
      const awake = (): Promise<void> => this.awake()
      return {
        ...response,
        body: {
          text: () => body.text(),
          cancel: () => body.cancel(),
          async *[Symbol.asyncIterator]() {
            try {
              for await (const chunk of body) {
                await awake()
                yield chunk
              }
            } finally {
              await awake()
            }
          },
        },
      }
    }
  }
}
