/** Cases of setStatus beside other writers for any API server. */
import assert from 'node:assert/strict'
import { isReason } from '../../lib/core/errors.ts'
import { Deployment } from '../../lib/kinds/mod.ts'
import { bench, type Case, type CaseContext, casesOf, FOO, type Foo, methods, results } from './case_bench.ts'
import { refusal, refuses } from './transports.ts'

/** A client, another writer, and an object that both have read. */
async function writers(context: CaseContext, status: Foo['status'] = {}) {
  const it = bench(context)
  const { client: other } = bench(context, false)
  const ref = { namespace: context.namespace, name: 'a' }
  await it.client.create(FOO, { metadata: ref, spec: { size: 1 } })
  const read = await it.client.setStatus(FOO, ref, status!)
  methods(it)
  results(it)
  return { ...it, it, other, read, ref, now: async () => (await other.get(FOO, ref))?.status }
}
const isConflict = (message: RegExp) => (error: Error): boolean =>
  isReason(error, 'Conflict') && message.test(error.message)
const CHANGED =
  /^Cannot set the status of Foo ".*\/a": since the object was read, another writer has changed status\.\w+; /

export const STATUS_CASES: readonly Case[] = casesOf({
  async 'setStatus keeps the conditions of others, whatever else they change'(_, context) {
    const { it, client, other, read, ref, now } = await writers(context, { conditions: [{ type: 'Old' }] })
    // A message as the server escapes it.
    const theirs = { type: 'Theirs', message: 'a < b & "c" > é \u2028' }
    await other.setStatus(FOO, read, { conditions: [{ type: 'Old' }, theirs] })
    await other.patch(FOO, ref, { merge: { spec: { size: 2 } } })
    const answer = await client.setStatus(FOO, read, { conditions: [{ type: 'Mine' }] })
    assert.deepEqual([answer.status, answer.spec.size], [{ conditions: [theirs, { type: 'Mine' }] }, 2])
    // Without a cached object, the conflict is met first.
    assert.deepEqual([methods(it), results(it)], [['PATCH', 'GET', 'PATCH'], ['status Foo changed']])
    // The same object again: it follows the own status, and others' still stays.
    await client.setStatus(FOO, read, { conditions: [{ type: 'Mine', message: 'again' }] })
    await client.live.setStatus(FOO, read, { phase: 'Done' })
    assert.deepEqual([await now(), methods(it)], [{ phase: 'Done', conditions: [theirs] }, ['PATCH', 'PATCH']])
  },
  async 'setStatus merges with the cached object, and sends nothing if that has the result'(_, context) {
    const { it, cached, client, other, read } = await writers(context)
    cached.set('a', await other.setStatus(FOO, read, { conditions: [{ type: 'Theirs' }] }))
    const mine = { conditions: [{ type: 'Mine' }] }
    const both = { conditions: [{ type: 'Theirs' }, { type: 'Mine' }] }
    const trial = await client.setStatus(FOO, read, mine, { dryRun: true })
    assert.deepEqual([trial.status, methods(it)], [both, ['PATCH']])
    cached.set('a', await client.setStatus(FOO, read, mine))
    assert.deepEqual([cached.get('a'), methods(it)].map((each) => (each as Foo).status ?? each), [both, ['PATCH']])
    assert.equal(await client.setStatus(FOO, read, mine), cached.get('a'))
    assert.deepEqual([methods(it), results(it)], [[], ['status Foo changed', 'status Foo unchanged']])
    // The object that is passed is newer than the cached one.
    const newer = await other.setStatus(FOO, { metadata: read.metadata }, { phase: 'Newer' })
    assert.deepEqual((await client.setStatus(FOO, newer, { count: 1 })).status, { count: 1 })
    assert.deepEqual(methods(it), ['PATCH'])
    // What the caller does with an answer is not what it has set.
    const answer = await client.setStatus(FOO, newer, { phase: 'A' })
    cached.set('a', structuredClone(answer))
    Object.assign(answer.status!, { phase: 'B' })
    assert.deepEqual((await client.setStatus(FOO, newer, { phase: 'B' })).status, { phase: 'B' })
  },
  async "setStatus throws Conflict rather than lose another writer's change, and changes nothing"(_, context) {
    const before = { phase: 'Old', list: ['old'] }
    const { it, cached, client, other, read, now } = await writers(context, before)
    const rows = [
      [{ ...before, count: 1 }, { phase: 'Mine', list: ['old'] }],
      [{ phase: 'Theirs', list: ['old'] }, { ...before, count: 2 }],
      [{ phase: 'Old', list: ['theirs'] }, { phase: 'Mine', list: ['mine'] }],
      [{ phase: 'Theirs' }, { list: ['mine'] }],
    ] as const
    for (const isCached of [false, true]) {
      for (const [theirs, mine] of rows) {
        const status = (await other.setStatus(FOO, { metadata: read.metadata }, theirs)) as Foo
        if (isCached) cached.set('a', status)
        await assert.rejects(client.setStatus(FOO, { ...read }, mine), isConflict(CHANGED))
        assert.deepEqual(await now(), theirs)
        assert.deepEqual(methods(it), isCached ? [] : ['PATCH', 'GET'])
      }
    }
    // A name alone, or metadata, stands for no status that was read.
    assert.deepEqual((await client.setStatus(FOO, { metadata: read.metadata }, {})).status, {})
  },
  async 'setStatus tries 5 times, and throws Conflict if its role must not read, or if the object is replaced'(
    _,
    context,
  ) {
    const { it, client, other, read, ref } = await writers(context)
    let size = 1
    it.network.intercept = async (request, next) => {
      if (request.method === 'PATCH') await other.patch(FOO, ref, { merge: { spec: { size: ++size } } })
      return await next(request)
    }
    await refuses('Conflict', client.setStatus(FOO, read, { phase: 'Mine' }))
    assert.deepEqual([methods(it).join(' '), size], ['PATCH GET PATCH GET PATCH GET PATCH GET PATCH', 6])
    it.network.intercept = async (request, next) =>
      request.method === 'GET' ? refusal(403, 'Forbidden') : await next(request)
    await refuses('Conflict', client.setStatus(FOO, read, { phase: 'Mine' }))
    it.network.intercept = async (request, next) =>
      request.method === 'GET' ? refusal(500, 'InternalError') : await next(request)
    await refuses('InternalError', client.setStatus(FOO, read, { phase: 'Mine' }))
    it.network.intercept = async (request, next) => {
      const answer = await next(request)
      if (request.method !== 'PATCH') return answer
      await other.delete(FOO, ref)
      await other.create(FOO, { metadata: ref, spec: { size: 1 } })
      await other.setStatus(FOO, ref, { phase: 'Mine' })
      return answer
    }
    await assert.rejects(
      client.setStatus(FOO, read, { phase: 'Mine' }),
      isConflict(/was deleted, and another one has its name/),
    )
    // There is nothing to merge with a name.
    methods(it)
    it.network.intercept = () => Promise.resolve(refusal(409, 'Conflict'))
    await refuses('Conflict', client.setStatus(FOO, ref, { phase: 'Mine' }))
    assert.deepEqual(methods(it), ['PATCH'])
  },
  async 'setStatus keeps the conditions of others in a built-in kind'(_, { transport, namespace }) {
    const [{ client }, { client: other }] = [
      bench({ transport, namespace }, false),
      bench({ transport, namespace }, false),
    ]
    const labels = { a: 'b' }
    const spec = {
      paused: true,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    }
    const made = await client.create(Deployment, { metadata: { namespace, name: 'a' }, spec })
    const status = (type: string): object => ({ conditions: [{ type, status: 'True' }] })
    await other.setStatus(Deployment, made, status('Theirs'))
    const both = await client.setStatus(Deployment, made, status('Mine'))
    assert.deepEqual(both.status?.conditions?.map(({ type }) => type), ['Theirs', 'Mine'])
  },
})
