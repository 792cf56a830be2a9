/** Tests the lines of `kubeloop dev` on a terminal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LiveView, reportFields } from '../../lib/cli/dev/child/live_view.ts'
import type { ReconcileReport } from '../../lib/controller/controller.ts'
import { goldenCases } from './golden.ts'

function report(change: Partial<ReconcileReport>): ReconcileReport {
  return {
    controller: 'foo',
    kind: 'Foo',
    key: 'default/a',
    causes: ['added'],
    count: 1,
    attempt: 1,
    durationMs: 8,
    disposition: { kind: 'forget', label: 'success' },
    retryInMs: undefined,
    writes: [],
    ...change,
  } as ReconcileReport
}

function failure(message: string, attempt: number, change: Partial<ReconcileReport> & { stack?: string } = {}) {
  const { stack = `Error: ${message}`, ...more } = change
  const disposition = { kind: 'retry', error: Object.assign(new Error(message), { stack }), label: 'error' }
  const retryInMs = 5 * 2 ** (attempt - 1)
  return report({ count: attempt, attempt, disposition, retryInMs, ...more } as Partial<ReconcileReport>)
}

function requeue(attempt: number): ReconcileReport {
  const disposition = { kind: 'requeue', priority: undefined, label: 'requeue' } as const
  return report({ count: attempt, attempt, disposition, retryInMs: 5 * 2 ** (attempt - 1) })
}

type Write = ReconcileReport['writes'][number]
const write = (verb: Write['verb'], kind: string, key: string, result: Write['result'] = 'changed', cluster?: string) =>
  ({ verb, kind, key, result, ...(cluster && { cluster }) }) as Write
const again = (causes: string[], change: Partial<ReconcileReport> = {}) => report({ causes, count: 2, ...change })
const range = (length: number): number[] => Array.from({ length }, (_, at) => at + 1)
const OWN_STATUS = 'status.ready none→true'

/** A report; the start of a restart; whether the operator has converged after it; or the time that passes. */
type Step = ReconcileReport | Parameters<LiveView['restarted']>[0] | boolean | number
const selfMade = (n: number, change: Partial<ReconcileReport> = {}): ReconcileReport =>
  report({ count: n + 1, causes: [`spec.n ${n - 1}→${n}`], writes: [write('patch', 'Foo', 'default/a')], ...change })
const BAR = { controller: 'bar', key: 'default/b' }

