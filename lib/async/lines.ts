/** Splits a byte stream into lines of text, wherever the chunks were cut. */

/**
 * Yields, for each chunk, the lines that it completes: an empty batch says that bytes came, and no line was whole yet.
 * Empty lines are left out. A stream that ends within a line yields that rest as a last line: whoever parses it decides
 * whether it was whole.
 *
 * @throws TypeError when the bytes are not UTF-8.
 */
export async function* lineBatches(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[], void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true })
    if (!text.includes('\n')) {
      rest += text
      yield []
      continue
    }
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    yield lines.filter((line) => line.length > 0)
  }
  rest += decoder.decode()
  if (rest.length > 0) yield [rest]
}
