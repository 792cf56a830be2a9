/** Cases of server-side apply and managedFields. verbs_applies.ts has more. */
import type { Body, Case } from './api.ts'
import { casesOf, cm, deploy, foo, script } from './transcript.ts'

const AS = (manager: string): string => `?fieldManager=${manager}`

export const APPLY_CASES: readonly Case[] = casesOf('apply', [
  script('apply creates a missing object and owns the applied fields', [
    [
      `APPLY foos/a${AS('one')} ? spec.mode .`,
      foo('a', { size: 1, labels: { a: 'b' }, parts: [{ name: 'p', value: 1 }], tags: ['t'], plain: ['x'] }),
    ],
  ]),
  script('apply requires a fieldManager', [['APPLY foos/a', foo('a')]]),
  script('a repeated apply keeps the resourceVersion', [[`APPLY foos/a${AS('one')} ? .`, foo('a')], [
    `APPLY foos/a${AS('one')} ? .`,
    foo('a'),
  ]]),
  script("applying another manager's field is a conflict that names the manager", [
    [`APPLY foos/a${AS('one')}`, foo('a', { size: 1, parts: [{ name: 'p', value: 1 }] })],
    [`APPLY foos/a${AS('two')}`, foo('a', { size: 2, parts: [{ name: 'p', value: 2 }] })],
  ]),
  script('a field that is no longer applied is removed unless another manager owns it', [
    [`APPLY foos/a${AS('one')}`, foo('a', { size: 1, name: 'abc', labels: { a: '1', b: '2' } })],
    [`APPLY foos/a${AS('two')}`, foo('a', { labels: { b: '2' } })],
    [`APPLY foos/a${AS('one')} ? spec`, foo('a', { size: 1 })],
  ]),
  script('apply refuses repeated list items', [[
    `APPLY foos/a${AS('one')}`,
    foo('a', { size: 1, parts: [{ name: 'x' }, { name: 'x' }] }),
  ]]),
  script('apply refuses unknown fields', [[`APPLY foos/a${AS('one')}`, foo('a', { size: 1, bogus: 1 })]]),
  script('an update owns the fields it changes, and conflicts name its apiVersion', [
    ['POST foos', foo('a', { size: 1 })],
    ['MERGE foos/a ? .', { spec: { name: 'abc' } }, { userAgent: 'other/2 (linux)' }],
    [`APPLY foos/a${AS('one')}`, foo('a', { size: 2 })],
  ]),
  script('ownership of a Deployment follows its schema', [['POST deploy ? .', deploy('a')]]),
  script('two managers can apply to one Deployment', [
    [`APPLY deploy/a${AS('one')}`, deploy('a')],
    [`APPLY deploy/a${AS('two')} ? spec.replicas`, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      spec: { replicas: 3 },
    }],
    [`APPLY deploy/a${AS('one')} ? spec.replicas`, deploy('a')],
    [`APPLY deploy/a${AS('two')} ? spec.replicas`, {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec: { replicas: 3 } },
      spec: {},
    }],
  ]),
  script('an apply to /status has its own managedFields entry', [
    [`APPLY foos/a${AS('one')}`, foo('a')],
    [`APPLY foos/a/status${AS('one')} ? .`, {
      apiVersion: `{group}/v1`,
      kind: 'Foo',
      metadata: { name: 'a' },
      status: { ready: 1 },
    }],
  ]),
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
  {
    // An empty list clears managedFields of built-in kinds only. A single empty entry clears them for all kinds.
    name: 'an update without managedFields keeps them; an empty entry clears them',
    steps: [
      ['POST foos ? metadata.managedFields', foo('a')],
      [
        'PUT foos/a ? metadata.managedFields',
        (answers: readonly Body[]) => {
          const { managedFields: _, ...metadata } = answers[0].metadata
          return { ...answers[0], metadata }
        },
      ],
      ['MERGE foos/a ? metadata.managedFields', { metadata: { managedFields: [] } }],
      ['MERGE foos/a ? metadata.managedFields', { metadata: { managedFields: [{}] } }],
      ['POST cm', cm('a')],
      ['MERGE cm/a ? metadata.managedFields', { metadata: { managedFields: [] } }],
    ],
  },
  script('the first apply to an object without managedFields keeps its fields', [
    ['POST foos', foo('a', { size: 1, name: 'abc' })],
    ['MERGE foos/a', { metadata: { managedFields: [{}] } }],
    [`APPLY foos/a${AS('one')} ? spec.name .`, foo('a', { size: 1 })],
  ]),
])
