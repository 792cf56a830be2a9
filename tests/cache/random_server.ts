/** A random API server: objects are created, changed and deleted, and connections break, all by one seed. */
import { NetworkError } from '../../lib/core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../../lib/core/objects.ts'
import type { HttpRequest, HttpResponse, Transport } from '../../lib/core/transport.ts'
import { sleep } from '../../lib/async/clock.ts'
import type { FakeClock } from '../../lib/async/fake_clock.ts'
import { list, pod, refusal, Stream } from './scripted_server.ts'

/** Random numbers by a seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** Returns a number in [0, 1). */
  next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** Returns an integer in [0, below). */
  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  pick<T>(values: readonly T[]): T {
    return values[this.int(values.length)]!
  }
}

/** How a connection ends besides its timeout: at a byte, or at a line. */
type Fate =
  | { readonly kind: 'cut' | 'end' | 'silent'; readonly atByte: number }
  | { readonly kind: 'garbled'; readonly atLine: number }
  | { readonly kind: 'none' }

interface Connection {
  readonly stream: Stream
  fate: Fate
  /** The initial objects that are still to be sent, before all later events. */
  initial: readonly KubeObject[]
  /** The last sent version. */
  at: number
  sentBytes: number
  /** Bytes in flight. */
  held: Uint8Array
  sentLines: number
  dead: boolean
}

interface Event {
  readonly version: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubeObject
}

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

export class RandomServer {
  readonly objects = new Map<string, KubeObject>()
  requests = 0
  readonly #random: Random
  readonly #clock: FakeClock
  readonly #mode: 'streams' | 'refuses' | 'ignores'
  readonly #connections = new Set<Connection>()
  readonly #snapshots = new Map<number, readonly KubeObject[]>()
  #faulty = true
  #events: Event[] = []
  #version = 10
  #compacted = 0
  #uids = 0

  constructor(random: Random, clock: FakeClock) {
    this.#random = random
    this.#clock = clock
    this.#mode = random.pick(['streams', 'streams', 'refuses', 'ignores'])
  }

  get version(): number {
    return this.#version
  }

  /** Stops breaking connections; broken ones stay broken. */
  calm(): void {
    this.#faulty = false
    for (const connection of this.#connections) connection.fate = { kind: 'none' }
  }

  /** Ends all connections and drops the history, so that all clients need a full read. */
  forget(): void {
    for (const connection of this.#connections) this.#close(connection, () => connection.stream.end())
    this.write()
    this.#compact()
  }

  /** Does one random step of the server. */
  act(): void {
    const random = this.#random
    const what = random.next()
    if (what < 0.8) this.write()
    else if (what < 0.86) this.#compact()
    else if (what < 0.9) {
      for (const connection of this.#connections) {
        this.#close(connection, () => connection.stream.end())
      }
    }
    if (!this.#faulty || random.chance(0.7)) this.pump()
  }

  /** Sends each connection the events that it does not have yet. */
  pump(): void {
    for (const connection of this.#connections) this.#catchUp(connection)
  }

  readonly transport: Transport = async (request) => {
    request.signal?.throwIfAborted()
    this.requests++
    const random = this.#random
    if (this.#faulty) {
      if (random.chance(0.3)) await sleep(this.#clock, random.int(4000), request.signal)
      if (random.chance(0.08)) throw new NetworkError('scripted', { phase: random.pick(['connect', 'response']) })
      if (random.chance(0.08)) return await refusal(random.pick([429, 500, 503, 403]), '')(request)
    }
    const query = new URLSearchParams(request.path.split('?', 2)[1])
    return query.has('watch') ? await this.#watch(request, query) : await this.#list(request, query)
  }

  /** Creates, changes or deletes one object. */
  write(): void {
    const random = this.#random
    const name = random.pick(NAMES)
    const key = `default/${name}`
    const old = this.objects.get(key)
    const again = old !== undefined && random.chance(0.15)
    if (old && (again || random.chance(0.3))) {
      this.objects.delete(key)
      this.#record('DELETED', { ...old, metadata: { ...old.metadata, resourceVersion: this.#next() } })
      if (!again) return
    }
    const isNew = again || !old
    const uid = isNew ? `uid-${++this.#uids}` : old.metadata.uid
    const object = pod(name, this.#next(), {
      uid,
      labels: { team: random.pick(['red', 'blue']) },
      spec: { text: 'zwölf €😀'.repeat(random.int(4)) },
    })
    this.objects.set(key, object)
    this.#record(isNew ? 'ADDED' : 'MODIFIED', object)
  }

  #next(): string {
    return String(++this.#version)
  }

  #record(type: Event['type'], object: KubeObject): void {
    this.#events.push({ version: this.#version, type, object })
  }

  /** Drops the history, except events that open connections still need. */
  #compact(): void {
    this.pump()
    this.#compacted = this.#version
    this.#snapshots.clear()
    this.#events = []
  }

  async #list(request: HttpRequest, query: URLSearchParams): Promise<HttpResponse> {
    const token = query.get('continue')
    const [version, from] = token ? token.split(':').map(Number) as [number, number] : [this.#version, 0]
    if (!token) this.#snapshots.set(version, [...this.objects.values()])
    const snapshot = this.#snapshots.get(version)
    if (!snapshot) return await refusal(410, 'Expired')(request)
    const until = query.has('limit') ? from + 1 + this.#random.int(4) : snapshot.length
    return await list(
      String(version),
      structuredClone(snapshot.slice(from, until)),
      until < snapshot.length ? `${version}:${until}` : undefined,
    )(request)
  }

  async #watch(request: HttpRequest, query: URLSearchParams): Promise<HttpResponse> {
    const whole = query.has('sendInitialEvents')
    if (whole && this.#mode === 'refuses') return await refusal(422, 'Invalid')(request)
    const from = whole ? this.#version : Number(query.get('resourceVersion'))
    const stream = new Stream()
    const connection: Connection = {
      stream,
      fate: this.#fate(),
      initial: whole ? [...this.objects.values()] : [],
      at: from,
      sentBytes: 0,
      held: new Uint8Array(),
      sentLines: 0,
      dead: false,
    }
    if (from < this.#compacted) {
      if (this.#random.chance(0.5)) return await refusal(410, 'Expired')(request)
      stream.error(410, 'Expired')
      return await stream.answer(request)
    }
    this.#connections.add(connection)
    request.signal?.addEventListener('abort', () => this.#close(connection), { once: true })
    if (whole) this.#begin(connection)
    else this.#catchUp(connection)
    this.#bookmarkLater(connection)
    const undo = this.#clock.after(
      Number(query.get('timeoutSeconds')) * 1000,
      () => connection.dead || this.#close(connection, () => stream.end()),
    )
    request.signal?.addEventListener('abort', undo, { once: true })
    return await stream.answer(request)
  }

  /** Sends some initial objects, later the rest, the changes since then, and the end bookmark. */
  #begin(connection: Connection): void {
    const random = this.#random
    for (let count = random.int(connection.initial.length + 1); count > 0; count--) this.#sendInitial(connection)
    if (random.chance(0.3)) this.#bookmark(connection)
    this.#clock.after(random.int(5000), () => {
      this.#catchUp(connection)
      this.#bookmark(connection, this.#mode === 'streams' ? { 'k8s.io/initial-events-end': 'true' } : undefined)
    })
  }

