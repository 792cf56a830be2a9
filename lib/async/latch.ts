/** A promise that is resolved from outside, once. */

export class Latch<T = void> {
  readonly opened: Promise<T>
  #open: (value: T) => void = () => {}
  #isOpen = false

  constructor() {
    this.opened = new Promise((resolve) => (this.#open = resolve))
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  open(value: T): void {
    this.#isOpen = true
    this.#open(value)
  }
}
