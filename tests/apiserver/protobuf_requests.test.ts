/** Sends protobuf bodies, valid and broken, to the embedded API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import type { HttpRequest } from '../../lib/core/transport.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { bodyOf, envelope, integer, joined, part, PROTOBUF, varint } from './protobuf_writer.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'

const NAMESPACE = '/api/v1/namespaces/default'

function send(server: ApiServer, method: HttpRequest['method'], path: string, body?: Uint8Array) {
  return server.handle({ method, path, body, headers: { 'content-type': PROTOBUF } })
}

async function list(server: ApiServer, path: string): Promise<string> {
  const { items } = JSON.parse(await (await send(server, 'GET', path)).body.text())
  return JSON.stringify(items)
}

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const DEPLOYMENT = bodyOf({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { generateName: 'a-', labels: { app: 'a' } },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'a' } },
    template: {
      metadata: { labels: { app: 'a' } },
      spec: {
        containers: [{
          name: 'main',
          image: 'nginx',
          resources: { limits: { cpu: '1' } },
          env: [{ name: 'A', value: 'b' }],
          livenessProbe: { tcpSocket: { port: 'http' } },
        }],
      },
    },
  },
})

const DEFINITION = bodyOf(definitionOf({
  scope: 'Namespaced',
  properties: {
    a: { type: 'array', items: { type: 'string', enum: ['x'] } },
    b: { type: 'number', maximum: 2 },
  },
}))

test('10,000 mutated bodies end in an answer, and refused ones store nothing', async () => {
  const next = numbers()
  const targets = [
    [DEPLOYMENTS, DEPLOYMENT],
    [CRDS, DEFINITION],
    [
      `${NAMESPACE}/secrets`,
      bodyOf({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data: { k: 'AAEC' } }),
    ],
    [
      '/apis/coordination.k8s.io/v1/namespaces/default/leases',
      bodyOf({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'a' },
        spec: { holderIdentity: 'x', renewTime: '2026-01-02T03:04:05.000006Z', leaseTransitions: 3 },
      }),
    ],
  ] as const
  let server = new ApiServer({ clock: new FakeClock() })
  const codes = new Map<number, number>()
  for (let count = 0; count < 10_000; count++) {
    // Few objects: comparing what is stored is most of the test.
    if (count % 100 === 0) server = new ApiServer({ clock: new FakeClock() })
    const [path, body] = targets[count % targets.length]!
    const before = await list(server, path)
    const { status, body: answer } = await send(server, 'POST', path, mutated(body, next))
    const text = await answer.text()
    assert.ok(status < 500, `${path}: ${text}`)
    codes.set(status, (codes.get(status) ?? 0) + 1)
    if (status >= 300) {
      assert.equal(JSON.parse(text).kind, 'Status')
      assert.equal(await list(server, path), before)
    }
  }
  for (const code of [201, 400, 409, 422]) assert.ok((codes.get(code) ?? 0) > 20, `${code}: ${codes.get(code)}`)
})

/** Returns a body with one to three changed, missing or repeated pieces. */
function mutated(body: Uint8Array, next: (limit: number) => number): Uint8Array {
  let result = body
  for (let changes = 1 + next(3); changes > 0; changes--) {
    const at = next(result.length)
    const from = result.subarray(at, at + 1 + next(20))
    switch (next(6)) {
      case 0:
        result = joined(result.subarray(0, at), [next(256)], result.subarray(at + 1))
        break
      case 1:
        result = result.subarray(0, at)
        break
      case 2:
        result = joined(result.subarray(0, at), result.subarray(at + 1))
        break
      case 3:
        result = joined(result.subarray(0, at), new Uint8Array(1 + next(10)).fill(0xff), result.subarray(at))
        break
      case 4:
        result = joined(result.subarray(0, at), from, result.subarray(at))
        break
      default:
        result = joined(result.subarray(0, at), [result[at]! ^ (1 << next(8))], result.subarray(at + 1))
    }
    if (result.length === 0) return result
  }
  return result
}

function numbers(): (limit: number) => number {
  let state = 1
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 8) % limit
  }
}

test('random bytes end in an answer', async () => {
  const next = numbers()
  const server = new ApiServer({ clock: new FakeClock() })
  for (let count = 0; count < 2000; count++) {
    const raw = Uint8Array.from({ length: next(200) }, () => next(256))
    const body = count % 2 ? envelope('v1', 'Pod', raw) : joined([0x6b, 0x38, 0x73, 0], raw)
    for (const method of ['POST', 'DELETE'] as const) {
      const { status, body: answer } = await send(server, method, `${NAMESPACE}/pods`, body)
      assert.ok(status < 500, await answer.text())
    }
  }
})

test('a schema nested 100,000 times is refused, and one nested 300 times is not', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const definition = (schema: Uint8Array) => {
    const version = joined(part(1, 'v1'), integer(2, 1), integer(3, 1), part(4, part(1, schema)))
    const names = joined(part(1, 'foos'), part(4, 'Foo'))
    const spec = joined(part(1, 'example.com'), part(3, names), part(4, 'Cluster'), part(7, version))
    return envelope(
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      joined(part(1, part(1, 'foos.example.com')), part(2, spec)),
    )
  }
  const refused = await send(server, 'POST', CRDS, definition(nested(100_000)))
  assert.equal(refused.status, 400)
  assert.match(await refused.body.text(), /exceeded max depth/)
  assert.equal(await list(server, CRDS), '[]')
  assert.equal((await send(server, 'POST', CRDS, definition(nested(300)))).status, 201)
})

/** A schema inside `items`… of a schema, without the cost of copying each of them. */
function nested(depth: number): Uint8Array {
  const type = part(5, 'object')
  const lengths = [type.length]
  for (let level = 1; level <= depth; level++) {
    const inner = lengths[level - 1]!
    const entry = 3 + 1 + size(inner) + inner
    lengths.push(type.length + 2 + size(entry) + entry)
  }
  const bytes = new Uint8Array(lengths[depth]!)
  let at = 0
  const write = (more: Uint8Array) => {
    bytes.set(more, at)
    at += more.length
  }
  for (let level = depth; level > 0; level--) {
    const inner = lengths[level - 1]!
    write(type)
    // Field 29 is the map of properties: an entry with the name and the schema.
    write(joined([0xea, 0x01], varint(3 + 1 + size(inner) + inner), part(1, 'a'), [0x12], varint(inner)))
  }
  write(type)
  return bytes
}

function size(value: number): number {
  return varint(value).length
}

test('the first requests, sent at once, are answered in order', async () => {
  const server = new ApiServer({ clock: new FakeClock() })
  const bodies = ['a', 'b', 'c'].map((name) => bodyOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }))
  const answers = await Promise.all(bodies.map((body) => send(server, 'POST', `${NAMESPACE}/configmaps`, body)))
  assert.deepEqual(answers.map(({ status }) => status), [201, 201, 201])
})
