import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lineBatches } from '../../lib/async/lines.ts'

const encoder = new TextEncoder()

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    yield bytes.subarray(from, cut)
    from = cut
  }
  yield bytes.subarray(from)
}

async function batches(chunks: AsyncIterable<Uint8Array>): Promise<(readonly string[])[]> {
  const all: (readonly string[])[] = []
  for await (const batch of lineBatches(chunks)) all.push(batch)
  return all
}

test('lines are the same for every split into chunks', async () => {
  const line = fc.string({ unit: 'binary', maxLength: 12 }).map((text) =>
    text.replaceAll('\n', '¶').replaceAll('\ufeff', '')
  )
  const input = fc.tuple(fc.array(line, { maxLength: 8 }), fc.boolean(), fc.array(fc.nat(120), { maxLength: 12 }))
  await fc.assert(fc.asyncProperty(input, async ([lines, isEnded, cuts]) => {
    const bytes = encoder.encode(lines.join('\n') + (isEnded ? '\n' : ''))
    const found = (await batches(chunksOf(bytes, cuts.map((cut) => Math.min(cut, bytes.length))))).flat()
    assert.deepEqual(found, lines.filter((line) => line !== ''))
  }))
})

test('bytes that complete no line yield an empty batch', async () => {
  assert.deepEqual(await batches(chunksOf(encoder.encode('abc\n'), [1, 2])), [[], [], ['abc']])
})

test('bytes that are not UTF-8 throw, also when the stream ends within a character', async () => {
  await assert.rejects(batches(chunksOf(Uint8Array.of(0x61, 0xff, 0x0a), [])), TypeError)
  await assert.rejects(batches(chunksOf(Uint8Array.of(0x61, 0xe2, 0x82), [])), TypeError)
})

test('a line above 16 MiB throws before its end', async () => {
  const part = new Uint8Array(2 ** 20).fill(0x61)
  async function* parts(count: number): AsyncGenerator<Uint8Array> {
    for (; count > 0; count--) yield part
    yield encoder.encode('\n')
  }
  assert.deepEqual((await batches(parts(16))).flat().map(({ length }) => length), [2 ** 24])
  await assert.rejects(batches(parts(17)), /^TypeError: a line is longer than 16 MiB$/)
})

test('a reader that stops closes the stream', async () => {
  let closed = false
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield encoder.encode('a\n')
    } finally {
      closed = true
    }
  }
  for await (const _ of lineBatches(endless())) break
  assert.equal(closed, true)
})
