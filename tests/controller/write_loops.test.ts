/** Keys that are reconciled over and over and write each time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriteRecord } from '../../lib/client/client.ts'
import { writeLoops } from '../../lib/controller/write_loops.ts'
import type { Run } from '../../lib/controller/result.ts'
import type { Log, LogFields } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { pod } from '../cache/scripted_server.ts'
import { entriesRead } from '../tools/steps.ts'
import { controlling } from './fixture.ts'

const write = (change: Partial<WriteRecord> = {}): WriteRecord => ({
  verb: 'update',
  group: '',
  kind: 'Pod',
  key: 'default/a',
  result: 'changed',
  ...change,
})
const run = (...writes: WriteRecord[]) => ({ kind: 'Pod', key: 'default/a', causes: [] as string[], writes })

test('a key is loops at the 51st run that writes within 10 s, and is reported once in 10 s', async () => {
  const clock = new FakeClock()
  const loops = writeLoops(clock)
  for (let runs = 1; runs <= 50; runs++) assert.equal(loops.ended('a', run(write())), undefined, `run ${runs}`)
  await clock.advance(10_000)
  assert.match(
    loops.ended('a', run(write()))!,
    /^Pod "default\/a" was reconciled 51 times in 10 s and wrote each time \(/,
  )
  for (let runs = 0; runs < 200; runs++) assert.equal(loops.ended('a', run(write())), undefined)
  await clock.advance(1)
  for (let runs = 1; runs <= 50; runs++) {
    assert.equal(loops.ended('a', run(write())), undefined, `run ${runs} of the next 10 s`)
  }
  assert.match(loops.ended('a', run(write()))!, /51 times in 0 ms/)
})

test('runs that change nothing do not count, and neither do those of other keys', () => {
  const loops = writeLoops(new FakeClock())
  for (let runs = 0; runs < 200; runs++) {
    assert.equal(loops.ended('a', run()), undefined)
    assert.equal(loops.ended('a', run(write({ result: 'unchanged' }))), undefined)
    assert.equal(loops.ended(`b${runs}`, run(write())), undefined)
  }
  for (let runs = 1; runs <= 50; runs++) {
    loops.ended('a', run(write({ result: 'unchanged' })))
    assert.equal(loops.ended('a', run(write({ result: 'unchanged' }), write())), undefined)
  }
  assert.ok(loops.ended('a', run(write())))
})

test('the keys of the last ten seconds are not searched after each run', () => {
  const loops = writeLoops(new FakeClock())
  const read = entriesRead(() => {
    for (let key = 0; key < 100; key++) loops.ended(`${key}`, run(write()))
  })
  assert.ok(read <= 200, `${read} entries read`)
})

test('the warning names recent causes and writes, each once, and a limited number of them', () => {
  const loops = writeLoops(new FakeClock())
  const deletes = write({ verb: 'delete', kind: 'ConfigMap', key: 'default/b', cluster: 'west', result: 'deleted' })
  for (let runs = 0; runs < 50; runs++) {
    assert.equal(loops.notes('a'), runs >= 25, `${runs}`)
    const writes = runs < 20 ? [write({ key: `early ${runs}` })] : [deletes, write({ result: 'unchanged' })]
    loops.ended('a', { ...run(...writes), causes: [runs < 25 ? `early ${runs}` : 'ConfigMap deleted'] })
  }
  const expected =
    'Pod "default/a" was reconciled 51 times in 0 ms and wrote each time (causes and writes: delete ConfigMap "default/b" in west, ConfigMap deleted, create ConfigMap "default/b"); does it trigger itself, or undo the changes of another writer (controllers that apply one object need a fieldManager each)?'
  assert.equal(
    loops.ended('a', run(write({ verb: 'create', kind: 'ConfigMap', key: 'default/b', result: 'created' }))),
    expected,
  )
  const other = writeLoops(new FakeClock())
  let text: string | undefined
  for (let runs = 0; runs <= 50; runs++) text = other.ended('a', run(write({ key: `default/${runs}` })))
  assert.equal(text!.match(/update Pod/g)!.length, 8)
})

/** A reconcile that writes each time and is requeued at once. */
const writing = async ({ onWrite }: Run) => {
  onWrite!(write())
  return { requeueAfter: 1 }
}

test('a controller warns of a loops key, with its causes and the fields of the run', async () => {
  const lines: { message: string; fields: LogFields | undefined }[] = []
  const log: Log = {
    debug() {},
    info() {},
    error() {},
    warn: (message, fields) => void lines.push({ message, fields }),
  }
  await using c = controlling({ pods: [pod('a', '1')], log, uuid: () => 'id', reconcile: writing })
  await c.start()
  await c.clock.advance(40)
  assert.deepEqual(lines, [])
  c.stream.send('MODIFIED', pod('a', '6'))
  await c.clock.advance(20)
  assert.deepEqual(lines, [{
    message:
      'Pod "default/a" was reconciled 51 times in 49 ms and wrote each time (causes and writes: update Pod "default/a", requeued after 1 ms, metadata changed); does it trigger itself, or undo the changes of another writer (controllers that apply one object need a fieldManager each)?',
    fields: { controller: 'test', kind: 'Pod', namespace: 'default', name: 'a', reconcileID: 'id' },
  }])
})

test('retries and requeues of a key that writes are loops too', async () => {
  for (
    const [reconcile, cause] of [
      [async ({ onWrite }: Run) => (onWrite!(write()), { requeue: true }), 'requeued'],
      [async ({ onWrite }: Run) => (onWrite!(write()), Promise.reject(new Error('mine'))), 'retry 26'],
    ] as const
  ) {
    await using c = controlling({ pods: [pod('a', '1')], backoff: { baseMs: 1, maxMs: 1 }, reconcile })
    await c.start()
    await c.clock.advance(60)
    const warned = c.lines.filter((line) => line.startsWith('warn'))
    assert.equal(warned.length, 1, c.lines.join('\n'))
    assert.ok(warned[0]!.includes(cause), c.lines.join('\n'))
  }
})

test('many loops keys cause a limited number of lines, with the number of skipped ones', async () => {
  const pods = Array.from({ length: 8 }, (_, i) => pod(`${i}`, '1'))
  const reconcile = async (run: Run) => (await writing(run), { requeueAfter: 100 })
  await using c = controlling({ pods, reconcile, concurrency: 8 })
  await c.start()
  await c.clock.advance(6000)
  const warned = (): string[] => c.lines.filter((line) => line.startsWith('warn'))
  assert.equal(warned().length, 5)
  await c.clock.advance(70_000)
  assert.match(warned()[5]!, / \(and \d+ more like it\)$/)
})

test('with a listener nothing is logged: the report has all facts', async () => {
  await using c = controlling({ pods: [pod('a', '1')], reconcile: writing, onReconcile: () => {} })
  await c.start()
  await c.clock.advance(60)
  assert.deepEqual(c.lines.filter((line) => line.startsWith('warn')), [])
})
