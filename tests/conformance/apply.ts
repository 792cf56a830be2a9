/** Cases of server-side apply and managedFields. verbs_applies.ts has more. */
import type { Case } from './api.ts'
import { casesOf, foo, script } from './transcript.ts'

const AS = (manager: string): string => `?fieldManager=${manager}`

export const APPLY_CASES: readonly Case[] = casesOf('apply', [
  script('a field that is no longer applied is removed unless another manager owns it', [
    [`APPLY foos/a${AS('one')}`, foo('a', { size: 1, name: 'abc', labels: { a: '1', b: '2' } })],
    [`APPLY foos/a${AS('two')}`, foo('a', { labels: { b: '2' } })],
    [`APPLY foos/a${AS('one')} ? spec`, foo('a', { size: 1 })],
  ]),
  script('apply refuses repeated list items', [[
    `APPLY foos/a${AS('one')}`,
    foo('a', { size: 1, parts: [{ name: 'x' }, { name: 'x' }] }),
  ]]),
  script('owner references and finalizers are owned per item', [
    ['POST foos', foo('a', { size: 1 }, { finalizers: ['x.io/mine'] })],
    [
      `APPLY foos/a${AS('one')} ? metadata.finalizers metadata.managedFields`,
      foo('a', undefined, {
        finalizers: ['x.io/yours'],
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'u1' }],
      }),
    ],
    [`APPLY foos/a${AS('one')} ? metadata.finalizers metadata.ownerReferences`, foo('a', undefined)],
  ]),
])
