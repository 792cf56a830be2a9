/**
 * A server, its watch and own writes, whose steps may come at any time: requests are carried out late, answers come
 * late, events come late, and the watch breaks and restarts with a new list.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { WriteInFlight } from '../../lib/client/api.ts'
import type { ListBody } from '../../lib/client/codec.ts'
import type { SelectOptions } from '../../lib/client/requests.ts'
import { OwnWrites } from '../../lib/cache/own_writes.ts'
import { compactObjects } from '../../lib/cache/compact/compact_objects.ts'
import { Store } from '../../lib/cache/store.ts'
import type { WatchEvent } from '../../lib/client/watch_events.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { POD, pod, replaceAll } from './scripted_server.ts'
import { tries } from '../tools/fuzz.ts'

const KEYS = ['default/a', 'default/b']
const OPERATIONS = ['create', 'update', 'delete', 'hold', 'release', 'toggle', 'scale', 'evict', 'deleteAll'] as const
type Operation = (typeof OPERATIONS)[number]

/** The state of one key from a revision on; undefined if it does not exist. */
interface Moment {
  readonly revision: number
  readonly object: KubeObject | undefined
}

/** Like kube-apiserver: finalizers keep deleted objects, and a deletion has its own revision. */
class Server {
  revision = 5
  readonly history = new Map<string, Moment[]>(KEYS.map((key) => [key, [{ revision: 0, object: undefined }]]))
  readonly events: {
    readonly revision: number
    readonly before: KubeObject | undefined
    readonly after: KubeObject | undefined
  }[] = []
  #uids = 0

  now(key: string): KubeObject | undefined {
    return this.history.get(key)!.at(-1)!.object
  }

