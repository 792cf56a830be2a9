/** Splits a byte stream into lines of text, wherever the chunks were cut. */

export interface LineSplitter {
  /** The lines that these bytes complete; none says that no line was whole yet. Empty lines are left out. */
  push(chunk: Uint8Array): readonly string[]
  /** After the last bytes: the rest that no newline ended. Whoever parses it decides whether it was whole. */
  end(): readonly string[]
}

/** Both throw a TypeError when the bytes are not UTF-8. */
export function lineSplitter(): LineSplitter {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  return {
    push(chunk) {
      const text = decoder.decode(chunk, { stream: true })
      if (!text.includes('\n')) {
        rest += text
        return []
      }
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      return lines.includes('') ? lines.filter((line) => line !== '') : lines
    },
    end() {
      const last = rest + decoder.decode()
      return last.length > 0 ? [last] : []
    },
  }
}

/**
 * Yields, for each chunk, the lines that it completes: an empty batch says that bytes came, and no line was whole yet.
 * Empty lines are left out. A stream that ends within a line yields that rest as a last line: whoever parses it decides
 * whether it was whole.
 *
 * @throws TypeError when the bytes are not UTF-8.
 */
export async function* lineBatches(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly string[], void, undefined> {
  const lines = lineSplitter()
  for await (const chunk of chunks) yield lines.push(chunk)
  const last = lines.end()
  if (last.length > 0) yield last
}
