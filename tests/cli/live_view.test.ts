import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReconcileReport } from '../../lib/controller/controller.ts'
import { LiveView, reportFields } from '../../lib/cli/dev/child/live_view.ts'

const view = (): LiveView =>
  new LiveView({ placeLine: (place) => `          ${place.replace('/w/', '')}  line of ${place}` })

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

function failure(message: string, attempt: number, stack?: string): ReconcileReport {
  const error = Object.assign(new Error(message), { stack: stack ?? `Error: ${message}` })
  return report({
    count: attempt,
    attempt,
    disposition: { kind: 'retry', error, label: 'error' } as ReconcileReport['disposition'],
    retryInMs: 5 * 2 ** (attempt - 1),
  })
}

/** Returns lines without the time of day, which depends on the time zone. */
const text = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, '').trimEnd())

test('a line begins with the cause and ends with the writes', () => {
  const writes: ReconcileReport['writes'] = [
    { verb: 'apply', kind: 'Deployment', key: 'default/web', result: 'created' },
    { verb: 'status', kind: 'Foo', key: 'default/a', result: 'changed' },
    { verb: 'apply', kind: 'Service', key: 'default/web', result: 'unchanged' },
    { verb: 'delete', kind: 'Namespace', key: 'old', result: 'deleted' },
  ]
  assert.deepEqual(text(view().lines(report({ writes }), 0)), [
    'Foo default/a           added              → reconcile #1   8 ms  ok       applied Deployment/web (created), status, deleted Namespace/old',
  ])
})