const CASES: Readonly<Record<string, readonly Step[]>> = {
  'a line begins with the cause and ends with the writes': [
    report({
      writes: [
        write('apply', 'Deployment', 'default/web', 'created'),
        write('status', 'Foo', 'default/a'),
        write('apply', 'Service', 'default/web', 'unchanged'),
        write('delete', 'Namespace', 'old', 'deleted'),
      ],
    }),
  ],
  'causes are named without the namespace of the key, and folded': [
    report({
      causes: ['Pod default/a: added', 'Secret other/b: added', 'Node c: added', 'Pod default/d: added', 'added'],
    }),
  ],
  'the deletion of the object is reported once, then later writes, until it exists again': [
    again(['deleted']),
    again(['Deployment default/web: deleted']),
    again(['Pod default/a: deleted'], { writes: [write('delete', 'Pod', 'default/a', 'deleted')] }),
    again(['added', 'deleted', 'added']),
    again(['Deployment default/web: deleted']),
    again(['spec.a 1→2', 'deleted']),
  ],
  'a run that the own status write caused has no line, unless it is the first, has another cause or writes': [
    report({ causes: [OWN_STATUS] }),
    again([OWN_STATUS]),
    again([OWN_STATUS, 'Deployment default/web: metadata changed']),
    again([OWN_STATUS], { writes: [write('patch', 'A', 'b')] }),
  ],
  'the first success after failures is reported as one, also if an own status write caused it': [
    ...range(4).map((attempt) => failure('no', attempt)),
    report({ count: 5, causes: [OWN_STATUS] }),
    report({ count: 5, causes: [OWN_STATUS] }),
    failure('no', 1),
    report({ causes: ['retry 1'] }),
  ],
  'equal failures are folded, and reported again whenever their number has doubled': range(9).map((attempt) =>
    failure('no', attempt)
  ),
  'a requeue is reported each time with its delay, and is not convergence after a restart': [
    requeue(1),
    requeue(2),
    { changed: undefined, downMs: undefined, elects: true },
    requeue(1),
  ],
  'another failure, another key and a failure after a success are reported in full': [
    failure('no', 1),
    failure('never', 2),
    failure('never', 1, { key: 'default/b' }),
    report({ count: 3 }),
    failure('never', 4),
  ],
  "a failure shows the user's innermost frame with its line of source": [
    failure('no', 1, {
      stack: 'Error: no\n    at inner (/w/node_modules/x/y.js:1:1)\n    at render (/w/operator.ts:24:37)\n' +
        '    at node:internal/process/task_queues:105:5',
    }),
  ],
  'a restart that writes nothing is one line': [
    { changed: 'operator.ts', downMs: 90, elects: false },
    report({}),
    report({ key: 'default/b' }),
    true,
    true,
    report({}),
  ],
  'a restart that writes is reported before its first write, without a claim to have converged': [
    { changed: undefined, downMs: undefined, elects: true },
    report({}),
    report({ key: 'default/b', writes: [write('apply', 'A', 'x/y')] }),
    true,
  ],
  'writes are named with their namespace and cluster if these differ from those of the key': [
    ...[
      [write('apply', 'Map', 'default/app', 'created'), write('apply', 'Map', 'default/app', 'created', 'west')],
      [write('apply', 'Map', 'team-a/app', 'created'), write('apply', 'Map', 'team-b/app', 'created', 'west')],
      [
        write('status', 'Foo', 'default/a'),
        write('status', 'Foo', 'default/a', 'changed', 'west'),
        write('status', 'Foo', 'default/b'),
        write('status', 'Bar', 'default/a'),
      ],
    ].map((writes) => report({ writes })),
    report({ key: 'a', writes: [write('apply', 'Map', 'default/app'), write('apply', 'Namespace', 'b')] }),
    report({
      cluster: 'west',
      writes: [write('status', 'Foo', 'default/a', 'changed', 'west'), write('status', 'Foo', 'default/a')],
    }),
  ],
  'equal runs that follow each other closely fold, and are reported whenever their number has doubled': [
    ...range(17).flatMap((n) => [selfMade(n), 10]),
    999,
    selfMade(18),
  ],
  'runs after a second, of another key, with other writes or after a failure do not fold': [
    ...range(3).map((n) => selfMade(n)),
    1000,
    ...range(3).map((n) => selfMade(n)),
    ...range(3).map((n) => selfMade(n, BAR)),
    ...range(3).map((n) => selfMade(n, { writes: [] })),
    failure('no', 1),
    ...range(3).map((n) => selfMade(n, { writes: [] })),
  ],
  'a run that only a status of a dependent caused has no line, unless it writes; also one that comes again': [
    again(['Deployment default/web: status.readyReplicas none→1', 'status.ready none→true']),
    again(['Deployment default/web in west: status changed', OWN_STATUS], {
      disposition: { kind: 'later', ms: 60_000, priority: undefined, label: 'requeue_after' } as never,
    }),
    again(['Deployment default/web: spec.replicas 1→2', OWN_STATUS]),
    again(['Deployment default/status.x: added']),
    again([]),
    again(['Deployment default/web: status.readyReplicas none→1'], { writes: [write('status', 'Foo', 'default/a')] }),
  ],
  'a key of another cluster is named with the cluster, also in folded failures': [
    report({ cluster: 'west' }),
    failure('no', 1, { cluster: 'west' }),
    failure('no', 2, { cluster: 'west' }),
  ],
}

test('the lines are those of the golden file', () => {
  const cases = Object.entries(CASES).map(([title, steps]) => {
    const view = new LiveView((place) => `          ${place.replace('/w/', '')}  line of ${place}`)
    let nowMs = 0
    const lines = steps.flatMap((step): string[] => {
      if (typeof step === 'number') return (nowMs += step, [])
      if (typeof step === 'boolean') return view.settled(step)
      if ('controller' in step) return view.lines(step, nowMs)
      view.restarted(step)
      assert.ok(view.restarting)
      return []
    })
    assert.ok(!view.restarting)
    // The time of day depends on the time zone.
    return [title, lines.map((line) => line.replace(/^\d\d:\d\d:\d\d/, 'hh:mm:ss'))] as const
  })
  goldenCases('live_view.txt', cases)
})

test('in fields, an error is its message and a duration has one decimal', () => {
  const stack = `Error: no\n    at f (/far/op.ts:3:7)`
  const fields = reportFields(failure('no', 1, { durationMs: 1.2345, stack }))
  const found = ['error', 'durationMs', 'outcome', 'place'].map((name) => fields[name])
  assert.deepEqual(found, ['no', 1.2, 'error', '/far/op.ts:3:7'])
  assert.doesNotThrow(() => JSON.stringify(fields))
  assert.deepEqual([reportFields(requeue(1))['outcome'], reportFields(requeue(1))['error']], ['requeue', undefined])
})
