/** Scripts of strict decoding: unknown and duplicate fields, wrong types. The answers are recorded. */
import { cm, deploy, foo, type Script, script, type Step } from './transcript.ts'

const spec = (containers: unknown, rest: Record<string, unknown> = {}): Record<string, unknown> => ({
  template: { metadata: { labels: { app: 'a' } }, spec: { containers, ...rest } },
})
const ODD = { ...cm('a', { k: 'v' }, { odd: 1, labels: { a: 'b' } }), Data: {}, extra: { x: 1 }, zeta: 1 }
const ODD_POD = deploy('a', {
  odd: 1,
  ...spec([{ name: 'main', image: 'n', odd: 1, ports: [{ containerPort: 1, odd: 1 }] }, {
    name: 'b',
    image: 'n',
    odds: 1,
  }]),
})
const ODD_FOO = {
  ...foo('a', {
    size: 1,
    odd: 1,
    Size: 2,
    parts: [{ name: 'a' }, { name: 'b', odd: 1 }],
    nested: { odd: 1 },
    free: { odd: 1 },
  }, { odd: 1 }),
  extra: 1,
}
const DUPLICATES =
  '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d","name":"d","labels":{"a":"b","a":"c"}},' +
  '"data":{"k":"v","k":"w"}}'
const FOO_DUPLICATES = '{"apiVersion":"{group}/v1","kind":"Foo","metadata":{"name":"d","labels":{"a":"b","a":"c"}},' +
  '"spec":{"size":1,"size":2,"parts":[{"name":"a","name":"b"}],"labels":{"x":"1","x":"2"}},"spec":{"size":3,"odd":1}}'

const WRONG_TYPES: readonly unknown[] = [
  cm('a', 5),
  cm('a', 'x'),
  cm('a', []),
  cm('a', { k: 5 }),
  cm('a', { k: true }),
  cm('a', { k: { a: 1 } }),
  cm('a', { k: ['a'] }),
  { ...cm('a'), immutable: 'true' },
  { ...cm('a'), binaryData: { k: 5 } },
  { ...cm('a'), binaryData: { k: '%' } },
  { ...cm('a'), metadata: 5 },
  { ...cm('a'), metadata: [] },
  { ...cm('a'), metadata: 'x' },
  cm('a', {}, { labels: { a: 5 } }),
  cm('a', {}, { labels: 'x' }),
  cm('a', {}, { annotations: { a: true } }),
  cm('a', {}, { finalizers: 'x' }),
  cm('a', {}, { finalizers: [5] }),
  cm('a', {}, { ownerReferences: [{ name: 5 }] }),
  cm('a', {}, { ownerReferences: {} }),
  cm('a', {}, { generation: 'x' }),
  cm('a', {}, { generation: 1.5 }),
  cm('a', {}, { creationTimestamp: 'yesterday' }),
  cm('a', {}, { creationTimestamp: 5 }),
  cm('a', {}, { managedFields: [{ fieldsV1: 5 }] }),
  cm('a', {}, { managedFields: 5 }),
]

const WRONG_DEPLOYMENTS: readonly unknown[] = [
  5,
  { replicas: 'x' },
  { replicas: 1.5 },
  { replicas: 3000000000 },
  { replicas: true },
  { paused: 1 },
  { paused: 'true' },
  { selector: [] },
  { selector: { matchLabels: { a: 1 } } },
  { selector: { matchExpressions: [{ key: 'a', values: [1] }] } },
  { strategy: { rollingUpdate: { maxSurge: {} } } },
  { strategy: { rollingUpdate: { maxSurge: true } } },
  { strategy: { rollingUpdate: { maxSurge: 1.5 } } },
  { strategy: 'Recreate' },
  spec({}),
  spec('x'),
  spec(['x']),
  spec([{ name: 5 }]),
  spec([{ name: 'a', command: 'sh' }]),
  spec([{ name: 'a', command: [1] }]),
  spec([{ name: 'a', env: [{ name: 'A', value: 5 }] }]),
  spec([{ name: 'a', env: [{ name: 'A', value: true }] }]),
  spec([{ name: 'a', ports: [{ containerPort: '80' }] }]),
  spec([{ name: 'a', resources: { limits: { cpu: 'x' } } }]),
  spec([{ name: 'a', resources: { limits: { cpu: true } } }]),
  spec([{ name: 'a', resources: { limits: [] } }]),
  spec([{ name: 'a', livenessProbe: { httpGet: { port: {} } } }]),
  spec([{ name: 'a' }], { terminationGracePeriodSeconds: 'x' }),
  spec([{ name: 'a' }], { nodeSelector: { a: 1 } }),
  spec([{ name: 'a' }], { securityContext: { runAsUser: 'x' } }),
  spec([{ name: 'a' }], { volumes: [{ name: 'a', emptyDir: { sizeLimit: 'x' } }] }),
  spec([{ name: 'a' }], { volumes: [{ name: 'a', secret: { items: [{ mode: '0644' }] } }] }),
  spec([{ name: 'a' }], { affinity: { nodeAffinity: [] } }),
]