test('causes are named without the namespace of the key, and folded', () => {
  const causes = ['Pod default/a: added', 'Secret other/b: added', 'Node c: added', 'Pod default/d: added', 'added']
  const [line = ''] = text(view().lines(report({ causes }), 0))
  assert.match(line, /^Foo default\/a +Pod a: added, Secret other\/b: added, Node c: added, and 2 more → reconcile #1 /)
})

test('for a key whose object is deleted, lines report the deletion once, and later writes and failures', () => {
  const live = view()
  const lines = (causes: string[], over: Partial<ReconcileReport> = {}): string[] =>
    text(live.lines(report({ causes, count: 2, ...over }), 0))
  assert.deepEqual(lines(['deleted']), ['Foo default/a           deleted'])
  assert.deepEqual(lines(['Deployment default/web: deleted']), [])
  const writes: ReconcileReport['writes'] = [{ verb: 'delete', kind: 'Pod', key: 'default/a', result: 'deleted' }]
  assert.match(lines(['Pod default/a: deleted'], { writes })[0]!, /→ reconcile #2 .* deleted Pod\/a$/)
  assert.match(lines(['added', 'deleted', 'added'])[0]!, /added, deleted, added → reconcile/, 'the object exists again')
  assert.match(lines(['Deployment default/web: deleted'])[0]!, /Deployment web: deleted → reconcile/)
  assert.deepEqual(lines(['spec.a 1→2', 'deleted']), ['Foo default/a           deleted'], 'a second time')
})

test("a run that the operator's own status write caused has no line, all others have", () => {
  const live = view()
  assert.equal(live.lines(report({ count: 1, causes: ['status.ready none→true'] }), 0).length, 1)
  assert.deepEqual(live.lines(report({ count: 2, causes: ['status.ready none→true'] }), 0), [])
  assert.equal(
    live.lines(report({ count: 3, causes: ['status.ready none→true', 'Deployment default/web: metadata changed'] }), 0)
      .length,
    1,
  )
  assert.equal(
    live.lines(
      report({
        count: 4,
        causes: ['status.ready none→true'],
        writes: [{ verb: 'patch', kind: 'A', key: 'b', result: 'changed' }],
      }),
      0,
    ).length,
    1,
  )
})

test('the first success after failures is reported as one, also if an own status write caused it', () => {
  const live = view()
  for (let attempt = 1; attempt <= 4; attempt++) live.lines(failure('no', attempt), 0)
  const success = report({ count: 5, causes: ['status.ready none→true'] })
  assert.match(text(live.lines(success, 0))[0]!, /ok {7}nothing to write, works again after 4 failures$/)
  assert.deepEqual(live.lines(success, 0), [])
  live.lines(failure('no', 1), 0)
  assert.match(text(live.lines(report({ causes: ['retry 1'] }), 0))[0]!, /works again after 1 failure$/)
})

test('equal failures are folded, and reported again whenever their number has doubled', () => {
  const live = view()
  const lines = Array.from(
    { length: 9 },
    (_, i) => text(live.lines(failure('no', i + 1), 0)).map((line) => line.trim()),
  )
  assert.equal(lines[0]!.length, 1)
  assert.match(lines[0]![0]!, /failed {3}no {2}\(retry 1 in 5 ms\)$/)
  assert.deepEqual(lines.slice(1), [
    ['… Foo default/a failed again  (retry 2 in 10 ms)'],
    ['… Foo default/a failed again  (retry 3 in 20 ms)'],
    [],
    ['… Foo default/a failed again  (retry 5 in 80 ms)'],
    [],
    [],
    [],
    ['… Foo default/a failed again  (retry 9 in 1.3 s)'],
  ])
})

test('a requeue is reported each time with its delay, and is not a failure', () => {
  const live = view()
  const requeue = (attempt: number): ReconcileReport =>
    report({
      count: attempt,
      attempt,
      disposition: { kind: 'requeue', priority: undefined, label: 'requeue' },
      retryInMs: 5 * 2 ** (attempt - 1),
    })
  assert.match(live.lines(requeue(1), 0)[0]!, /ok {7}nothing to write, again in 5 ms \(requeue 1\)$/)
  assert.match(live.lines(requeue(2), 0)[0]!, /again in 10 ms \(requeue 2\)$/)
  assert.deepEqual([reportFields(requeue(1))['outcome'], reportFields(requeue(1))['error']], ['requeue', undefined])
  // After a restart, it does not count as converged.
  live.restarted({ changed: undefined, downMs: undefined, elects: true })
  assert.equal(live.lines(requeue(1), 0).length, 2)
})

test('another failure, another key and a failure after a success are reported in full', () => {
  const live = view()
  live.lines(failure('no', 1), 0)
  assert.match(live.lines(failure('never', 2), 0)[0]!, /failed {3}never/)
  assert.match(live.lines({ ...failure('never', 1), key: 'default/b' }, 0)[0]!, /default\/b .*failed {3}never/)
  live.lines(report({ count: 3 }), 0)
  assert.match(live.lines(failure('never', 4), 0)[0]!, /failed {3}never/)
})

test("a failure shows the user's innermost frame with its line of source", () => {
  const stack =
    'Error: no\n    at inner (/w/node_modules/x/y.js:1:1)\n    at render (/w/operator.ts:24:37)\n    at node:internal/process/task_queues:105:5'
  assert.deepEqual(text(view().lines(failure('no', 1, stack), 0)).slice(1), [
    '          operator.ts:24:37  line of /w/operator.ts:24:37',
  ])
})

const restart = { changed: 'operator.ts', downMs: 90, elects: false }

test('a restart that writes nothing is one line', () => {
  const live = view()
  live.restarted(restart)
  assert.deepEqual(live.lines(report({}), 0), [])
  assert.deepEqual(live.lines(report({ key: 'default/b' }), 0), [])
  assert.ok(live.restarting)
  assert.deepEqual(live.settled(true), [
    '↻ operator.ts changed, restarted in 90 ms (leader election is off in dev; this was also a crash test: 2 keys, converged)',
  ])
  assert.ok(!live.restarting)
  assert.deepEqual(live.settled(true), [])
  assert.equal(live.lines(report({}), 0).length, 1)
})

test('a restart that writes is reported before its first write, without a claim to have converged', () => {
  const live = view()
  live.restarted({ ...restart, elects: true, downMs: undefined, changed: undefined })
  live.lines(report({}), 0)
  const lines = text(
    live.lines(report({ key: 'default/b', writes: [{ verb: 'apply', kind: 'A', key: 'x/y', result: 'changed' }] }), 0),
  )
  assert.equal(lines[0], '↻ restarted (1 key unchanged so far)')
  assert.match(lines[1]!, /default\/b .*applied A x\/y \(changed\)$/)
  assert.deepEqual(live.settled(true), [])
})

test('in fields, an error is its message and a duration has one decimal', () => {
  const fields = reportFields({ ...failure('no', 1), durationMs: 1.2345 })
  assert.equal(fields['error'], 'no')
  assert.equal(fields['durationMs'], 1.2)
  assert.doesNotThrow(() => JSON.stringify(fields))
})

test('writes are named with their namespace and cluster if these differ from those of the key', () => {
  const write = { verb: 'apply', kind: 'ConfigMap', result: 'created' } as const
  const shown = (change: Partial<ReconcileReport>): string =>
    text(view().lines(report(change), 0))[0]!.split(/ (?:ok|failed) +/)[1]!
  assert.equal(
    shown({ writes: [{ ...write, key: 'default/app' }, { ...write, key: 'default/app', cluster: 'west' }] }),
    'applied ConfigMap/app (created), applied ConfigMap/app in west (created)',
  )
  assert.equal(
    shown({ writes: [{ ...write, key: 'team-a/app' }, { ...write, key: 'team-b/app', cluster: 'west' }] }),
    'applied ConfigMap team-a/app (created), applied ConfigMap team-b/app in west (created)',
  )
  assert.equal(
    shown({ key: 'a', writes: [{ ...write, key: 'default/app' }, { ...write, kind: 'Namespace', key: 'b' }] }),
    'applied ConfigMap default/app (created), applied Namespace/b (created)',
  )
  const status = { verb: 'status', kind: 'Foo', key: 'default/a', result: 'changed' } as const
  assert.equal(
    shown({
      writes: [status, { ...status, cluster: 'west' }, { ...status, key: 'default/b' }, { ...status, kind: 'Bar' }],
    }),
    'status, status Foo/a in west, status Foo/b, status Bar/a',
  )
  assert.equal(shown({ cluster: 'west', writes: [{ ...status, cluster: 'west' }, status] }), 'status, status Foo/a')
})

test('a key of another cluster is named with the cluster, also in folded failures', () => {
  const live = view()
  assert.match(text(live.lines(report({ cluster: 'west' }), 0))[0]!, /^Foo default\/a in west {3,}added/)
  live.lines({ ...failure('no', 1), cluster: 'west' }, 0)
  assert.match(
    text(live.lines({ ...failure('no', 2), cluster: 'west' }, 0))[0]!,
    /… Foo default\/a in west failed again/,
  )
})
