/** Random answers of a server: what comes before a wrong part counts, and then everything is read again. */
import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { Informer } from '../../lib/cache/informer.ts'
import { Api } from '../../lib/client/api.ts'
import { defineIndex } from '../../lib/core/object_indexer.ts'
import { ApiError } from '../../lib/core/errors.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { Log } from '../../lib/observe/log.ts'
import { tries } from '../tools/fuzz.ts'
import { mutated, mutatedBytes, mutatedText } from '../tools/hostile.ts'
import { type Answer, POD, pod, ScriptedServer, Stream } from './scripted_server.ts'

/** Part of each object, and of no line of the log. */
const SECRET = 'hunter2'
const encoder = new TextEncoder()
const rich = (name: string, version: string): KubeObject =>
  pod(name, version, {
    labels: { a: 'b' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'b', uid: 'c' }],
    spec: { secret: SECRET, list: [1, { a: null }], ['__proto__']: { a: 'é😀' } },
  })
const event = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`
const listOf = (items: readonly KubeObject[], resourceVersion: string) => (
  { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion }, items }
)
const END = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } }

function body(bytes: Uint8Array): Answer {
  const stream = new Stream()
  stream.bytes(bytes)
  stream.end()
  return stream.answer
}

/** Starts an informer with an index, and advances its clock until it has read everything again after a failure. */
async function outcome(server: ScriptedServer) {
  const clock = new FakeClock()
  const lines: string[] = []
  const at = (message: string, fields?: object): void => void lines.push(`${message} ${JSON.stringify(fields ?? {})}`)
  const log: Log = { debug: at, info: at, warn: at, error: at }
  const api = new Api({ transport: server.transport, clock })
  const informer = new Informer({ api, resource: POD, clock, log, random: () => 0 })
  const heard: KubeObject[] = []
  informer.addHandler(({ kind, object }) => void (kind === 'deleted' || heard.push(structuredClone(object))))
  informer.store.lookup(defineIndex(POD as never, (object: KubeObject) => object.metadata.labels?.['a']), 'b')
  const controller = new AbortController()
  const ended = informer.start(controller.signal)
  await clock.advance(5000)
  // The server may ask for a longer wait.
  if (informer.failure instanceof ApiError) await clock.advance(Math.min(informer.failure.retryAfterMs ?? 0, 300_000))
  assert.ok(informer.isSynced && informer.failure === undefined, lines.join('\n'))
  controller.abort()
  await ended
  assert.equal(clock.pending, 0)
  const text = lines.join('\n')
  assert.ok(!text.includes(SECRET), text)
  for (const line of lines) {
    assert.match(line, /^(?:Cannot (?:watch|list) pods: |Watching pods|The function of an index threw for )/)
  }
  const stored = [...informer.store.values()]
  const named = (name: string): KubeObject | undefined => stored.find(({ metadata }) => metadata.name === name)
  return { stored, named, heard }
}

type Line = { readonly name: string; readonly type: string } | { readonly bytes: Uint8Array }
const good = fc.record({ name: fc.constantFrom('a', 'b', 'c'), type: fc.constantFrom('ADDED', 'MODIFIED', 'BOOKMARK') })
const wrong = fc.oneof(
  fc.oneof(
    mutated({ type: 'MODIFIED', object: rich('odd', '7') }),
    mutated({ type: 'BOOKMARK', object: END }),
    mutated({
      type: 'ERROR',
      object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old', details: { retryAfterSeconds: 1 } },
    }),
  ).map((each) => encoder.encode(`${JSON.stringify(each)}\n`)),
  mutatedText(event('ADDED', rich('odd', '7')), '\n').map((text) => encoder.encode(`${text}\n`)),
  mutatedBytes(encoder.encode(event('DELETED', rich('odd', '7')))),
)
const lines: fc.Arbitrary<Line[]> = fc.array(
  fc.oneof({ weight: 3, arbitrary: good }, { weight: 1, arbitrary: wrong.map((bytes) => ({ bytes })) }),
  { maxLength: 8 },
)

test('fuzz: the events before a wrong one in a watch or a stream are kept as they are, and a full read follows', async () => {
  let [read, again] = [0, 0]
  await fc.assert(
    fc.asyncProperty(lines, fc.boolean(), fc.array(fc.nat(3000), { maxLength: 8 }), async (parts, isInitial, cuts) => {
      const server = new ScriptedServer()
      const listed = listOf([rich('listed', '900')], '1000')
      if (!isInitial) server.lists.push(body(encoder.encode(JSON.stringify(listOf([rich('first', '3')], '5')))))
      let lists = 0
      const list: Answer = (request) => (lists++, body(encoder.encode(JSON.stringify(listed)))(request))
      // A failed watch is compared first, and then read again.
      server.lists.push(list, list)
      const stream = new Stream()
      ;(isInitial ? server.streams : server.watches).push(stream.answer)
      let version = 9
      /** The last state of each object, and all states before the first wrong line. */
      const [last, before] = [new Map<string, KubeObject>(), [] as KubeObject[]]
      let isRight = true
      const all = Buffer.concat([
        ...parts.map((part) => {
          if ('bytes' in part) {
            isRight = false
            return part.bytes
          }
          const object = rich(part.name, String(++version))
          if (part.type === 'BOOKMARK') {
            return encoder.encode(event(part.type, { metadata: { resourceVersion: String(version) } }))
          }
          last.set(part.name, object)
          if (isRight) before.push(object)
          return encoder.encode(event(part.type, object))
        }),
        encoder.encode(isInitial ? event('BOOKMARK', END) : ''),
      ])
      let from = 0
      for (const to of [...cuts.map((cut) => cut % (all.length + 1)), all.length].sort((a, b) => a - b)) {
        stream.bytes(all.subarray(from, to))
        from = to
      }
      const { stored, named, heard } = await outcome(server)
      if (lists > 0) {
        again++
        assert.deepEqual(stored, listed.items)
        // A part that is not UTF-8 also drops the lines that came with it.
        const kept = heard.filter(({ metadata }) => last.has(metadata.name)).slice(0, before.length)
        if (!isInitial) assert.deepEqual(kept, before.slice(0, isUtf8(all) ? undefined : kept.length))
      } else {
        read++
        for (const [name, object] of last) assert.deepEqual(named(name), object)
      }
    }),
    { numRuns: tries(150, 'everywhere'), examples: [[[], true, []], [[], false, []]] },
  )
  assert.ok(read > 10 && again > 10, `${read} were read, ${again} were read again`)
})

test('fuzz: a wrong list is read again; an object beside a changed one is kept as it is', async () => {
  const [a, z] = [rich('a', '1'), rich('z', '3')]
  const bodies = fc.oneof(
    mutated(rich('odd', '2')).map((odd) => JSON.stringify(listOf([a, odd as KubeObject, z], '5'))),
    mutated(listOf([], '5')).map((list) => JSON.stringify(list)),
    // A body that does not begin as JSON is that of a proxy, and is quoted.
    mutatedText(JSON.stringify(listOf([rich('odd', '2')], '5'))).filter((text) => text.startsWith('{')),
  )
  let read = 0
  await fc.assert(
    fc.asyncProperty(bodies, async (text) => {
      const server = new ScriptedServer()
      const listed = listOf([rich('listed', '900')], '1000')
      server.lists.push(
        body(encoder.encode(text)),
        ...Array<Answer>(3).fill(body(encoder.encode(JSON.stringify(listed)))),
      )
      const { stored, named } = await outcome(server)
      if (server.lists.length < 3) return assert.deepEqual(stored, listed.items)
      read++
      if (text.includes('uid-z')) assert.deepEqual([named('a'), named('z')], [a, z])
    }),
    { numRuns: tries(100, 'everywhere') },
  )
  assert.ok(read > 10, `${read} were read`)
})
