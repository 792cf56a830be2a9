/** Decodes random objects of every built-in kind, and mutated ones, and compares them with what Go makes of them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { decodeObject } from '../../lib/apiserver/wire/protobuf/body.ts'
import { Decoded, decodeMessage } from '../../lib/apiserver/wire/protobuf/decode.ts'
import { type Message, messageOfKind } from '../../lib/apiserver/wire/protobuf/messages.ts'
import type { JsonObject } from '../../lib/apiserver/model/json.ts'
import { decodeTyped } from '../../lib/apiserver/schema/decode.ts'
import { builtinKinds } from '../../lib/apiserver/kinds/kinds.ts'
import { tries } from '../tools/fuzz.ts'
import { mutatedBytes } from '../tools/hostile.ts'
import { joined } from './protobuf_writer.ts'
import { WireError, WireReader } from '../../lib/apiserver/wire/protobuf/wire.ts'

// Written by tests/tools/protobuf.ts, with a Go program.
const FIXTURES = new URL('./files/protobuf.br', import.meta.url)
const OBJECTS_PER_KIND = 40
const MUTATIONS_PER_KIND = 130

interface Example {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Uint8Array
  readonly json: string
}

const { examples, results } = readFixtures()

function readFixtures(): { examples: Example[]; results: string[] } {
  const bytes = new Uint8Array(brotliDecompressSync(readFileSync(FIXTURES)))
  const decoder = new TextDecoder()
  const examples: Example[] = []
  const results: string[] = []
  let at = 0
  for (let apiVersion = text(); apiVersion; apiVersion = text()) {
    examples.push({ apiVersion, kind: text(), raw: part(), json: text() })
  }
  while (at < bytes.length) results.push(text())
  return { examples, results }

  function part(): Uint8Array {
    let length = 0
    for (let shift = 0;; shift += 7) {
      const byte = bytes[at++]!
      length += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) break
    }
    at += length
    return bytes.subarray(at - length, at)
  }

  function text(): string {
    return decoder.decode(part())
  }
}

function messageOf({ apiVersion, kind }: Example): Message {
  return messageOfKind(apiVersion, kind)!
}

test('the message of a kind is made once', () => {
  assert.equal(messageOfKind('v1', 'Pod'), messageOfKind('v1', 'Pod'))
})

test('random objects of every kind are decoded as Go decodes them', () => {
  const others = ['meta.k8s.io/v1 DeleteOptions', 'meta.k8s.io/v1 Status']
  const bodies = ['authentication.k8s.io/v1 TokenRequest', 'autoscaling/v1 Scale', 'policy/v1 Eviction']
  const kinds = [...others, ...bodies, ...builtinKinds().map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)]
  assert.deepEqual([...new Set(examples.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`))].sort(), kinds.sort())
  assert.equal(examples.length, kinds.length * OBJECTS_PER_KIND)
  for (const example of examples) {
    const message = messageOf(example)
    const expected = decoded(message, example.json)
    assert.deepEqual(decodeObject(message, example.raw), expected, `${example.apiVersion} ${example.kind}`)
  }
})

/** Returns the object that a body in JSON becomes. */
function decoded({ schema }: Message, json: string): JsonObject {
  return decodeTyped(schema!, JSON.parse(json)).object
}

test('the objects have every field of every message', () => {
  const missing = new Map<string, boolean>()
  for (const example of examples) {
    const message = messageOf(example)
    const decoded = new Decoded()
    decodeMessage(new WireReader(example.raw), message, example.raw.length, decoded)
    collect(message, decoded)
  }
  assert.deepEqual([...missing].filter(([, isMissing]) => isMissing), [])
  assert.ok(missing.size > 1500)

  function collect({ name, fields }: Message, { slots }: Decoded): void {
    for (const field of fields) {
      const slot = slots[field.index]
      const key = `${name}.${field.name}`
      missing.set(key, slot === undefined && (missing.get(key) ?? true))
      const values = slot instanceof Map ? [...slot.values()] : Array.isArray(slot) ? slot : [slot]
      for (const value of values) if (value instanceof Decoded) collect(field.message(), value)
    }
  }
})

