/** A machine in a test: clocks of its own, and an event loop that can stand still. */
import type { Clock } from '../../lib/async/clock.ts'
import type { HttpResponse, Transport } from '../../lib/core/transport.ts'
import type { FakeClock } from '../../lib/testing/fake_clock.ts'

export interface HostOptions {
  /** How fast its clocks run. Default: 1. */
  readonly rate?: number
  /** How far its wall clock is ahead at the beginning. Default: 0. */
  readonly aheadMs?: number
}

export class Host implements Clock {
  readonly #clock: FakeClock
  readonly #rate: number
  #aheadMs: number
  /** How long its monotonic clock stood still, by the true time. */
  #sleptMs = 0
  /** Since when the event loop stands still, and whether the monotonic clock does too. */
  #still: { readonly sinceMs: number; readonly asleep: boolean } | undefined
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
    const asleepMs = this.#still?.asleep ? this.#clock.monotonic() - this.#still.sinceMs : 0
    return (this.#clock.monotonic() - this.#sleptMs - asleepMs) * this.#rate
  }

  after(ms: number, fire: () => void): () => void {
    const dueMs = this.monotonic() + ms
    let cancel = (): void => {}
    let isCancelled = false
    const arm = (): void => {
      cancel = this.#clock.after(Math.max(0, dueMs - this.monotonic()) / this.#rate, () => {
        if (this.#still) this.#waiting.push(() => isCancelled || arm())
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

  get still(): boolean {
    return this.#still !== undefined
  }

  /** The event loop stands still; `asleep`: the machine does, and its monotonic clock with it. The wall clock goes on. */
  suspend(asleep: boolean): void {
    this.#still ??= { sinceMs: this.#clock.monotonic(), asleep }
  }

  resume(): void {
    if (!this.#still) return
    if (this.#still.asleep) this.#sleptMs += this.#clock.monotonic() - this.#still.sinceMs
    this.#still = undefined
    for (const go of this.#waiting.splice(0)) go()
  }

  /** Somebody sets the wall clock. */
  setWall(byMs: number): void {
    this.#aheadMs += byMs
  }

  /** Settles when its event loop runs. */
  async awake(): Promise<void> {
    while (this.#still) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** What comes in over the network is not looked at while the event loop stands still. */
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
