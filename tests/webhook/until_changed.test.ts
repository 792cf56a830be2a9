import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { Api } from '../../lib/client/api.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { untilChanged } from '../../lib/webhook/common/until_changed.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { answer, recorder, refusal, silence } from '../client/transports.ts'
import { TARGET } from './secret_lab.ts'

const event = (type: string, object: object = {}): string =>
  JSON.stringify({ type, object: { metadata: { resourceVersion: '2' }, ...object } })
const watching = (...lines: string[]): Transport => () => Promise.resolve(answer(200, `${lines.join('\n')}\n`))
const POLL = 10_000
const REREAD = 60_000

for (
  const [what, transport, ms] of [
    ['a change', watching(event('BOOKMARK'), event('MODIFIED')), 0],
    ['a lost version', watching(event('ERROR', { code: 410, message: 'too old' })), POLL],
    ['the end of a watch without a change', watching(event('BOOKMARK')), POLL],
    ['a watch that is refused', () => Promise.resolve(refusal(403, 'Forbidden')), POLL],
    ['a silent watch', silence, REREAD],
  ] as readonly (readonly [string, Transport, number])[]
) {
  test(`an object is read again after ${what}: ${ms} ms`, async () => {
    const clock = new FakeClock()
    const network = recorder(transport)
    const { controller, listeners } = countedSignal()
    const api = new Api({ transport: network.transport })
    const watched = { api, clock, log: silentLog, target: TARGET, title: 'it', rereadMs: REREAD, pollMs: POLL }
    let isDone = false
    const done = untilChanged(watched, '1', controller.signal).then(() => (isDone = true))
    if (ms > 0) await clock.advance(0)
    if (ms > 0) await clock.advance(ms - 1)
    assert.equal(isDone, false)
    await clock.advance(ms > 0 ? 1 : 0)
    await done
    assert.deepEqual([listeners(), clock.pending], [0, 0])
    const query = new URLSearchParams(network.requests[0]!.path.split('?')[1])
    assert.deepEqual([query.get('resourceVersion'), query.get('fieldSelector')], ['1', 'metadata.name=certs'])
  })
}