test('mutated bodies give the object or the error that Go gives', () => {
  const next = sequence()
  const seen = new Map<string, number>()
  const different: string[] = []
  assert.equal(results.length, examples.length / OBJECTS_PER_KIND * MUTATIONS_PER_KIND)
  results.forEach((expected, number) => {
    const first = Math.floor(number / MUTATIONS_PER_KIND) * OBJECTS_PER_KIND
    const example = examples[first + next(OBJECTS_PER_KIND)]!
    const operation = next(MUTATIONS.length)
    let { raw } = example
    const at = next(raw.length + 1)
    const value = next(256)
    if (at === raw.length) raw = joined(raw, [0])
    const message = messageOf(example)
    const outcome = outcomeOf(message, MUTATIONS[operation]!(raw.slice(), at, value))
    const wanted = expected.startsWith('{') ? 'object' : expected ? 'error' : 'any object'
    seen.set(wanted, (seen.get(wanted) ?? 0) + 1)
    if (!isSame(message, outcome, expected)) {
      different.push(
        `${number} ${example.kind} op ${operation}: ${outcome.slice(0, 300)} instead of ${expected.slice(0, 300)}`,
      )
    }
  })
  assert.deepEqual(different, [])
  assert.deepEqual([...seen.keys()].sort(), ['any object', 'error', 'object'])
})

test('fuzz: changed bytes of any kind are an object of JSON, or an error of the format', () => {
  const input = fc.constantFrom(...examples).chain((example) =>
    mutatedBytes(example.raw).map((raw) => ({ message: messageOf(example), raw }))
  )
  fc.assert(
    fc.property(input, ({ message, raw }) => {
      const outcome = outcomeOf(message, raw)
      assert.ok(outcome.length > 0 && outcome.length < 1000 * (raw.length + 1), outcome)
    }),
    { numRuns: tries(300) },
  )
})

function outcomeOf(message: Message, raw: Uint8Array): string {
  try {
    return JSON.stringify(decodeObject(message, raw))
  } catch (error) {
    if (error instanceof WireError) return error.message
    throw error
  }
}

function isSame(message: Message, outcome: string, expected: string): boolean {
  if (!expected) return outcome.startsWith('{')
  if (expected.startsWith('JSON:')) {
    return expected.includes('FieldsV1') ? outcome.startsWith('{') : outcome === 'the raw value of a field is not JSON'
  }
  // The fields of Go's structs have other names than those of JSON.
  if (!expected.startsWith('{')) return outcome.replace(FIELD_NAME, '') === expected.replace(FIELD_NAME, '')
  try {
    assert.deepEqual(JSON.parse(replaced(outcome)), JSON.parse(replaced(JSON.stringify(decoded(message, expected)))))
    return true
  } catch {
    return false
  }
}

const FIELD_NAME = /(?<= for field )\w+$/

/** Go writes a replacement character for each invalid byte, JavaScript one for each invalid sequence. */
function replaced(text: string): string {
  return text.replaceAll('\\ufffd', '\ufffd').replace(/\ufffd+/g, '\ufffd')
}

/** The numbers of the Go program. */
function sequence(): (limit: number) => number {
  let state = 1
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 8) % limit
  }
}

/** The mutations of the Go program, in its order. */
const MUTATIONS: readonly ((raw: Uint8Array, at: number, value: number) => Uint8Array)[] = [
  (raw, at, value) => {
    raw[at] = value
    return raw
  },
  (raw, at, value) => {
    raw[at]! ^= 1 << (value & 7)
    return raw
  },
  (raw, at) => raw.subarray(0, at),
  (raw, at) => joined(raw.subarray(0, at), raw.subarray(at + 1)),
  (raw, at, value) => joined(raw.subarray(0, at), [value], raw.subarray(at)),
  (raw, at, value) => joined(raw.subarray(0, at), [...new Array<number>(9).fill(0xff), value], raw.subarray(at)),
  (raw, at) => joined(raw, raw.subarray(at)),
  (raw) => joined(raw, raw),
  (raw, _at, value) => joined(raw, [0xf8 | (value & 7), 0x3f, 0, 0, 0, 0, 0, 0, 0, 0]),
  (raw, _at, value) => joined(raw, [0xfb, 0x3f, 0xfb, 0x3f, 0xfc, 0x3f, 0xfc, value]),
  (raw, _at, value) => joined(raw, [value & 7]),
]
