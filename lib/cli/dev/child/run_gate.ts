/** Decides which runs are held, for the page of `kubeloop dev --ui`. Has no clock and no queue. */
import type { LoopCommand, Paused } from '../session.ts'

/** A key whose run was held, and why it was queued, so that it is queued again for the same reasons. */
export interface HeldKey {
  readonly controller: string
  readonly key: string
  readonly causes: readonly string[]
}

const MAX_CAUSES = 8

/** A held run does nothing and succeeds, so that it keeps no worker: the key is queued again when it may run. */
export class RunGate {
  #all: boolean
  readonly #paused: Set<string>
  /** Keys that may run once all the same. */
  readonly #passes = new Set<string>()
  /** The one that is held for the longest time first. */
  readonly #held = new Map<string, HeldKey>()
  /** Held runs that have not been reported yet. */
  readonly #skipped = new Set<string>()
  readonly #queue: (keys: readonly HeldKey[]) => void

  /** `queue` adds keys to the queues of their controllers. */
  constructor({ all, keys }: Paused, queue: (keys: readonly HeldKey[]) => void) {
    this.#all = all
    this.#paused = new Set(keys)
    this.#queue = queue
  }

  held(controller: string): readonly string[] {
    return [...this.#held.values()].flatMap((each) => each.controller === controller ? [each.key] : [])
  }

  /** Returns whether a run that begins must do nothing. */
  begins(controller: string, key: string): boolean {
    const id = `${controller} ${key}`
    if (!this.#isPaused(id) || this.#passes.delete(id)) {
      this.#held.delete(id)
      return false
    }
    this.#skipped.add(id)
    if (!this.#held.has(id)) this.#held.set(id, { controller, key, causes: [] })
    return true
  }

  /** Returns whether the run that ends has done nothing, and notes its causes then. */
  ended({ controller, key, causes }: HeldKey): boolean {
    const id = `${controller} ${key}`
    if (!this.#skipped.delete(id)) return false
    const held = this.#held.get(id)
    const all = [...new Set([...held?.causes ?? [], ...causes])].slice(0, MAX_CAUSES)
    if (held) this.#held.set(id, { controller, key, causes: all })
    // It was released while the run was ending.
    else this.#queue([{ controller, key, causes: all }])
    return true
  }

  command({ action, controller, key }: LoopCommand): void {
    const id = controller === undefined ? undefined : `${controller} ${key}`
    if (action === 'pause' || action === 'resume') {
      const pauses = action === 'pause'
      if (id === undefined) this.#all = pauses
      else if (pauses) this.#paused.add(id)
      else this.#paused.delete(id)
      return this.#release([...this.#held.keys()].filter((each) => !this.#isPaused(each)))
    }
    const one = id ?? this.#held.keys().next().value
    if (one === undefined) return
    if (this.#isPaused(one)) this.#passes.add(one)
    if (action === 'step' && this.#held.has(one)) this.#release([one])
    else this.#queue([{ controller: controller!, key: key!, causes: [action] }])
  }

  #isPaused(id: string): boolean {
    return this.#all || this.#paused.has(id)
  }

  #release(ids: readonly string[]): void {
    // A run that is ending queues its key itself, as its causes are known then.
    const keys = ids.flatMap((id) => this.#skipped.has(id) ? [] : this.#held.get(id) ?? [])
    for (const id of ids) {
      this.#held.delete(id)
      if (!this.#isPaused(id)) this.#passes.delete(id)
    }
    if (keys.length > 0) this.#queue(keys)
  }
}
