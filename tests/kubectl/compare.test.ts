import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareStep, unknownSteps } from './compare.ts'
import { normalize } from './normalize.ts'
import type { Output } from './session.ts'

const output = (stdout: string, code = 0, stderr = ''): Output => ({ code, stdout, stderr })
const listed = [{ reason: 'known', steps: ['a: get'] }]
const cutting = [{ reason: 'known', steps: ['a: get'], cut: /^uid: .*\n/gm }]
const ORIGIN = { server: 'https://127.0.0.1:6443', user: 'admin' }

test('equal outputs are right, and another exit code, output or message is wrong', () => {
  assert.equal(compareStep('a: get', output('x'), output('x'), []), undefined)
  assert.match(compareStep('a: get', output('x\ny\n'), output('x\nz\n'), []) ?? '', /- y\n\+ z/)
  assert.match(compareStep('a: get', output('x'), output('x', 1), []) ?? '', /exit code 1/)
  assert.match(compareStep('a: get', output('x'), output('x', 0, 'Warning'), []) ?? '', /Warning/)
})

test('a listed step may differ, and must', () => {
  assert.equal(compareStep('a: get', output('x'), output('y'), listed), undefined)
  assert.match(compareStep('a: get', output('x'), output('x'), listed) ?? '', /no longer differs.*known/)
  assert.ok(compareStep('a: list', output('x'), output('y'), listed))
})

test('a listed part may differ, the rest may not', () => {
  assert.equal(compareStep('a: get', output('b\nuid: 1\n'), output('b\nuid: 2\n'), cutting), undefined)
  assert.equal(compareStep('a: get', output('b\nuid: 1\n'), output('b\n'), cutting), undefined)
  assert.match(compareStep('a: get', output('b\nuid: 1\n'), output('c\n'), cutting) ?? '', /- b\n\+ c/)
  assert.match(compareStep('a: get', output('b\n'), output('b\n'), cutting) ?? '', /no longer differs/)
})

test('a listed step that does not exist is found', () => {
  assert.deepEqual(unknownSteps(listed, new Set(['a: get'])), [])
  assert.deepEqual(unknownSteps(listed, new Set(['a: list'])), ['a: get'])
})

test('what differs from run to run is replaced', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['to https://127.0.0.1:6443/api as admin', 'to <server>/api as <user>'],
    ['dial 127.0.0.1:6443', 'dial <host>'],
    ['NAME   READY   AGE\nweb    0/1     12s', 'NAME  READY  AGE\nweb  0/1  <age>'],
    ['web  2 (3m5s ago)  9m', 'web  2 (<age> ago)  <age>'],
    ['cpu  100m (2%)', 'cpu  100m (2%)'],
    ['  resourceVersion: "12"', '  resourceVersion: "<version>"'],
    ['{"resourceVersion":"12"}', '{"resourceVersion":"<version>"}'],
    ['at 2026-01-02T03:04:05Z', 'at <time>'],
    ['Fri, 02 Jan 2026 03:04:05 +0000', '<time>'],
    ['E0102 03:04:05.678901   12345 a.go:1] b', 'E<klog> a.go:1] b'],
    ['E0102 03:04:05.678901 1 reflector.go:22] "Failed to watch" err="context deadline exceeded" a="b"\nc', 'c'],
    [
      'I0102 03:04:05.678901 1 reflector.go:664] "Warning: watch ended with error" a="b" err="very short watch: c"\nd',
      'd',
    ],
    ['1s  Warning  ClusterIPNotAllocated  service/web  Cluster IP\n2s  Normal  Made', '<age>  Normal  Made'],
    [
      'Events:\n  Type     Reason                 Age  From  Message\n  ----     ------                 ----  ----  -------\n' +
      '  Warning  ClusterIPNotAllocated  1s   a     b\n',
      'Events:  <none>\n',
    ],
    ['event/web.1\nevent/web.187a5f0c9e3b2d10\nevent/web.2\n', 'event/web.1\nevent/web.2\n'],
    ['uid: 0f0e0d0c-1111-2222-3333-444455556666', 'uid: <uid>'],
    ['80:31234/TCP on 10.96.3.4', '80:<port>/TCP on <ip>'],
  ]
  for (const [text, expected] of cases) assert.equal(normalize(text, ORIGIN), expected)
  assert.equal(normalize('gen-ab1cd', ORIGIN, [[/gen-\w{5}/g, 'gen-<name>']]), 'gen-<name>')
})
