/** Sends the events of a watch in order while a webhook converts their objects. */
import { Session, type Webhooks } from './session.ts'

const RETRY_MS = 1000

/** Runs functions one after another, each until it no longer waits for a webhook. */
export class OrderedWork {
  readonly #webhooks: Webhooks
  readonly #isOpen: () => boolean
  readonly #waiting: (() => void)[] = []
  #isBusy = false

  /** Work that waits when `isOpen` returns false is dropped. */
  constructor(webhooks: Webhooks, isOpen: () => boolean) {
    this.#webhooks = webhooks
    this.#isOpen = isOpen
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  add(work: () => void): void {
    this.#waiting.push(work)
    if (!this.#isBusy) void this.#drain()
  }

  async #drain(): Promise<void> {
    this.#isBusy = true
    for (let work = this.#waiting[0]; work && this.#isOpen(); work = this.#waiting[0]) {
      try {
        await this.#webhooks.run(new Session(undefined), work)
        this.#waiting.shift()
      } catch (error) {
        // As on a real server, the watch stays open and silent until the webhook is back.
        this.#webhooks.log.warn('A watch waits for its conversion webhook', { error, retryMs: RETRY_MS })
        await new Promise<void>((resolve) => this.#webhooks.clock.after(RETRY_MS, resolve))
      }
    }
    if (!this.#isOpen()) this.#waiting.length = 0
    this.#isBusy = false
  }
}
