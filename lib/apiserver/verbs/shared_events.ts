/** Finds and renders the events of a change once for all watches with the same selectors and the same form. */
import type { ApiObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { remembered } from '../model/remembered.ts'
import type { Change } from '../storage/store.ts'

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: ApiObject
}

const encoder = new TextEncoder()

/** The events of the last change. The store notifies all watches of one change before the next. */
export class SharedEvents {
  #change: Change | undefined
  readonly #events = new Map<string, WatchEvent | undefined>()
  readonly #lines = new Map<WatchEvent, Map<string, Uint8Array>>()
  /** The events by type whose object is the change's own: watches with different selectors share them. */
  readonly #plain = new Map<string, WatchEvent>()
  readonly #kinds = new WeakMap<Kind, number>()
  #lastKind = 0

  /** Returns a number for a kind at one version of its definition, which decides on fields and columns. */
  numberOf(kind: Kind): number {
    return remembered(this.#kinds, kind, () => ++this.#lastKind)
  }

  /** Returns the event that a change causes in watches with a selection. `find` is called once for each. */
  event(change: Change, selection: string, find: (change: Change) => WatchEvent | undefined): WatchEvent | undefined {
    this.#use(change)
    if (this.#events.has(selection)) return this.#events.get(selection)
    let event = find(change)
    if (event?.object === change.object) {
      const same = this.#plain.get(event.type)
      if (same) event = same
      else this.#plain.set(event.type, event)
    }
    this.#events.set(selection, event)
    return event
  }

  /** Returns the line of an event in a form. `render` is called once for each. */
  line(change: Change, event: WatchEvent, form: string, render: () => string): Uint8Array {
    this.#use(change)
    const lines = remembered(this.#lines, event, () => new Map<string, Uint8Array>())
    return remembered(lines, form, () => encoder.encode(render()))
  }

  /** Drops the events of an earlier change. */
  #use(change: Change): void {
    if (this.#change === change) return
    this.#change = change
    this.#events.clear()
    this.#lines.clear()
    this.#plain.clear()
  }
}
