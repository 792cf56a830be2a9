/** Limits what the values in the bodies of open requests take in memory. */
import { untilAborted } from '../../async/abort.ts'
import { Latch } from '../../async/latch.ts'

const MIB = 2 ** 20
/** Bodies below do not wait. */
const MAX_SMALL = 4 * MIB
/** Of all small bodies together. */
const MAX_ALL_SMALL = 32 * MIB
/** Of one body: 7 MiB of objects such as Pods. Also of all large bodies together, so that most are alone. */
export const MAX_TREE_BYTES: number = 80 * MIB

const [QUOTE, COMMA, COLON, BACKSLASH, LIST, OBJECT] = [0x22, 0x2c, 0x3a, 0x5c, 0x5b, 0x7b]

/**
 * Returns about how many bytes a JSON text takes when it is parsed: 10 of its own for objects such as Pods, 30 for
 * empty lists. Copies and names that occur once make it up to five times as much.
 */
export function treeBytes(body: Uint8Array): number {
  let bytes = body.byteLength
  for (let at = 0; at < body.length && bytes <= MAX_TREE_BYTES; at++) {
    const byte = body[at]
    if (byte === COMMA) bytes += 32
    else if (byte === COLON) bytes += 64
    else if (byte === LIST || byte === OBJECT) bytes += 100
    else if (byte === QUOTE) at = endOfText(body, at)
  }
  return bytes
}

function endOfText(body: Uint8Array, start: number): number {
  for (let at = start;;) {
    at = body.indexOf(QUOTE, at + 1)
    if (at < 0) return body.length
    let before = at
    while (body[before - 1] === BACKSLASH) before--
    if ((at - before) % 2 === 0) return at
  }
}

interface Turn {
  readonly bytes: number
  readonly begun: Latch
}

/**
 * Counts the trees of open requests. A small one that exceeds the limit is refused, as its sender may hold others
 * open; large ones wait for each other, in order, and never delay small ones.
 */
export class TreeLimits {
  #small = 0
  #large = 0
  readonly #waiting: Turn[] = []

  /**
   * Resolves with a function that ends the count, or with why there is no place. Rejects with the signal's reason.
   */
  async enter(bytes: number, signal: AbortSignal): Promise<(() => void) | 'too large' | 'too many'> {
    if (bytes > MAX_TREE_BYTES) return 'too large'
    if (bytes <= MAX_SMALL) {
      if (this.#small + bytes > MAX_ALL_SMALL) return 'too many'
      this.#small += bytes
      return () => void (this.#small -= bytes)
    }
    const turn: Turn = { bytes, begun: new Latch() }
    this.#waiting.push(turn)
    this.#next()
    try {
      await untilAborted(turn.begun.opened, signal)
    } catch (error) {
      this.#end(turn)
      throw error
    }
    return () => this.#end(turn)
  }

  #end(turn: Turn): void {
    if (turn.begun.isOpen) this.#large -= turn.bytes
    else this.#waiting.splice(this.#waiting.indexOf(turn), 1)
    this.#next()
  }

  #next(): void {
    for (let turn = this.#waiting[0]; turn && this.#large + turn.bytes <= MAX_TREE_BYTES; turn = this.#waiting[0]) {
      this.#waiting.shift()
      this.#large += turn.bytes
      turn.begun.open()
    }
  }
}
