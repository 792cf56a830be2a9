/**
 * Random histories of a server, replayed by seed under the fake clock. `SEED=42 node
 * tests/cache/history.property.test.ts` runs one of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { defineIndex, type Index } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { Api } from '../../lib/client/api.ts'
import { Informer } from '../../lib/cache/informer.ts'
import { compactObjects } from '../../lib/cache/compact/compact_objects.ts'
import type { Delta } from '../../lib/cache/store.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { POD } from './scripted_server.ts'
import { Random, RandomServer, versionsOf } from './random_server.ts'
import { tries } from '../tools/fuzz.ts'

const byTeam: Index<KubeObject> = defineIndex(POD as never, (object: KubeObject) => object.metadata.labels?.['team'])
const names = (objects: Iterable<KubeObject>): string[] => Array.from(objects, ({ metadata }) => metadata.name).sort()

/** Applies every delta, and checks that it fits the earlier ones. */
class Listener {
  readonly #known = new Map<string, KubeObject>()
  /** The newest delivered version of each uid. */
  readonly #versions = new Map<string, number>()
  received = 0
  readonly #compact: boolean

  /** `compact`: each read makes a new object. */
  constructor(compact: boolean) {
    this.#compact = compact
  }

  readonly handler = (delta: Delta): void => {
    this.received++
    const { name, uid, resourceVersion } = delta.object.metadata
    const known = this.#known.get(name)
    const version = Number(resourceVersion)
    const newest = this.#versions.get(uid) ?? 0
    if (delta.kind === 'added') {
      this.#check(known === undefined, `"${name}" was added twice`)
      this.#check(newest === 0, `"${name}" ${uid} came back`)
    } else if (delta.kind === 'updated') {
      this.#check(known?.metadata.uid === uid, `"${name}" was updated to another object, or from nothing`)
      this.#check(this.#isSame(delta.old, known), `"${name}" was not updated from what was received last`)
      this.#check(version > newest, `"${name}" went from ${newest} to ${version}`)
    } else {
      this.#check(known?.metadata.uid === uid, `"${name}" was deleted and not known`)
      this.#check(
        delta.stale ? this.#isSame(delta.object, known) : version > newest,
        `"${name}" was deleted in another state than its last`,
      )
    }
    this.#versions.set(uid, Math.max(newest, version))
    if (delta.kind === 'deleted') this.#known.delete(name)
    else this.#known.set(name, delta.object)
  }

  /** Errors of a handler are only logged, so they are stored for the end. */
  readonly problems: string[] = []

  get state(): Record<string, string> {
    return versionsOf(this.#known.values())
  }

  #isSame(object: KubeObject, known: KubeObject | undefined): boolean {
    return this.#compact ? isDeepStrictEqual(object, known) : object === known
  }

  #check(holds: boolean, problem: string): void {
    if (!holds) this.problems.push(problem)
  }
}

interface Figures {
  requests: number
  received: number
  simulatedMs: number
}

const STEPS = 25

async function replay(seed: number, figures: Figures): Promise<void> {
  const random = new Random(seed)
  const clock = new FakeClock()
  const server = new RandomServer(random, clock)
  // In every second history objects are so slow that lists, events and handlers interleave.
  const compact = seed % 3 === 0
  const slow = new SlowClock(seed % 2 === 0 ? 0 : random.pick([2, 5, 10]), clock)
  const informer = new Informer({
    api: new Api({ transport: server.transport }),
    resource: POD,
    clock: slow,
    log: silentLog,
    random: random.next,
    freeze: true,
    objects: compact ? compactObjects(true) : undefined,
  })
  const listeners = [new Listener(compact), new Listener(compact)] as const
  informer.addHandler(listeners[0].handler)
  const controller = new AbortController()
  const ended = informer.start(controller.signal)
  const lateAt = random.int(STEPS)
  for (let i = 0; i < STEPS; i++) {
    for (let acts = random.int(4); acts >= 0; acts--) server.act()
    if (i === lateAt) informer.addHandler(listeners[1].handler)
    await clock.advance(random.chance(0.3) ? random.int(120_000) : random.int(3000))
    if (slow.lookMs > 0 && random.chance(0.3)) void informer.index(byTeam)
  }
  const turns = async (): Promise<void> => {
    if (slow.lookMs > 0) { for (let turn = 0; turn < 30; turn++) await nextTurn() }
  }
  await turns()
  server.calm()
  // A full read while objects change.
  server.forget()
  for (let i = 0; i < 10; i++) {
    server.write()
    server.pump()
    await turns()
    await clock.advance(random.int(1000))
  }
  // Half-open connections are found, and back-offs end.
  for (let i = 0; i < 8; i++) {
    await turns()
    await clock.advance(50_000)
  }
  const before = server.requests
  for (let i = 0; i < 5; i++) server.write()
  server.pump()
  await clock.advance(200_000)
  await turns()

  const expected = versionsOf(server.objects.values())
  assert.deepEqual(versionsOf(informer.store.values()), expected, 'the store')
  for (const listener of listeners) assert.deepEqual([listener.problems, listener.state], [[], expected], 'a handler')
  for (const team of ['red', 'blue']) {
    assert.deepEqual(
      names(informer.store.lookup(byTeam, team)),
      names([...server.objects.values()].filter(({ metadata }) => metadata.labels?.['team'] === team)),
      'the index',
    )
  }
  assert.ok(server.requests - before <= 2, `too many requests: ${server.requests - before} requests while all was well`)
  assert.ok(Number(informer.lastSeen) <= server.version && informer.failure === undefined)
  figures.requests += server.requests
  figures.received += listeners[0].received + listeners[1].received
  figures.simulatedMs += clock.monotonic()
  controller.abort()
  await ended
}

const one = process.env['SEED']
const seeds = one === undefined ? tries(200) : 1

test('for random histories, at rest the store equals the server, and every handler got all changes in order', async () => {
  const figures: Figures = { requests: 0, received: 0, simulatedMs: 0 }
  const first = one === undefined ? 1 : Number(one)
  const began = performance.now()
  for (let seed = first; seed < first + seeds; seed++) {
    await replay(seed, figures).catch((cause: unknown) => {
      throw new Error(`history ${seed} (SEED=${seed} runs it alone) failed: ${String(cause)}`, { cause })
    })
  }
  if (seeds > 200) {
    const hours = Math.round(figures.simulatedMs / 3_600_000)
    console.log(
      `${seeds} histories, ${hours} h of server life, ${figures.requests} requests, ${figures.received} changes received, in ${
        Math.round(performance.now() - began)
      } ms`,
    )
  }
})
