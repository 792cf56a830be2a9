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
const WRONG_TYPES: readonly unknown[] = [
  cm('a', 5),
  cm('a', []),
  cm('a', { k: 5 }),
  { ...cm('a'), immutable: 'true' },
  { ...cm('a'), binaryData: { k: '%' } },
  { ...cm('a'), metadata: 5 },
  cm('a', {}, { labels: { a: 5 } }),
  cm('a', {}, { finalizers: 'x' }),
  cm('a', {}, { finalizers: [5] }),
  cm('a', {}, { ownerReferences: [{ name: 5 }] }),
  cm('a', {}, { generation: 1.5 }),
  cm('a', {}, { creationTimestamp: 'yesterday' }),
  cm('a', {}, { managedFields: [{ fieldsV1: 5 }] }),
]

const WRONG_DEPLOYMENTS: readonly unknown[] = [
  5,
  { replicas: 'x' },
  { replicas: 1.5 },
  { replicas: 3000000000 },
  { paused: 1 },
  { selector: [] },
  { selector: { matchLabels: { a: 1 } } },
  { strategy: { rollingUpdate: { maxSurge: {} } } },
  spec({}),
  spec([{ name: 'a', command: 'sh' }]),
  spec([{ name: 'a', env: [{ name: 'A', value: 5 }] }]),
  spec([{ name: 'a', resources: { limits: { cpu: 'x' } } }]),
  spec([{ name: 'a' }], { terminationGracePeriodSeconds: 'x' }),
  spec([{ name: 'a' }], { volumes: [{ name: 'a', emptyDir: { sizeLimit: 'x' } }] }),
]

const WRONG_FOOS: readonly unknown[] = [
  foo('a', { size: 1 }, { labels: { a: 5 } }),
  foo('a', { size: 1 }, { finalizers: [1] }),
  foo('a', { size: 1 }, { ownerReferences: [{ name: 5 }] }),
  foo('a', { size: 1 }, { creationTimestamp: 'x' }),
  { ...foo('a'), metadata: 5 },
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