  #sendInitial(connection: Connection): void {
    const [next, ...rest] = connection.initial
    connection.initial = rest
    this.#send(connection, 'ADDED', next!)
  }

  #fate(): Fate {
    const random = this.#random
    if (!this.#faulty || random.chance(0.4)) return { kind: 'none' }
    if (random.chance(0.3)) return { kind: 'garbled', atLine: random.int(12) }
    return { kind: random.pick(['cut', 'end', 'silent'] as const), atByte: random.int(3000) }
  }

  #catchUp(connection: Connection): void {
    while (connection.initial.length > 0) this.#sendInitial(connection)
    for (const { version, type, object } of this.#events) {
      if (connection.dead || version <= connection.at) continue
      connection.at = version
      this.#send(connection, type, object)
      if (this.#faulty && this.#random.chance(0.05)) this.#send(connection, type, object)
    }
  }

  #bookmarkLater(connection: Connection): void {
    this.#clock.after(60_000, () => {
      if (connection.dead) return
      this.#catchUp(connection)
      this.#bookmark(connection)
      this.#bookmarkLater(connection)
    })
  }

  #bookmark(connection: Connection, annotations?: object): void {
    this.#send(connection, 'BOOKMARK', {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(connection.at), annotations },
    })
  }

  #send(connection: Connection, type: string, object: object): void {
    const { fate, stream } = connection
    if (connection.dead) return
    const line = JSON.stringify({ type, object })
    if (fate.kind === 'garbled' && fate.atLine === connection.sentLines) {
      const part = encode(`${line.slice(0, this.#random.int(line.length - 1) + 1)}\n`)
      this.#flush(connection)
      stream.bytes(
        this.#random.pick([part, Uint8Array.of(0xff, 0x0a), encode('{"type":"NEWS","object":{}}\n'), encode('[]\n')]),
      )
    }
    connection.sentLines++
    const bytes = encode(`${line}\n`)
    const left = 'atByte' in fate ? fate.atByte - connection.sentBytes : Infinity
    connection.sentBytes += bytes.length
    this.#inPieces(connection, bytes.subarray(0, Math.min(left, bytes.length)))
    if (left >= bytes.length) return
    if (fate.kind === 'cut') this.#close(connection, () => stream.fail(new NetworkError('cut', { phase: 'body' })))
    else if (fate.kind === 'end') this.#close(connection, () => stream.end())
    else this.#close(connection)
  }

  /** Sends the data in random pieces; the last one may wait for the next line, or for some time. */
  #inPieces(connection: Connection, bytes: Uint8Array): void {
    const { stream, held } = connection
    let rest = Uint8Array.of(...held, ...bytes)
    while (rest.length > 0 && this.#random.chance(0.6)) {
      const until = 1 + this.#random.int(rest.length)
      stream.bytes(rest.subarray(0, until))
      rest = rest.subarray(until)
    }
    connection.held = rest
    if (held.length === 0 && rest.length > 0) this.#clock.after(0, () => this.#flush(connection))
  }

  #flush(connection: Connection): void {
    if (connection.held.length > 0) connection.stream.bytes(connection.held)
    connection.held = new Uint8Array()
  }

  #close(connection: Connection, end?: () => void): void {
    this.#flush(connection)
    connection.dead = true
    this.#connections.delete(connection)
    end?.()
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** The objects of a server by key: uid and version. */
export function versionsOf(objects: Iterable<KubeObject>): Record<string, string> {
  const entries = Array.from(
    objects,
    (object) => [formatKey(keyOf(object)), `${object.metadata.uid} ${object.metadata.resourceVersion}`] as const,
  )
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
