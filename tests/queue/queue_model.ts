/** A slow and simple model of the queue's state: lists that are searched from the front. */

interface Ready {
  readonly key: string
  priority: number
  readonly addedMs: number
  /** Since when the key can be handed out. */
  readonly readyMs: number
  /** Its position within its priority. */
  place: number
  /** Since it waited for the patience: older ready keys that still wait, and hand-outs. */
  watched: { before: number; handOuts: number } | undefined
}

interface Working {
  readonly key: string
  readonly priority: number
  next: { priority: number; readonly addedMs: number } | undefined
}

interface Delayed {
  readonly key: string
  plain: number
  retry: number
  priority: number
  /** The due time, and the order among equal times. */
  due: number
  order: number
}

export class QueueModel {
  ready: Ready[] = []
  working: Working[] = []
  delayed: Delayed[] = []
  turnsAdded = 0
  #places = 0
  #orders = 0
  #sinceAged = 0
  readonly #patienceMs: number
  readonly #every: number

  constructor(patienceMs: number, every: number) {
    this.#patienceMs = patienceMs
    this.#every = every
  }

  add(key: string, priority: number, nowMs: number): boolean {
    const work = this.working.find((each) => each.key === key)
    const waits = work ? work.next : this.ready.find((each) => each.key === key)
    if (waits) {
      if (priority > waits.priority) {
        waits.priority = priority
        if (!work) (waits as Ready).place = this.#places++
      }
      return false
    }
    if (work) work.next = { priority, addedMs: nowMs }
    else this.#enter(key, priority, nowMs, nowMs)
    this.turnsAdded++
    return true
  }

  addAt(key: string, due: number, priority: number, retry: boolean): void {
    let known = this.delayed.find((each) => each.key === key)
    if (!known) this.delayed.push(known = { key, plain: Infinity, retry: Infinity, priority, due: Infinity, order: 0 })
    known.priority = Math.max(known.priority, priority)
    if (retry) known.retry = Math.min(known.retry, due)
    else known.plain = Math.min(known.plain, due)
    this.#reschedule(known)
  }

  cancelRetry(key: string): boolean {
    const known = this.delayed.find((each) => each.key === key)
    if (!known || known.retry === Infinity) return false
    known.retry = Infinity
    if (known.plain === Infinity) this.delayed = this.delayed.filter((each) => each !== known)
    else this.#reschedule(known)
    return true
  }

  remove(key: string): void {
    this.delayed = this.delayed.filter((each) => each.key !== key)
    this.ready = this.ready.filter((each) => each.key !== key)
    const work = this.working.find((each) => each.key === key)
    if (work) work.next = undefined
  }

  promote(nowMs: number): number {
    const due = this.delayed.filter((each) => each.due <= nowMs).sort((a, b) => a.due - b.due || a.order - b.order)
    this.delayed = this.delayed.filter((each) => !due.includes(each))
    return due.filter((each) => this.add(each.key, each.priority, nowMs)).length
  }

  nextDueMs(): number | undefined {
    return this.delayed.length === 0 ? undefined : Math.min(...this.delayed.map((each) => each.due))
  }

  take(nowMs: number): string | undefined {
    if (this.ready.length === 0) return undefined
    const first = this.ready.reduce((a, b) =>
      b.priority > a.priority || (b.priority === a.priority && b.place < a.place) ? b : a
    )
    const oldest = this.ready[0]!
    const byAge = oldest !== first && this.#sinceAged >= this.#every - 1 && nowMs - oldest.addedMs >= this.#patienceMs
    this.#sinceAged = byAge ? 0 : Math.min(this.#sinceAged + 1, this.#every - 1)
    const taken = byAge ? oldest : first
    this.#watch(nowMs, taken)
    this.ready = this.ready.filter((each) => each !== taken)
    this.working.push({ key: taken.key, priority: taken.priority, next: undefined })
    return taken.key
  }

  done(key: string, nowMs: number): void {
    const work = this.working.find((each) => each.key === key)
    if (!work) return
    this.working = this.working.filter((each) => each !== work)
    if (work.next) this.#enter(key, work.next.priority, work.next.addedMs, nowMs)
  }

  depths(): Map<number, number> {
    const depths = new Map<number, number>()
    for (const { priority } of [...this.ready, ...this.working.flatMap(({ next }) => next ?? [])]) {
      depths.set(priority, (depths.get(priority) ?? 0) + 1)
    }
    return depths
  }

  #enter(key: string, priority: number, addedMs: number, readyMs: number): void {
    const place = this.#places++
    this.ready.push({ key, priority, addedMs, readyMs, place, watched: undefined })
  }

  #reschedule(delayed: Delayed): void {
    const due = Math.min(delayed.plain, delayed.retry)
    if (due !== delayed.due) [delayed.due, delayed.order] = [due, this.#orders++]
  }

  /**
   * Checks the guaranteed bound: a key that waited for the patience, with m older keys, leaves within (m + 1) * every
   * hand-outs.
   */
  #watch(nowMs: number, taken: Ready): void {
    this.ready.forEach((each, before) => {
      if (nowMs - each.readyMs >= this.#patienceMs) each.watched ??= { before, handOuts: 0 }
      if (!each.watched) return
      const most = (each.watched.before + 1) * this.#every
      each.watched.handOuts++
      if (each.watched.handOuts > most || (each.watched.handOuts === most && each !== taken)) {
        throw new Error(`"${each.key}" was not handed out within ${most} hand-outs`)
      }
    })
  }
}
