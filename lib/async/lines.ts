/** Splits a byte stream into lines of text, across chunk boundaries. */

export interface LineSplitter {
  /** Returns the lines that these bytes complete, without empty ones. */
  push(chunk: Uint8Array): readonly string[]
  /** Returns the rest after the last newline, if there is one. It may be a truncated line. */
  end(): readonly string[]
}

/** As in client-go: an object of etcd has at most 1.5 MiB, and a line without an end must not fill the memory. */
const MAX_LINE = 2 ** 24

/** Returns a splitter. Its methods throw a TypeError if the bytes are not UTF-8, and `push` for a line above 16 MiB. */
export function lineSplitter(): LineSplitter {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  return {
    push(chunk) {
      const lines = decoder.decode(chunk, { stream: true }).split('\n')
      // Not joined before the split, which would copy the whole chunk.
      lines[0] = rest + lines[0]
      rest = lines.pop()!
      if (rest.length > MAX_LINE) throw new TypeError('a line is longer than 16 MiB')
      return lines.includes('') ? lines.filter((line) => line !== '') : lines
    },
    end() {
      const last = rest + decoder.decode()
      return last.length > 0 ? [last] : []
    },
  }
}

/**
 * Yields, for each chunk, the lines that it completes. An empty batch means that bytes arrived without completing a
 * line. Empty lines are left out. If the stream ends within a line, the rest is yielded last; it may be truncated.
 *
 * @throws TypeError if the bytes are not UTF-8.
 */
export async function* lineBatches(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly string[], void, undefined> {
  const lines = lineSplitter()
  for await (const chunk of chunks) yield lines.push(chunk)
  const last = lines.end()
  if (last.length > 0) yield last
}
