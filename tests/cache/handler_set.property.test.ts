/** Tests handlers with random changes, lists, adds and removals, and turns of the event loop between them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { KubeObject } from '../../lib/core/objects.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { HandlerSet, type Membership } from '../../lib/cache/handler_set.ts'
import { compactObjects } from '../../lib/cache/compact/compact_objects.ts'
import { type Delta, Store } from '../../lib/cache/store.ts'
import { SlowClock } from '../runtime/slow_clock.ts'
import { pod, replaceAll } from './scripted_server.ts'
import { tries } from '../tools/fuzz.ts'

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const state = fc.record({ name, uid: fc.constantFrom('1', '2') })
const which = fc.nat({ max: 5 })
const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('apply' as const), state }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), state }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('list' as const),
      states: fc.uniqueArray(state, { selector: (each) => each.name }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('add' as const), resyncs: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resync' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
)

/** A handler that applies its deltas, and records contradictions. */
class Listener {
  readonly known = new Map<string, KubeObject>()
  readonly problems: string[] = []
  /** What it must have got when it is synced, by uid and version; undefined before the first list. */
  due: Set<string> | undefined
  membership!: Membership
  isRemoved = false

  constructor(due: Iterable<KubeObject> | undefined) {
    this.due = due && idsOf(due)
  }

  readonly handler = (delta: Delta): void => {
    const { name, uid } = delta.object.metadata
    const known = this.known.get(name)
    if (this.isRemoved) this.problems.push('called after it was removed')
    if (delta.kind === 'added') {
      if (known) this.problems.push(`${name} was added twice`)
      if (delta.initial && !this.due?.delete(idOf(delta.object))) this.problems.push(`${name} was no initial add`)
    } else if (known?.metadata.uid !== uid) this.problems.push(`${name} was ${delta.kind} and not known`)
    if (delta.kind === 'updated' && delta.old !== known) {
      this.problems.push(`${name} was not updated from its last state`)
    }
    if (delta.kind === 'deleted') this.known.delete(name)
    else this.known.set(name, delta.object)
  }
}

const idOf = ({ metadata: { name, uid, resourceVersion } }: KubeObject): string => `${name} ${uid} ${resourceVersion}`
const idsOf = (objects: Iterable<KubeObject>): Set<string> => new Set(Array.from(objects, idOf))

test('with anything between its turns, a handler gets each change once and in order, and is synced after the last initial add', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { maxLength: 60, size: 'max' }),
      fc.constantFrom(0, 3, 10),
      fc.boolean(),
      async (operations, lookMs, compact) => {
        const clock = new SlowClock(lookMs)
        const store = new Store(undefined, compact ? compactObjects(true)() : undefined)
        const set = new HandlerSet({
          name: 'pods',
          store,
          clock,
          random: () => 0.5,
          log: silentLog,
        })
        set.begin()
        const listeners: Listener[] = []
        let listed: Promise<void> | undefined
        let isToldToAll = false
        let version = 0
        const make = ({ name, uid }: { name: string; uid: string }): KubeObject => pod(name, `${++version}`, { uid })
        const checkSynced = (): void => {
          for (const { due, membership, isRemoved, problems } of listeners) {
            assert.deepEqual(problems, [])
            if (!isRemoved) assert.equal(membership.synced.isOpen, due?.size === 0, 'synced')
          }
        }
        for (const each of operations) {
          // Events come only after the first list.
          if (each.do === 'apply' && listed) set.notify(store.apply(make(each.state)))
          if (each.do === 'delete' && listed) {
            set.notify(
              store.delete(make({ ...each.state, uid: store.get(`default/${each.state.name}`)?.metadata.uid ?? '1' })),
            )
          }
          if (each.do === 'list') {
            const deltas = replaceAll(store, each.states.map(make), !listed)
            for (const listener of listeners) listener.due ??= idsOf(store.values())
            const notified = set.notifyOfList(deltas)
            listed ??= notified.then(() => void (isToldToAll = true))
          }
          if (each.do === 'add') {
            const listener = new Listener(listed && store.values())
            listener.membership = set.add(listener.handler, each.resyncs ? { resyncMs: 1000 } : {})
            listeners.push(listener)
          }
          if (each.do === 'remove') {
            const listener = listeners[each.which]
            listener?.membership.remove()
            if (listener) listener.isRemoved = true
          }
          if (each.do === 'resync') await clock.fake.advance(1000)
          if (each.do === 'turn') await nextTurn()
          checkSynced()
        }
        // From here on no time passes: with a slow clock there would be a turn for each handler, object and list.
        clock.lookMs = 0
        for (let turn = 0; turn < 400; turn++) await nextTurn()
        checkSynced()
        assert.equal(isToldToAll, listed !== undefined)
        for (const { known, isRemoved } of listeners) {
          if (!isRemoved) assert.deepEqual(idsOf(known.values()), idsOf(store.values()))
        }
        set.end()
        assert.equal(clock.fake.pending, 0)
        for (const { membership } of listeners) assert.ok(membership.removed.isOpen)
      },
    ),
    { numRuns: tries(150) },
  )
})