const WRONG_FOOS: readonly unknown[] = [
  foo('a', { size: 1 }, { labels: { a: 5 } }),
  foo('a', { size: 1 }, { labels: 'x' }),
  foo('a', { size: 1 }, { annotations: [] }),
  foo('a', { size: 1 }, { finalizers: 'x' }),
  foo('a', { size: 1 }, { finalizers: [1] }),
  foo('a', { size: 1 }, { ownerReferences: [{ name: 5 }] }),
  foo('a', { size: 1 }, { creationTimestamp: 'x' }),
  foo('a', { size: 1 }, { generation: 'x' }),
  { ...foo('a'), metadata: 5 },
  { ...foo('a'), metadata: [] },
  { ...foo('a'), metadata: { name: 5 } },
  { ...foo('a'), metadata: null },
]

export const DECODING_SCRIPTS: readonly Script[] = [
  script('verbs: values of a wrong type in a ConfigMap', WRONG_TYPES.map((body): Step => ['POST cm', body])),
  script(
    'verbs: values of a wrong type in a Deployment',
    WRONG_DEPLOYMENTS.map((body): Step => ['POST deploy', { metadata: { name: 'a' }, spec: body }]),
  ),
  script(
    'verbs: values of a wrong type in the metadata of a custom object',
    WRONG_FOOS.map((body): Step => ['POST foos', body]),
  ),
  script('verbs: unknown fields of a built-in kind', [
    ['POST cm?fieldValidation=Strict', ODD],
    ['POST cm?fieldValidation=Warn', ODD],
    ['PUT cm/a?fieldValidation=Strict', ODD],
    ['PUT cm/a', ODD],
    ['PUT cm/a?fieldValidation=Ignore', ODD],
    ['MERGE cm/a?fieldValidation=Strict', { odd: 1, metadata: { odd: 2 } }],
    ['MERGE cm/a', { odd: 1, metadata: { odd: 2 } }],
    ['STRATEGIC cm/a?fieldValidation=Strict', { odd: 1, metadata: { odd: 2 } }],
    ['STRATEGIC cm/a', { odd: 1, metadata: { odd: 2 } }],
    ['JSON cm/a?fieldValidation=Strict', [{ op: 'add', path: '/odd', value: 1 }]],
    ['JSON cm/a', [{ op: 'add', path: '/odd', value: 1 }]],
    ['JSON cm/a?fieldValidation=Strict', [{ op: 'add', path: '/data/x', value: '1', odd: 1 }]],
  ]),
  script('verbs: unknown fields in lists of a built-in kind', [
    ['POST deploy?fieldValidation=Strict', ODD_POD],
    ['POST deploy', ODD_POD],
    ['STRATEGIC deploy/a?fieldValidation=Strict', spec([{ name: 'main', odd: 1 }])],
    ['STRATEGIC deploy/a', { spec: spec([{ name: 'main', odd: 1 }]) }],
    ['STRATEGIC deploy/a?fieldValidation=Strict', { spec: spec([{ name: 'main', odd: 1 }]) }],
    ['APPLY deploy/a?fieldManager=m&fieldValidation=Strict', deploy('a', { odd: 1 })],
    ['APPLY deploy/a?fieldManager=m', deploy('a', spec([{ name: 'main', odd: 1 }]))],
  ]),
  script('verbs: unknown fields of a custom kind', [
    ['POST foos?fieldValidation=Strict', ODD_FOO],
    ['POST foos ? spec', ODD_FOO],
    ['PUT foos/a?fieldValidation=Strict', ODD_FOO],
    ['MERGE foos/a?fieldValidation=Strict', { odd: 1, metadata: { odd: 2 }, spec: { odd: 3 } }],
    ['MERGE foos/a', { odd: 1, metadata: { odd: 2 }, spec: { odd: 3 } }],
    ['MERGE foos/a?fieldValidation=Ignore', { odd: 1, metadata: { odd: 2 }, spec: { odd: 3 } }],
    ['JSON foos/a?fieldValidation=Strict', [{ op: 'add', path: '/spec/odd', value: 1 }]],
    ['APPLY foos/a?fieldManager=m&fieldValidation=Strict', { ...foo('a'), extra: 1 }],
    ['APPLY foos/a?fieldManager=m', foo('a', { parts: [{ name: 'b', odd: 1 }] })],
    ['APPLY foos/a?fieldManager=m', foo('a', {}, { odd: 1 })],
    ['POST foos2?fieldValidation=Strict', {
      ...foo('b', { any: { thing: 1 } }, { odd: 1 }),
      apiVersion: '{group}/v2',
    }],
  ]),
  script('verbs: duplicate fields of a built-in kind', [
    ['POST cm?fieldValidation=Strict', DUPLICATES],
    ['POST cm ? data metadata.labels', DUPLICATES],
    ['PUT cm/d?fieldValidation=Strict', DUPLICATES],
    ['MERGE cm/d?fieldValidation=Strict', '{"data":{"a":"1","a":"2"},"metadata":{"labels":{"x":"1","x":"2"}}}'],
    ['MERGE cm/d ? data metadata.labels', '{"data":{"a":"1","a":"2"},"metadata":{"labels":{"x":"1","x":"2"}}}'],
    ['STRATEGIC cm/d?fieldValidation=Strict', '{"data":{"a":"1","a":"2"},"odd":1}'],
    ['STRATEGIC cm/d', '{"data":{"a":"1","a":"2"},"odd":1}'],
    ['JSON cm/d?fieldValidation=Strict', '[{"op":"add","op":"add","path":"/data/z","value":"1"}]'],
  ]),
  script('verbs: duplicate fields of a custom kind', [
    ['POST foos?fieldValidation=Strict', FOO_DUPLICATES],
    ['POST foos ? spec metadata.labels', FOO_DUPLICATES],
    ['MERGE foos/d?fieldValidation=Strict', '{"spec":{"size":1,"size":2,"odd":1}}'],
    ['MERGE foos/d ? spec.size', '{"spec":{"size":1,"size":2,"odd":1}}'],
    ['POST foos?fieldValidation=Ignore', FOO_DUPLICATES.replaceAll('"d"', '"e"')],
  ]),
  script('verbs: many unknown fields', [
    ['POST cm?fieldValidation=Strict', {
      ...cm('m'),
      ...Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`odd${i}`, i])),
    }],
    [
      'POST foos?fieldValidation=Strict',
      foo('m', { size: 1, ...Object.fromEntries(Array.from({ length: 110 }, (_, i) => [`odd${i}`, i])) }),
    ],
    ['POST cm', { ...cm('m'), ...Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`odd${i}`, i])) }],
    ['POST cm', { ...cm('n'), ['x'.repeat(300)]: 1 }],
  ]),
  script('verbs: a wrong type and unknown fields at once', [
    ['POST cm?fieldValidation=Strict', { ...cm('a', { k: 5 }), odd: 1 }],
    ['POST cm', { ...cm('a', { k: 5 }), odd: 1 }],
    ['POST cm?fieldValidation=Strict', { ...cm('A'), odd: 1 }],
    ['POST cm', { ...cm('A'), odd: 1 }],
    ['POST foos?fieldValidation=Strict', foo('A', { size: 'x', odd: 1 })],
    ['POST foos', foo('b', { mode: 'x', odd: 1, size: 1 })],
    ['MERGE foos/nope?fieldValidation=Strict', { odd: 1 }],
    ['POST cm?fieldValidation=Strict&dryRun=All', { ...cm('a'), odd: 1 }],
    ['MERGE cm/nope', { odd: 1 }],
  ]),
  script('verbs: nulls in typed objects', [
    ['POST cm ? data metadata.labels', cm('a', { k: null }, { labels: { x: null }, annotations: null })],
    ['POST cm ? data binaryData immutable', { ...cm('b', null), binaryData: null, immutable: null }],
    [
      'POST deploy ? spec.replicas spec.template.spec.containers.0.command spec.paused',
      deploy('a', {
        replicas: null,
        paused: null,
        ...spec([{ name: 'main', image: 'x', command: null, ports: null, resources: null }]),
      }),
    ],
    ['POST deploy', deploy('b', spec(null))],
    ['POST deploy', deploy('b', spec([null]))],
    ['POST cm ? metadata.finalizers', cm('c', {}, { finalizers: [null] })],
  ]),
]
