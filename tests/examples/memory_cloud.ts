/** A cloud in memory. Tests set the state of its buckets. */
import type { Cloud } from '../../examples/3_external_bucket.ts'

interface Stored {
  readonly region: string
  readonly token: string
  state: 'creating' | 'ready' | 'refused' | 'going'
}

export class MemoryCloud implements Cloud {
  readonly buckets = new Map<string, Stored>()
  /** The calls, in order. */
  readonly calls: string[] = []
  /** Thrown by the next calls, one each. */
  readonly failures: Error[] = []
  /** How many calls of destroy return `going`. */
  goingFor = 0

  async create(id: string, region: string, token: string, signal: AbortSignal): Promise<void> {
    this.#begin('create', signal)
    this.buckets.set(id, { region, token, state: 'creating' })
  }

  async state(id: string, signal: AbortSignal): Promise<{ ready: boolean; url: string } | 'refused' | undefined> {
    this.#begin('state', signal)
    const bucket = this.buckets.get(id)
    if (!bucket || bucket.state === 'refused') return bucket && 'refused'
    return { ready: bucket.state === 'ready', url: `https://${id}.${bucket.region}.example.dev` }
  }

  async destroy(id: string, signal: AbortSignal): Promise<'gone' | 'going'> {
    this.#begin('destroy', signal)
    if (this.goingFor-- > 0) return 'going'
    this.buckets.delete(id)
    return 'gone'
  }

  #begin(call: string, signal: AbortSignal): void {
    signal.throwIfAborted()
    this.calls.push(call)
    const failure = this.failures.shift()
    if (failure) throw failure
  }
}
