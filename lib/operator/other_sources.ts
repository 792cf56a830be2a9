/** Makes the sources besides those of kinds, for controllers with `from` or `every`, and for groups of clusters. */
import { formatMs } from '../core/duration.ts'
import { keyOf, type ObjectKey } from '../core/objects.ts'
import { nextTurn, type TurnBudget } from '../async/clock.ts'
import type { Informer } from '../cache/informer.ts'
import type { Call } from '../controller/bounded_call.ts'
import type { Sink, Source } from '../controller/source.ts'
import { StreamSource } from '../controller/stream_source.ts'
import { TickerSource } from '../controller/ticker_source.ts'
import type { MapContext } from './description/context.ts'
import type { SourceDescription } from './description/description.ts'
import type { RandomPartEnvironment } from '../observe/environment.ts'

type Keys = Iterable<ObjectKey> | Promise<Iterable<ObjectKey>>

interface OtherSourceSetup extends RandomPartEnvironment {
  readonly title: string
  /** Tests for a key of the controller's cluster. */
  readonly isHere: (key: ObjectKey) => boolean
  readonly keysHere: (keys: Keys) => Keys
  readonly context: (call: Call) => MapContext
  /** Returns the informers of the controller's own kind. */
  readonly informers: () => readonly Pick<Informer, 'store'>[]
  /** Tests an object as an event of the first list. */
  readonly passes: Sink['passes']
  readonly budget: TurnBudget
}

export function otherSource(
  source: Extract<SourceDescription, { readonly kind: 'from' | 'every' }>,
  setup: OtherSourceSetup,
): Source {
  const { isHere, keysHere, context, informers, passes, budget, clock, log, random } = setup
  if (source.kind === 'from') {
    const open = (signal: AbortSignal): AsyncIterable<ObjectKey> =>
      mapped(source.open(context({ signal })), (item) => (isHere(item) ? item : undefined))
    return new StreamSource({ name: source.name, open, clock, log, random })
  }
  const everything = async (call: Call): Promise<Iterable<ObjectKey>> => {
    const found: ObjectKey[] = []
    // One object after the other: a compact cache makes each, and of all of them the memory would be full.
    for (const { store } of [...informers()]) {
      for (const object of store.values()) {
        if (passes({ kind: 'added', object, initial: true })) found.push(keyOf(object))
        if (!budget.isSpent) continue
        await budget.turn()
        call.signal.throwIfAborted()
      }
    }
    return found
  }
  const { ms: everyMs, keys } = source
  return new TickerSource({
    name: `${setup.title} every ${formatMs(everyMs)}`,
    everyMs,
    keys: keys ? (call) => keysHere(keys(context(call))) : everything,
    clock,
    log,
  })
}

/** Returns a source without keys, which calls `change` with the items of a stream, one after another. */
export function changesOf<T>(
  name: string,
  open: (signal: AbortSignal) => AsyncIterable<T>,
  change: (item: T) => void,
  { clock, log, random }: RandomPartEnvironment,
): Source {
  const changed = (signal: AbortSignal): AsyncIterable<ObjectKey> =>
    mapped(open(signal), (each) => (change(each), { name }))
  return new StreamSource({ name, open: changed, clock, log, random })
}

/** A stream of items that are all left out must not block timers and sockets. */
const LEFT_OUT_PER_TURN = 128

/** Converts items; leaves out those of `undefined`. A generator would keep its `return` waiting for a `next`. */
export function mapped<T, R>(stream: AsyncIterable<T>, map: (item: T) => R | undefined): AsyncIterable<R> {
  const items = stream[Symbol.asyncIterator]()
  let leftOut = 0
  const next = async (): Promise<IteratorResult<R>> => {
    for (;;) {
      const result = await items.next()
      if (result.done) return result
      const value = map(result.value)
      if (value !== undefined) return { value }
      if (++leftOut % LEFT_OUT_PER_TURN === 0) await nextTurn()
    }
  }
  const end = items.return?.bind(items) as (() => Promise<IteratorResult<R>>) | undefined
  return { [Symbol.asyncIterator]: () => ({ next, ...(end && { return: end }) }) }
}
