/** Reads the body of a list in steps, so that a large one does not hold a turn of the event loop. */
import type { KubeObject } from '../core/objects.ts'
import type { HttpResponse } from '../core/transport.ts'
import { type ListBody, parseBody, readError } from './codec.ts'

/**
 * Called with the number of characters of each part of a response, and awaited before the next one is parsed: in a
 * later turn, if the time of this one is spent.
 */
export type Pace = (characters: number) => Promise<void> | undefined

/** Options of {@link readList}. */
export interface ListReading {
  readonly item: (item: KubeObject) => KubeObject
  readonly pace: Pace
  /** How much text is parsed at once. Default: 256 KiB, which take about 2 ms. */
  readonly step?: number | undefined
}

/** Resolves as {@link readJson} does, with `items` that are parsed while the rest of the response arrives. */
export async function readList(
  response: HttpResponse,
  action: string,
  { item, pace, step = 2 ** 18 }: ListReading,
): Promise<Partial<ListBody> | null> {
  if (response.status >= 300) throw await readError(response, action)
  const decoder = new TextDecoder()
  const items: KubeObject[] = []
  /** The list up to its first item, once items are taken; and what was not taken. */
  let [head, text] = ['', '']
  /** The number of characters since the last call of `pace`. */
  let characters = 0
  /** The length from which items are taken. A long item is not searched again for each part of it. */
  let due = step
  for await (const chunk of response.body) {
    for (let at = 0; at < chunk.length; at += step) {
      const part = decoder.decode(chunk.subarray(at, at + step), { stream: true })
      text += part
      characters += part.length
      if (text.length < due) continue
      const begin = head === '' ? headOf(text) : ''
      const rest = text.slice(begin.length)
      const end = lastComma(rest)
      const taken = end > 0 ? parse(`[${rest.slice(0, end)}]`) as KubeObject[] | undefined : undefined
      if (taken) {
        head += begin
        text = rest.slice(end + 1)
        for (const each of taken) items.push(item(each))
      }
      due = Math.max(step, taken ? 0 : 2 * text.length)
      await pace(characters)
      characters = 0
    }
  }
  text += decoder.decode()
  await pace(characters)
  // The head and the rest are the list without the items that were taken.
  const body = parseBody(head + text, response.status, action) as Partial<ListBody> | null
  if (!Array.isArray(body?.items)) return body
  for (const each of body.items) items.push(item(each))
  return { ...body, items }
}

/** Returns the text up to the first item, or '' if this is no list with items. */
function headOf(text: string): string {
  const begin = /"items"\s*:\s*\[/.exec(text)
  if (!begin) return ''
  const head = text.slice(0, begin.index + begin[0].length)
  // JSON only if these are the items of the list, and not a field within another one.
  return parse(`${head}]}`) === undefined ? '' : head
}

/**
 * Returns the place of the last comma between two items of a text that begins with an item; 0 without one. A comma
 * after the end of all items is found as well: the text up to it is not JSON.
 */
function lastComma(text: string): number {
  let [depth, last] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        if (at < 0) return last
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--
        break
      case COMMA:
        if (depth === 0) last = at
    }
  }
  return last
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Returns the place of the quote that ends a string, or -1. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = end
    while (text.charCodeAt(escapes - 1) === BACKSLASH) escapes--
    if ((end - escapes) % 2 === 0) return end
  }
  return -1
}

/** Returns undefined for a text that is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
