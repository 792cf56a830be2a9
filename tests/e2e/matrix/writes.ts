/** Writes at 50 a second through both versions of a kind, and remembers what must be stored. */
import { sleep, systemClock } from '../../../lib/async/clock.ts'
import type { HttpRequest, Transport } from '../../../lib/core/transport.ts'
import { type Observed, reasonOf, type Refusal } from './verdict.ts'

/** `MAX_OPEN`: a slow server gets fewer writes. */
const [EVERY_MS, TIMEOUT_MS, MAX_OPEN] = [20, 10_000, 25]

// deno-lint-ignore no-explicit-any -- any object of the API
export type Reply = { readonly status: number; readonly body: any }
export type Send = (method: HttpRequest['method'], path: string, body?: object) => Promise<Reply>
export type Version = 'v1alpha1' | 'v1'

/** Returns a function that sends, also again when the server asks for it. */
export function sender(transport: Transport): Send {
  const send: Send = async (method, path, body) => {
    const patch = path.includes('fieldManager=') ? 'apply-patch+yaml' : 'merge-patch+json'
    const headers = { 'content-type': `application/${method === 'PATCH' ? patch : 'json'}` }
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    try {
      const { status, body: answer } = await transport({ method, path, headers, body: JSON.stringify(body), signal })
      const text = await answer.text()
      if (status !== 429) return { status, body: text.startsWith('{') ? JSON.parse(text) : { message: text.trim() } }
    } catch (error) {
      return { status: 0, body: { message: String(error) } }
    }
    await sleep(systemClock, 200)
    return await send(method, path, body)
  }
  return send
}

/** What an object must have: one of several values, where it is unknown whether a refused write was stored. */
interface Expected {
  readonly hosts: readonly string[]
  notes: string[]
  quotas: (number | undefined)[]
  readonly writtenMs: number[]
}

export class Writes {
  isPaused = false
  count = 0
  longestGapMs = 0
  readonly refusals: Refusal[] = []
  readonly unguardedMs: number[] = []
  readonly #at = { v1: { done: 0, refused: 0 }, v1alpha1: { done: 0, refused: 0 } }
  /** When a write was first denied, and when one was first completed. */
  readonly #admission = { denies: Infinity, defaults: Infinity }
  readonly #expected = new Map<string, Expected>()
  readonly #notInUse: string[] = []
  readonly #open = new Set<Promise<void>>()
  readonly #send: Send
  readonly #name: string

  constructor(send: Send, name: string) {
    ;[this.#send, this.#name] = [send, name]
  }

  path(version: Version, name = ''): string {
    return `/apis/${this.#name}.example.dev/${version}/namespaces/${this.#name}/sites${name && `/${name}`}`
  }

  async run(signal: AbortSignal): Promise<void> {
    const beganMs = systemClock.monotonic()
    for (let i = 0; !signal.aborted; i++) {
      await sleep(systemClock, Math.max(0, beganMs + i * EVERY_MS - systemClock.monotonic()))
      if (this.isPaused || this.#open.size >= MAX_OPEN) continue
      const one: Promise<void> = this.#write(i).finally(() => this.#open.delete(one))
      this.#open.add(one)
    }
    await this.idle()
    for (const version of ['v1', 'v1alpha1'] as const) this.#noteDone(version)
  }

  async idle(): Promise<void> {
    await Promise.all(this.#open)
  }

  /** Tests whether these versions were written for a second without a refusal, v1 with its admission. */
  isSteady(versions: readonly Version[], sinceMs: number): boolean {
    const fromMs = Date.now() - 1000
    const { denies, defaults } = this.#admission
    return fromMs > sinceMs && (!versions.includes('v1') || Math.max(denies, defaults) < fromMs) &&
      versions.every((version) => this.#at[version].done > fromMs && this.#at[version].refused < fromMs)
  }

  lost(items: readonly Reply['body'][]): Observed['lost'] {
    const stored = new Map(items.map((item) => [item.metadata.name as string, item.spec]))
    return [...this.#expected].flatMap(([name, { writtenMs, ...wanted }]) => {
      const { hosts, note, quota } = stored.get(name) ?? {}
      const isSame = String(hosts) === String(wanted.hosts) && wanted.notes.includes(note)
      const text = `${name} has ${JSON.stringify({ hosts, note, quota })}, not ${JSON.stringify(wanted)}`
      return isSame && wanted.quotas.includes(quota) ? [] : [{ text, writtenMs }]
    })
  }

  async #write(i: number): Promise<void> {
    const version = i % 2 === 0 ? 'v1alpha1' : 'v1'
    const used = i % 8 < 2 ? undefined : this.#notInUse.shift()
    const name = used ?? `s${i}`
    const note = i % 10 < 8 ? `n${i}` : 'forbidden'
    const hosts = version === 'v1' ? [`a${i}.dev`, `b${i}.dev`] : [`a${i}.dev`]
    const fromMs = Date.now()
    this.count++
    const { status, body } = await (used ? this.#update(i, version, note, name) : this.#create(i, version, note, hosts))
    const toMs = Date.now()
    const isDone = status === 200 || status === 201
    if (!used && isDone) this.#expected.set(name, { hosts, notes: [], quotas: [undefined], writtenMs: [] })
    const expected = this.#expected.get(name)
    if (expected) {
      this.#notInUse.push(name)
      expected.writtenMs.push(toMs)
      expected.notes = [...(isDone ? [] : expected.notes), note]
      if (version === 'v1') expected.quotas = [...(isDone ? [] : expected.quotas), i]
    }
    if (isDone) {
      const { denies, defaults } = this.#admission
      if (!used && body.spec.issuer) this.#admission.defaults = Math.min(defaults, toMs)
      const isUndefaulted = !used && !body.spec.issuer && fromMs > defaults
      if (isUndefaulted || (note === 'forbidden' && fromMs > denies)) this.unguardedMs.push(toMs)
      return this.#noteDone(version)
    }
    const message = `${status} ${body.message ?? ''}`
    const reason = reasonOf(message)
    if (reason === 'denied' && note === 'forbidden') {
      this.#admission.denies = Math.min(this.#admission.denies, toMs)
      return
    }
    this.#at[version].refused = toMs
    this.refusals.push({ fromMs, toMs, reason, text: `${used ? 'update' : 'create'} ${version}: ${message}` })
  }

  #create(i: number, version: Version, note: string, hosts: readonly string[]): Promise<Reply> {
    const spec = version === 'v1' ? { hosts, note, quota: i } : { host: hosts[0], note }
    const apiVersion = `${this.#name}.example.dev/${version}`
    return this.#send('POST', this.path(version), { apiVersion, kind: 'Site', metadata: { name: `s${i}` }, spec })
  }

  async #update(i: number, version: Version, note: string, name: string): Promise<Reply> {
    const found = await this.#send('GET', this.path(version, name))
    if (found.status !== 200) return found
    const spec = { ...found.body.spec, note, ...(version === 'v1' && { quota: i }) }
    return await this.#send('PUT', this.path(version, name), { ...found.body, spec })
  }

  #noteDone(version: Version): void {
    const [at, nowMs] = [this.#at[version], Date.now()]
    if (at.done > 0) this.longestGapMs = Math.max(this.longestGapMs, nowMs - at.done)
    at.done = nowMs
  }
}