  /** Returns the answer, or undefined for a refusal. */
  do(operation: Operation, key: string): { readonly object?: KubeObject; readonly status?: object } | undefined {
    const before = this.now(key)
    if (operation === 'deleteAll') {
      // The server answers with its state from before the deletion.
      const items = KEYS.map((each) => this.now(each)).filter((object) => object !== undefined)
      for (const each of KEYS) this.do('delete', each)
      return { status: { kind: 'List', apiVersion: 'v1', items } }
    }
    if (operation === 'create') return before ? undefined : { object: this.#become(key, undefined, this.#new(key)) }
    if (!before) return undefined
    const { finalizers = [], labels, name, uid } = before.metadata
    const changed = (metadata: object): KubeObject => ({ ...before, metadata: { ...before.metadata, ...metadata } })
    switch (operation) {
      case 'scale': {
        const { metadata } = this.#become(key, before, changed({}))
        return { object: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata } }
      }
      case 'evict':
        this.do('delete', key)
        return { object: { kind: 'Status', apiVersion: 'v1', status: 'Success' } as never }
      case 'update':
        return { object: this.#become(key, before, changed({})) }
      case 'toggle': {
        const next = labels?.['on'] === 'yes' ? 'no' : 'yes'
        return { object: this.#become(key, before, changed({ labels: { on: next } })) }
      }
      case 'hold':
        if (before.metadata.deletionTimestamp) return undefined
        return { object: this.#become(key, before, changed({ finalizers: ['example.dev/f'] })) }
      case 'release': {
        const released = changed({ finalizers: [] })
        if (!before.metadata.deletionTimestamp) return { object: this.#become(key, before, released) }
        this.#become(key, before, undefined)
        // The server answers with the object of the request, at the version that was read.
        return { object: released }
      }
      case 'delete': {
        if (finalizers.length === 0) {
          this.#become(key, before, undefined)
          return { status: { kind: 'Status', apiVersion: 'v1', status: 'Success', details: { name, uid } } }
        }
        const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 }
        return { object: before.metadata.deletionTimestamp ? before : this.#become(key, before, changed(deletion)) }
      }
    }
  }

  #new(key: string): KubeObject {
    return pod(key.split('/')[1]!, '', { uid: `uid-${++this.#uids}`, labels: { on: 'yes' } })
  }

  #become(key: string, before: KubeObject | undefined, after: KubeObject | undefined): KubeObject {
    const revision = ++this.revision
    const versioned = after && { ...after, metadata: { ...after.metadata, resourceVersion: String(revision) } }
    this.history.get(key)!.push({ revision, object: versioned })
    this.events.push({ revision, before, after: versioned })
    return versioned!
  }
}

interface Request {
  readonly operation: Operation
  readonly key: string
  readonly inFlight: WriteInFlight
  /** Undefined until the server has carried it out. */
  done?: {
    readonly answer: ReturnType<Server['do']>
    readonly deleted: readonly KubeObject[]
    readonly revision: number
  }
}

class Model {
  readonly server = new Server()
  readonly store: Store
  readonly selects: (object: KubeObject | undefined) => KubeObject | undefined
  readonly own: OwnWrites
  readonly requests: Request[] = []
  /** The min version of reads, by key. */
  readonly floor = new Map<string, number>(KEYS.map((key) => [key, 0]))
  /** The uids of own deletions, which must never be read again. */
  readonly deleted = new Set<string>()
  /** The version of the store; undefined before the first list. */
  seen: number | undefined
  list: { readonly revision: number; readonly objects: readonly KubeObject[]; readonly beganMs: number } | undefined
  /** Time passes with each look at the clock. */
  ms = 0
  /** Reads of unclear keys, with what the server had when they began. */
  readonly reads: { readonly keys: NonNullable<ReturnType<OwnWrites['unclear']>>; readonly list: ListBody }[] = []

  constructor(selection: SelectOptions, compact: boolean) {
    this.store = new Store(undefined, compact ? compactObjects(true)() : undefined)
    const isSelective = Object.keys(selection).length > 0
    this.selects = (object) => (!isSelective || object?.metadata.labels?.['on'] === 'yes' ? object : undefined)
    this.own = new OwnWrites({
      resource: POD,
      ...selection,
      store: this.store,
      // A list began before an answer, or after it.
      clock: Object.assign(new FakeClock(), { monotonic: () => (this.ms += 0.001) }),
      prepare: Object.freeze,
    })
  }

  begin(operation: Operation, key: string): void {
    const [namespace, name] = operation === 'deleteAll' ? ['default'] : key.split('/')
    this.requests.push({ operation, key, inFlight: this.own.begin({ resource: POD, namespace, name })! })
  }

  carryOut(request: Request | undefined): void {
    if (!request || request.done) return
    const before = KEYS.map((key) => this.server.now(key))
    const answer = this.server.do(request.operation, request.key)
    request.done = {
      answer,
      deleted: before.filter((object, at) => object && !this.server.now(KEYS[at]!)) as KubeObject[],
      revision: this.server.revision,
    }
  }

  answer(request: Request | undefined): void {
    if (!request?.done) return
    const { answer, deleted, revision } = request.done
    this.requests.splice(this.requests.indexOf(request), 1)
    if (answer) {
      if (request.operation.startsWith('delete')) {
        request.inFlight.deleted(structuredClone(answer.status ?? answer.object))
      } else request.inFlight.answered(structuredClone(answer.object))
      for (const { metadata } of deleted) this.deleted.add(metadata.uid)
      const { items } = (answer.status ?? {}) as { readonly items?: readonly KubeObject[] }
      for (
        const key of items?.map(({ metadata }) => `default/${metadata.name}`) ??
          (deleted.length > 0 ? [] : [request.key])
      ) {
        this.floor.set(key, Math.max(this.floor.get(key)!, revision))
      }
    }
    request.inFlight.end()
  }

  /** Returns the next event of this watch. */
  watch(): void {
    const next = this.seen === undefined ? undefined : this.server.events.find(({ revision }) => revision > this.seen!)
    if (!next || this.list) return
    this.seen = next.revision
    const [before, after] = [this.selects(next.before), this.selects(next.after)]
    const resourceVersion = String(next.revision)
    let event: WatchEvent
    if (after) event = { kind: 'applied', object: structuredClone(after) }
    else if (before) {
      event = { kind: 'deleted', object: { ...before, metadata: { ...before.metadata, resourceVersion } } }
    } else return
    if (event.kind === 'applied') this.store.apply(event.object)
    else this.store.delete(event.object)
    this.own.applied(event, resourceVersion)
  }

  bookmark(): void {
    if (this.seen === undefined || this.list) return
    const next = this.server.events.find(({ revision }) => revision > this.seen!)
    this.seen = next ? next.revision - 1 : this.server.revision
    this.own.applied({ kind: 'bookmark', resourceVersion: String(this.seen) }, String(this.seen))
  }

  #listed(): KubeObject[] {
    return structuredClone(KEYS.map((key) => this.selects(this.server.now(key))).filter((each) => each !== undefined))
  }

  beginList(): void {
    this.list ??= { revision: this.server.revision, objects: this.#listed(), beganMs: this.ms += 0.001 }
  }

  beginRead(key?: string): void {
    const keys = this.own.unclear(key === undefined ? {} : { key })
    const metadata = { resourceVersion: String(this.server.revision) }
    if (keys) this.reads.push({ keys, list: { metadata, items: this.#listed() } })
  }

  /** With a clock that stands still, it is done at once. */
  endRead(n: number): void {
    for (const { keys, list } of this.reads.splice(n % (this.reads.length || 1), 1)) void this.own.settled(keys, list)
  }

  endList(): void {
    if (!this.list) return
    this.seen = this.list.revision
    replaceAll(this.store, this.list.objects, false)
    this.own.listed(String(this.seen), this.list.beganMs)
    this.list = undefined
  }

  check(): void {
    if (this.seen === undefined) return
    const { reader } = this.own
    for (const key of KEYS) {
      // It would be read from the server.
      if (this.own.unclear({ key })) continue
      assert.ok(!this.deleted.has(reader.get(key)?.metadata.uid ?? ''), `${id(reader.get(key))} was deleted by us`)
      const shown = id(reader.get(key))
      const floor = this.floor.get(key)!
      const history = this.server.history.get(key)!
      const since = history.filter((_, at) => (history[at + 1]?.revision ?? Infinity) > floor)
      const allowed = since.map(({ object }) => id(this.selects(object)))
      assert.ok(
        allowed.includes(shown),
        `${key} is read as ${shown}, and was ${allowed.join(', ')} since our write at ${floor}`,
      )
      assert.equal(
        id([...reader.values()].find((object) => `default/${object.metadata.name}` === key)),
        shown,
        'listed as it is got',
      )
      assert.equal(id(reader.lookup(byName, key.split('/')[1]!)[0]), shown, 'lookup and get agree')
    }
    assert.equal(reader.size, [...reader.values()].length)
  }

  quiet(): void {
    for (const request of [...this.requests]) {
      this.carryOut(request)
      this.answer(request)
      this.check()
    }
    if (this.seen === undefined) this.beginList()
    this.endList()
    this.beginRead()
    while (this.reads.length > 0) this.endRead(0)
    this.check()
    while (this.seen! < this.server.revision) {
      this.watch()
      this.check()
      if (!this.server.events.some(({ revision }) => revision > this.seen!)) this.bookmark()
    }
    for (const key of KEYS) assert.equal(id(this.own.reader.get(key)), id(this.selects(this.server.now(key))))
  }
}

const byName = defineIndex<KubeObject>(POD, ({ metadata }) => metadata.name)

function id(object: KubeObject | undefined): string {
  return object ? `${object.metadata.uid}@${object.metadata.resourceVersion}` : 'nothing'
}

/** One step, with a text for counterexamples. */
interface Step {
  readonly [fc.toStringMethod]: () => string
  readonly run: (model: Model) => void
}

function step(words: string, run: (model: Model) => void): Step {
  return { [fc.toStringMethod]: () => words, run }
}

const what = fc.tuple(fc.constantFrom(...OPERATIONS), fc.constantFrom(...KEYS))
const which = fc.nat(5)
const one = (model: Model, n: number): Request | undefined => model.requests[n % (model.requests.length || 1)]
const steps = fc.oneof(
  { weight: 5, arbitrary: what.map(([o, key]) => step(`we send ${o} ${key}`, (m) => m.begin(o, key))) },
  { weight: 5, arbitrary: which.map((n) => step(`done ${n}`, (m) => m.carryOut(one(m, n)))) },
  { weight: 5, arbitrary: which.map((n) => step(`answered ${n}`, (m) => m.answer(one(m, n)))) },
  { weight: 4, arbitrary: what.map(([o, key]) => step(`others ${o} ${key}`, (m) => void m.server.do(o, key))) },
  { weight: 6, arbitrary: fc.constant(step('watch', (m) => m.watch())) },
  { weight: 3, arbitrary: what.map(([_, key]) => step(`read of ${key} begins`, (m) => m.beginRead(key))) },
  { weight: 3, arbitrary: which.map((n) => step(`read ${n} ends`, (m) => m.endRead(n))) },
  { weight: 1, arbitrary: fc.constant(step('bookmark', (m) => m.bookmark())) },
  { weight: 1, arbitrary: fc.constant(step('list begins', (m) => m.beginList())) },
  { weight: 2, arbitrary: fc.constant(step('list ends', (m) => m.endList())) },
)

for (const selection of [{}, { labels: 'on=yes' }, { fields: 'status.on=yes' }]) {
  const by = Object.keys(selection).join()
  const also = by ? `, objects leave and enter the selection by ${by}` : ''
  test(`with writes, answers and events in any order${also}, no read is older than an own write, and at rest all equal the server`, () => {
    fc.assert(
      fc.property(
        fc.array(steps, { maxLength: 60, size: 'max' }),
        fc.boolean(),
        fc.boolean(),
        (all, synced, compact) => {
          const model = new Model(selection, compact)
          if (synced) {
            model.beginList()
            model.endList()
          }
          for (const { run } of all) {
            run(model)
            model.check()
          }
          model.quiet()
          // If the deleted object is unknown, only the second list certainly began after the answer.
          for (let list = 0; list < 2; list++) {
            model.beginList()
            model.endList()
          }
          assert.equal(model.own.unclear({}), undefined, 'keys are unclear although the watch has caught up')
          assert.equal(model.own.reader, model.store, 'own writes are left although the watch has caught up')
        },
      ),
      { numRuns: tries(500) },
    )
  })
}
