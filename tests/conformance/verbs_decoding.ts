/** Scripts of strict decoding: unknown and duplicate fields, wrong types. The answers are those of kube-apiserver. */
import { cm, deploy, foo, type Script, type Step } from './transcript.ts'

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

const WRONG_TYPES: readonly (readonly [body: unknown, answer: string])[] = [
  [
    cm('a', 5),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number into Go struct field ConfigMap.data of type map[string]string',
  ],
  [
    cm('a', 'x'),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal string into Go struct field ConfigMap.data of type map[string]string',
  ],
  [
    cm('a', []),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal array into Go struct field ConfigMap.data of type map[string]string',
  ],
  [
    cm('a', { k: 5 }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number into Go struct field ConfigMap.data of type string',
  ],
  [
    cm('a', { k: true }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal bool into Go struct field ConfigMap.data of type string',
  ],
  [
    cm('a', { k: { a: 1 } }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal object into Go struct field ConfigMap.data of type string',
  ],
  [
    cm('a', { k: ['a'] }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal array into Go struct field ConfigMap.data of type string',
  ],
  [
    { ...cm('a'), immutable: 'true' },
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal string into Go struct field ConfigMap.immutable of type bool',
  ],
  [
    { ...cm('a'), binaryData: { k: 5 } },
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number into Go struct field ConfigMap.binaryData of type []uint8',
  ],
  [
    { ...cm('a'), binaryData: { k: '%' } },
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: illegal base64 data ' +
    'at input byte 0',
  ],
  [
    { ...cm('a'), metadata: 5 },
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number into Go struct field ConfigMap.metadata of type v1.ObjectMeta',
  ],
  [
    { ...cm('a'), metadata: [] },
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta',
  ],
  [
    { ...cm('a'), metadata: 'x' },
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta',
  ],
  [
    cm('a', {}, { labels: { a: 5 } }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
  ],
  [
    cm('a', {}, { labels: 'x' }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string',
  ],
  [
    cm('a', {}, { annotations: { a: true } }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal bool into Go struct field ObjectMeta.metadata.annotations of type string',
  ],
  [
    cm('a', {}, { finalizers: 'x' }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal string into Go struct field ObjectMeta.metadata.finalizers of type []string',
  ],
  [
    cm('a', {}, { finalizers: [5] }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number into Go struct field ObjectMeta.metadata.finalizers of type string',
  ],
  [
    cm('a', {}, { ownerReferences: [{ name: 5 }] }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.name of type ' +
    'string',
  ],
  [
    cm('a', {}, { ownerReferences: {} }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal object into Go struct field ObjectMeta.metadata.ownerReferences of type ' +
    '[]v1.OwnerReference',
  ],
  [
    cm('a', {}, { generation: 'x' }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal string into Go struct field ObjectMeta.metadata.generation of type int64',
  ],
  [
    cm('a', {}, { generation: 1.5 }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64',
  ],
  [
    cm('a', {}, { creationTimestamp: 'yesterday' }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: parsing time ' +
    '"yesterday" as "{time}07:00": cannot parse "yesterday" as "2006"',
  ],
  [
    cm('a', {}, { creationTimestamp: 5 }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
  ],
  [cm('a', {}, { managedFields: [{ fieldsV1: 5 }] }), '201 ConfigMap a'],
  [
    cm('a', {}, { managedFields: 5 }),
    '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
    'unmarshal number into Go struct field ObjectMeta.metadata.managedFields of type ' +
    '[]v1.ManagedFieldsEntry',
  ],
]

const WRONG_DEPLOYMENTS: readonly (readonly [spec: unknown, answer: string])[] = [
  [
    5,
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number into Go struct field Deployment.spec of type v1.DeploymentSpec',
  ],
  [
    { replicas: 'x' },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
  ],
  [
    { replicas: 1.5 },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
  ],
  [
    { replicas: 3000000000 },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32',
  ],
  [
    { replicas: true },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal bool into Go struct field DeploymentSpec.spec.replicas of type int32',
  ],
  [
    { paused: 1 },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number into Go struct field DeploymentSpec.spec.paused of type bool',
  ],
  [
    { paused: 'true' },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool',
  ],
  [
    { selector: [] },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal array into Go struct field DeploymentSpec.spec.selector of type v1.LabelSelector',
  ],
  [
    { selector: { matchLabels: { a: 1 } } },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number into Go struct field LabelSelector.spec.selector.matchLabels of type string',
  ],
  [
    { selector: { matchExpressions: [{ key: 'a', values: [1] }] } },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number into Go struct field ' +
    'LabelSelectorRequirement.spec.selector.matchExpressions.values of type string',
  ],
  [
    { strategy: { rollingUpdate: { maxSurge: {} } } },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal object into Go struct field ' +
    'RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32',
  ],
  [
    { strategy: { rollingUpdate: { maxSurge: true } } },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge ' +
    'of type int32',
  ],
  [
    { strategy: { rollingUpdate: { maxSurge: 1.5 } } },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number 1.5 into Go struct field ' +
    'RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32',
  ],
  [
    { strategy: 'Recreate' },
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field DeploymentSpec.spec.strategy of type v1.DeploymentStrategy',
  ],
  [
    spec({}),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type ' +
    '[]v1.Container',
  ],
  [
    spec('x'),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field PodSpec.spec.template.spec.containers of type ' +
    '[]v1.Container',
  ],
  [
    spec(['x']),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container',
  ],
  [
    spec([{ name: 5 }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number into Go struct field Container.spec.template.spec.containers.name of type ' +
    'string',
  ],
  [
    spec([{ name: 'a', command: 'sh' }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field Container.spec.template.spec.containers.command of type ' +
    '[]string',
  ],
  [
    spec([{ name: 'a', command: [1] }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number into Go struct field Container.spec.template.spec.containers.command of type ' +
    'string',
  ],
  [
    spec([{ name: 'a', env: [{ name: 'A', value: 5 }] }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number into Go struct field EnvVar.spec.template.spec.containers.env.value of type ' +
    'string',
  ],
  [
    spec([{ name: 'a', env: [{ name: 'A', value: true }] }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal bool into Go struct field EnvVar.spec.template.spec.containers.env.value of type ' +
    'string',
  ],
  [
    spec([{ name: 'a', ports: [{ containerPort: '80' }] }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field ' +
    'ContainerPort.spec.template.spec.containers.ports.containerPort of type int32',
  ],
  [
    spec([{ name: 'a', resources: { limits: { cpu: 'x' } } }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: quantities must ' +
    "match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    spec([{ name: 'a', resources: { limits: { cpu: true } } }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: quantities must ' +
    "match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    spec([{ name: 'a', resources: { limits: [] } }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal array into Go struct field ' +
    'ResourceRequirements.spec.template.spec.containers.resources.limits of type v1.ResourceList',
  ],
  [
    spec([{ name: 'a', livenessProbe: { httpGet: { port: {} } } }]),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal object into Go struct field ' +
    'HTTPGetAction.spec.template.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type ' +
    'int32',
  ],
  [
    spec([{ name: 'a' }], { terminationGracePeriodSeconds: 'x' }),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field PodSpec.spec.template.spec.terminationGracePeriodSeconds ' +
    'of type int64',
  ],
  [
    spec([{ name: 'a' }], { nodeSelector: { a: 1 } }),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal number into Go struct field PodSpec.spec.template.spec.nodeSelector of type string',
  ],
  [
    spec([{ name: 'a' }], { securityContext: { runAsUser: 'x' } }),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field ' +
    'PodSecurityContext.spec.template.spec.securityContext.runAsUser of type int64',
  ],
  [
    spec([{ name: 'a' }], { volumes: [{ name: 'a', emptyDir: { sizeLimit: 'x' } }] }),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: quantities must ' +
    "match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    spec([{ name: 'a' }], { volumes: [{ name: 'a', secret: { items: [{ mode: '0644' }] } }] }),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal string into Go struct field ' +
    'KeyToPath.spec.template.spec.volumes.VolumeSource.secret.items.mode of type int32',
  ],
  [
    spec([{ name: 'a' }], { affinity: { nodeAffinity: [] } }),
    '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: json: cannot ' +
    'unmarshal array into Go struct field Affinity.spec.template.spec.affinity.nodeAffinity of type ' +
    'v1.NodeAffinity',
  ],
]

const WRONG_FOOS: readonly (readonly [body: unknown, answer: string])[] = [
  [
    foo('a', { size: 1 }, { labels: { a: 5 } }),
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal number ' +
    'into Go struct field ObjectMeta.labels of type string',
  ],
  [
    foo('a', { size: 1 }, { labels: 'x' }),
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal string ' +
    'into Go struct field ObjectMeta.labels of type map[string]string',
  ],
  [
    foo('a', { size: 1 }, { annotations: [] }),
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal array ' +
    'into Go struct field ObjectMeta.annotations of type map[string]string',
  ],
  [
    foo('a', { size: 1 }, { finalizers: 'x' }),
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal string ' +
    'into Go struct field ObjectMeta.finalizers of type []string',
  ],
  [
    foo('a', { size: 1 }, { finalizers: [1] }),
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal number ' +
    'into Go struct field ObjectMeta.finalizers of type string',
  ],
  [
    foo('a', { size: 1 }, { ownerReferences: [{ name: 5 }] }),
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal number ' +
    'into Go struct field OwnerReference.ownerReferences.name of type string',
  ],
  [
    foo('a', { size: 1 }, { creationTimestamp: 'x' }),
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: parsing time "x" as ' +
    '"{time}07:00": cannot parse "x" as "2006"',
  ],
  [
    foo('a', { size: 1 }, { generation: 'x' }),
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal string ' +
    'into Go struct field ObjectMeta.generation of type int64',
  ],
  [
    { ...foo('a'), metadata: 5 },
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal number ' +
    'into Go value of type v1.ObjectMeta',
  ],
  [
    { ...foo('a'), metadata: [] },
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal array ' +
    'into Go value of type v1.ObjectMeta',
  ],
  [
    { ...foo('a'), metadata: { name: 5 } },
    '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: json: cannot unmarshal number ' +
    'into Go struct field ObjectMeta.name of type string',
  ],
  [
    { ...foo('a'), metadata: null },
    '422 Invalid: Foo.{group} "" | {group} Foo | FieldValueRequired metadata.name Required value: ' +
    'name or generateName is required',
  ],
]

export const DECODING_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: values of a wrong type in a ConfigMap',
    steps: WRONG_TYPES.map(([body, answer]): Step => ['POST cm', answer, body]),
  },
  {
    name: 'verbs: values of a wrong type in a Deployment',
    steps: WRONG_DEPLOYMENTS.map((
      [body, answer],
    ): Step => ['POST deploy', answer, { metadata: { name: 'a' }, spec: body }]),
  },
  {
    name: 'verbs: values of a wrong type in the metadata of a custom object',
    steps: WRONG_FOOS.map(([body, answer]): Step => ['POST foos', answer, body]),
  },
  {
    name: 'verbs: unknown fields of a built-in kind',
    steps: [
      [
        'POST cm?fieldValidation=Strict',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding ' +
        'error: unknown field "metadata.odd", unknown field "Data", unknown field "extra", unknown field ' +
        '"zeta"',
        ODD,
      ],
      [
        'POST cm?fieldValidation=Warn',
        `201 ConfigMap a warnings: "unknown field 'metadata.odd'", "unknown field 'Data'", "unknown field ` +
        `'extra'", "unknown field 'zeta'"`,
        ODD,
      ],
      [
        'PUT cm/a?fieldValidation=Strict',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding ' +
        'error: unknown field "metadata.odd", unknown field "Data", unknown field "extra", unknown field ' +
        '"zeta"',
        ODD,
      ],
      [
        'PUT cm/a',
        `200 ConfigMap a warnings: "unknown field 'metadata.odd'", "unknown field 'Data'", "unknown field ` +
        `'extra'", "unknown field 'zeta'"`,
        ODD,
      ],
      ['PUT cm/a?fieldValidation=Ignore', '200 ConfigMap a', ODD],
      [
        'MERGE cm/a?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: strict decoding error: ' +
        'unknown field "metadata.odd", unknown field "odd"',
        { odd: 1, metadata: { odd: 2 } },
      ],
      ['MERGE cm/a', `200 ConfigMap a warnings: "unknown field 'metadata.odd'", "unknown field 'odd'"`, {
        odd: 1,
        metadata: { odd: 2 },
      }],
      [
        'STRATEGIC cm/a?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[metadata:map[odd:2] odd:1]": ' +
        'strict decoding error: unknown field "metadata.odd", unknown field "odd"',
        { odd: 1, metadata: { odd: 2 } },
      ],
      ['STRATEGIC cm/a', `200 ConfigMap a warnings: "unknown field 'metadata.odd'", "unknown field 'odd'"`, {
        odd: 1,
        metadata: { odd: 2 },
      }],
      [
        'JSON cm/a?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: strict decoding error: ' +
        'unknown field "odd"',
        [{ op: 'add', path: '/odd', value: 1 }],
      ],
      ['JSON cm/a', `200 ConfigMap a warnings: "unknown field 'odd'"`, [{ op: 'add', path: '/odd', value: 1 }]],
      [
        'JSON cm/a?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: strict decoding error: json ' +
        'patch unknown field "[0].odd"',
        [{ op: 'add', path: '/data/x', value: '1', odd: 1 }],
      ],
    ],
  },
  {
    name: 'verbs: unknown fields in lists of a built-in kind',
    steps: [
      [
        'POST deploy?fieldValidation=Strict',
        '400 BadRequest: Deployment in version "v1" cannot be handled as a Deployment: strict decoding ' +
        'error: unknown field "spec.template.spec.containers[0].odd", unknown field ' +
        '"spec.template.spec.containers[0].ports[0].odd", unknown field ' +
        '"spec.template.spec.containers[1].odds", unknown field "spec.odd"',
        ODD_POD,
      ],
      [
        'POST deploy',
        `201 Deployment a warnings: "unknown field 'spec.template.spec.containers[0].odd'", "unknown ` +
        `field 'spec.template.spec.containers[0].ports[0].odd'", "unknown field ` +
        `'spec.template.spec.containers[1].odds'", "unknown field 'spec.odd'"`,
        ODD_POD,
      ],
      [
        'STRATEGIC deploy/a?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: ' +
        '"map[template:map[metadata:map[labels:map[app:a]] spec:map[containers:[map[name:main ' +
        'odd:1]]]]]": strict decoding error: unknown field "template"',
        spec([{ name: 'main', odd: 1 }]),
      ],
      ['STRATEGIC deploy/a', `200 Deployment a warnings: "unknown field 'spec.template.spec.containers[0].odd'"`, {
        spec: spec([{ name: 'main', odd: 1 }]),
      }],
      [
        'STRATEGIC deploy/a?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: ' +
        '"map[spec:map[template:map[metadata:map[labels:map[app:a]] spec:map[containers:[map[name:main ' +
        'odd:1]]]]]]": strict decoding error: unknown field "spec.template.spec.containers[0].odd"',
        { spec: spec([{ name: 'main', odd: 1 }]) },
      ],
      [
        'APPLY deploy/a?fieldManager=m&fieldValidation=Strict',
        '500 : failed to create typed patch object (/a; apps/v1, Kind=Deployment): .spec.odd: field not ' +
        'declared in schema',
        deploy('a', { odd: 1 }),
      ],
      [
        'APPLY deploy/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; apps/v1, Kind=Deployment): ' +
        '.spec.template.spec.containers[name="main"].odd: field not declared in schema',
        deploy('a', spec([{ name: 'main', odd: 1 }])),
      ],
    ],
  },
  {
    name: 'verbs: unknown fields of a custom kind',
    steps: [
      [
        'POST foos?fieldValidation=Strict',
        '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: strict decoding error: unknown ' +
        'field "metadata.odd", unknown field "extra", unknown field "spec.Size", unknown field ' +
        '"spec.nested.odd", unknown field "spec.odd", unknown field "spec.parts[1].odd"',
        ODD_FOO,
      ],
      [
        'POST foos ? spec',
        '201 ' +
        '{"free":{"odd":1},"mode":"fast","nested":{"deep":7},"parts":[{"name":"a","protocol":"TCP"},{"nam' +
        `e":"b","protocol":"TCP"}],"size":1} warnings: "unknown field 'metadata.odd'", "unknown field ` +
        `'extra'", "unknown field 'spec.Size'", "unknown field 'spec.nested.odd'", "unknown field ` +
        `'spec.odd'", "unknown field 'spec.parts[1].odd'"`,
        ODD_FOO,
      ],
      [
        'PUT foos/a?fieldValidation=Strict',
        '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: strict decoding error: unknown ' +
        'field "metadata.odd", unknown field "extra", unknown field "spec.Size", unknown field ' +
        '"spec.nested.odd", unknown field "spec.odd", unknown field "spec.parts[1].odd"',
        ODD_FOO,
      ],
      [
        'MERGE foos/a?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: strict decoding error: ' +
        'unknown field "metadata.odd", unknown field "odd", unknown field "spec.odd"',
        { odd: 1, metadata: { odd: 2 }, spec: { odd: 3 } },
      ],
      [
        'MERGE foos/a',
        `200 Foo a warnings: "unknown field 'metadata.odd'", "unknown field 'odd'", "unknown field ` +
        `'spec.odd'"`,
        { odd: 1, metadata: { odd: 2 }, spec: { odd: 3 } },
      ],
      ['MERGE foos/a?fieldValidation=Ignore', '200 Foo a', { odd: 1, metadata: { odd: 2 }, spec: { odd: 3 } }],
      [
        'JSON foos/a?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: strict decoding error: ' +
        'unknown field "spec.odd"',
        [{ op: 'add', path: '/spec/odd', value: 1 }],
      ],
      [
        'APPLY foos/a?fieldManager=m&fieldValidation=Strict',
        '500 : failed to create typed patch object (/a; {group}/v1, Kind=Foo): .extra: field not declared ' +
        'in schema',
        { ...foo('a'), extra: 1 },
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; {group}/v1, Kind=Foo): ' +
        '.spec.parts[name="b",protocol="TCP"].odd: field not declared in schema',
        foo('a', { parts: [{ name: 'b', odd: 1 }] }),
      ],
      [
        'APPLY foos/a?fieldManager=m',
        '500 : failed to create typed patch object (/a; {group}/v1, Kind=Foo): .metadata.odd: field not ' +
        'declared in schema',
        foo('a', {}, { odd: 1 }),
      ],
      [
        'POST foos2?fieldValidation=Strict',
        '400 BadRequest: Foo in version "v2" cannot be handled as a Foo: strict decoding error: unknown ' +
        'field "metadata.odd"',
        { ...foo('b', { any: { thing: 1 } }, { odd: 1 }), apiVersion: '{group}/v2' },
      ],
    ],
  },
  {
    name: 'verbs: duplicate fields of a built-in kind',
    steps: [
      [
        'POST cm?fieldValidation=Strict',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding ' +
        'error: duplicate field "metadata.name", duplicate field "metadata.labels.a", duplicate field ' +
        '"data.k"',
        DUPLICATES,
      ],
      [
        'POST cm ? data metadata.labels',
        `201 {"k":"w"} {"a":"c"} warnings: "duplicate field 'metadata.name'", "duplicate field ` +
        `'metadata.labels.a'", "duplicate field 'data.k'"`,
        DUPLICATES,
      ],
      [
        'PUT cm/d?fieldValidation=Strict',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding ' +
        'error: duplicate field "metadata.name", duplicate field "metadata.labels.a", duplicate field ' +
        '"data.k"',
        DUPLICATES,
      ],
      [
        'MERGE cm/d?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: strict decoding error: ' +
        'duplicate field "data.a", duplicate field "metadata.labels.x"',
        '{"data":{"a":"1","a":"2"},"metadata":{"labels":{"x":"1","x":"2"}}}',
      ],
      [
        'MERGE cm/d ? data metadata.labels',
        `200 {"a":"2","k":"w"} {"a":"c","x":"2"} warnings: "duplicate field 'data.a'", "duplicate field ` +
        `'metadata.labels.x'"`,
        '{"data":{"a":"1","a":"2"},"metadata":{"labels":{"x":"1","x":"2"}}}',
      ],
      [
        'STRATEGIC cm/d?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: "map[data:map[a:2] odd:1]": strict ' +
        'decoding error: duplicate field "data.a", unknown field "odd"',
        '{"data":{"a":"1","a":"2"},"odd":1}',
      ],
      [
        'STRATEGIC cm/d',
        `200 ConfigMap d warnings: "duplicate field 'data.a'", "unknown field 'odd'"`,
        '{"data":{"a":"1","a":"2"},"odd":1}',
      ],
      [
        'JSON cm/d?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: strict decoding error: json ' +
        'patch duplicate field "[0].op"',
        '[{"op":"add","op":"add","path":"/data/z","value":"1"}]',
      ],
    ],
  },
  {
    name: 'verbs: duplicate fields of a custom kind',
    steps: [
      [
        'POST foos?fieldValidation=Strict',
        '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: strict decoding error: duplicate ' +
        'field "metadata.labels.a", duplicate field "spec.size", duplicate field "spec.parts[0].name", ' +
        'duplicate field "spec.labels.x", duplicate field "spec", unknown field "spec.odd"',
        FOO_DUPLICATES,
      ],
      [
        'POST foos ? spec metadata.labels',
        '201 {"mode":"fast","nested":{"deep":7},"size":3} {"a":"c"} warnings: "duplicate field ' +
        `'metadata.labels.a'", "duplicate field 'spec.size'", "duplicate field 'spec.parts[0].name'", ` +
        `"duplicate field 'spec.labels.x'", "duplicate field 'spec'", "unknown field 'spec.odd'"`,
        FOO_DUPLICATES,
      ],
      [
        'MERGE foos/d?fieldValidation=Strict',
        '422 Invalid:  "" | FieldValueInvalid patch Invalid value: {object}: strict decoding error: ' +
        'duplicate field "spec.size", unknown field "spec.odd"',
        '{"spec":{"size":1,"size":2,"odd":1}}',
      ],
      [
        'MERGE foos/d ? spec.size',
        `200 2 warnings: "duplicate field 'spec.size'", "unknown field 'spec.odd'"`,
        '{"spec":{"size":1,"size":2,"odd":1}}',
      ],
      ['POST foos?fieldValidation=Ignore', '201 Foo e', FOO_DUPLICATES.replaceAll('"d"', '"e"')],
    ],
  },
  {
    name: 'verbs: many unknown fields',
    steps: [
      [
        'POST cm?fieldValidation=Strict',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding ' +
        'error: unknown field "odd0", unknown field "odd1", unknown field "odd2", unknown field "odd3", ' +
        'unknown field "odd4", unknown field "odd5", unknown field "odd6", unknown field "odd7", unknown ' +
        'field "odd8", unknown field "odd9", unknown field "odd10", unknown field "odd11", unknown field ' +
        '"odd12", unknown field "odd13", unknown field "odd14", unknown field "odd15", unknown field ' +
        '"odd16", unknown field "odd17", unknown field "odd18", unknown field "odd19", unknown field ' +
        '"odd20", unknown field "odd21", unknown field "odd22", unknown field "odd23", unknown field ' +
        '"odd24", unknown field "odd25", unknown field "odd26", unknown field "odd27", unknown field ' +
        '"odd28", unknown field "odd29"',
        { ...cm('m'), ...Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`odd${i}`, i])) },
      ],
      [
        'POST foos?fieldValidation=Strict',
        '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: strict decoding error: unknown ' +
        'field "spec.odd0", unknown field "spec.odd1", unknown field "spec.odd10", unknown field ' +
        '"spec.odd100", unknown field "spec.odd101", unknown field "spec.odd102", unknown field ' +
        '"spec.odd103", unknown field "spec.odd104", unknown field "spec.odd105", unknown field ' +
        '"spec.odd106", unknown field "spec.odd107", unknown field "spec.odd108", unknown field ' +
        '"spec.odd109", unknown field "spec.odd11", unknown field "spec.odd12", unknown field ' +
        '"spec.odd13", unknown field "spec.odd14", unknown field "spec.odd15", unknown field ' +
        '"spec.odd16", unknown field "spec.odd17", unknown field "spec.odd18", unknown field ' +
        '"spec.odd19", unknown field "spec.odd2", unknown field "spec.odd20", unknown field "spec.odd21", ' +
        'unknown field "spec.odd22", unknown field "spec.odd23", unknown field "spec.odd24", unknown ' +
        'field "spec.odd25", unknown field "spec.odd26", unknown field "spec.odd27", unknown field ' +
        '"spec.odd28", unknown field "spec.odd29", unknown field "spec.odd3", unknown field "spec.odd30", ' +
        'unknown field "spec.odd31", unknown field "spec.odd32", unknown field "spec.odd33", unknown ' +
        'field "spec.odd34", unknown field "spec.odd35", unknown field "spec.odd36", unknown field ' +
        '"spec.odd37", unknown field "spec.odd38", unknown field "spec.odd39", unknown field "spec.odd4", ' +
        'unknown field "spec.odd40", unknown field "spec.odd41", unknown field "spec.odd42", unknown ' +
        'field "spec.odd43", unknown field "spec.odd44", unknown field "spec.odd45", unknown field ' +
        '"spec.odd46", unknown field "spec.odd47", unknown field "spec.odd48", unknown field ' +
        '"spec.odd49", unknown field "spec.odd5", unknown field "spec.odd50", unknown field "spec.odd51", ' +
        'unknown field "spec.odd52", unknown field "spec.odd53", unknown field "spec.odd54", unknown ' +
        'field "spec.odd55", unknown field "spec.odd56", unknown field "spec.odd57", unknown field ' +
        '"spec.odd58", unknown field "spec.odd59", unknown field "spec.odd6", unknown field "spec.odd60", ' +
        'unknown field "spec.odd61", unknown field "spec.odd62", unknown field "spec.odd63", unknown ' +
        'field "spec.odd64", unknown field "spec.odd65", unknown field "spec.odd66", unknown field ' +
        '"spec.odd67", unknown field "spec.odd68", unknown field "spec.odd69", unknown field "spec.odd7", ' +
        'unknown field "spec.odd70", unknown field "spec.odd71", unknown field "spec.odd72", unknown ' +
        'field "spec.odd73", unknown field "spec.odd74", unknown field "spec.odd75", unknown field ' +
        '"spec.odd76", unknown field "spec.odd77", unknown field "spec.odd78", unknown field ' +
        '"spec.odd79", unknown field "spec.odd8", unknown field "spec.odd80", unknown field "spec.odd81", ' +
        'unknown field "spec.odd82", unknown field "spec.odd83", unknown field "spec.odd84", unknown ' +
        'field "spec.odd85", unknown field "spec.odd86", unknown field "spec.odd87", unknown field ' +
        '"spec.odd88", unknown field "spec.odd89", unknown field "spec.odd9", unknown field "spec.odd90", ' +
        'unknown field "spec.odd91", unknown field "spec.odd92", unknown field "spec.odd93", unknown ' +
        'field "spec.odd94", unknown field "spec.odd95", unknown field "spec.odd96", unknown field ' +
        '"spec.odd97", unknown field "spec.odd98", unknown field "spec.odd99"',
        foo('m', { size: 1, ...Object.fromEntries(Array.from({ length: 110 }, (_, i) => [`odd${i}`, i])) }),
      ],
      [
        'POST cm',
        `201 ConfigMap m warnings: "unknown field 'odd0'", "unknown field 'odd1'", "unknown field ` +
        `'odd2'", "unknown field 'odd3'", "unknown field 'odd4'", "unknown field 'odd5'", "unknown field ` +
        `'odd6'", "unknown field 'odd7'", "unknown field 'odd8'", "unknown field 'odd9'", "unknown field ` +
        `'odd10'", "unknown field 'odd11'", "unknown field 'odd12'", "unknown field 'odd13'", "unknown ` +
        `field 'odd14'", "unknown field 'odd15'", "unknown field 'odd16'", "unknown field 'odd17'", ` +
        `"unknown field 'odd18'", "unknown field 'odd19'", "unknown field 'odd20'", "unknown field ` +
        `'odd21'", "unknown field 'odd22'", "unknown field 'odd23'", "unknown field 'odd24'", "unknown ` +
        `field 'odd25'", "unknown field 'odd26'", "unknown field 'odd27'", "unknown field 'odd28'", ` +
        `"unknown field 'odd29'"`,
        { ...cm('m'), ...Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`odd${i}`, i])) },
      ],
      [
        'POST cm',
        '201 ConfigMap n warnings: "unknown field ' +
        "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" +
        'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' +
        'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' +
        `xxxxxxxxxxxxx'"`,
        { ...cm('n'), ['x'.repeat(300)]: 1 },
      ],
    ],
  },
  {
    name: 'verbs: a wrong type and unknown fields at once',
    steps: [
      [
        'POST cm?fieldValidation=Strict',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
        'unmarshal number into Go struct field ConfigMap.data of type string',
        { ...cm('a', { k: 5 }), odd: 1 },
      ],
      [
        'POST cm',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
        'unmarshal number into Go struct field ConfigMap.data of type string',
        { ...cm('a', { k: 5 }), odd: 1 },
      ],
      [
        'POST cm?fieldValidation=Strict',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding ' +
        'error: unknown field "odd"',
        { ...cm('A'), odd: 1 },
      ],
      [
        'POST cm',
        '422 Invalid: ConfigMap "A" | A ConfigMap | FieldValueInvalid metadata.name Invalid value: "A": a ' +
        "lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
        "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation " +
        `is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') warnings: "unknown field ` +
        `'odd'"`,
        { ...cm('A'), odd: 1 },
      ],
      [
        'POST foos?fieldValidation=Strict',
        '400 BadRequest: Foo in version "v1" cannot be handled as a Foo: strict decoding error: unknown ' +
        'field "spec.odd"',
        foo('A', { size: 'x', odd: 1 }),
      ],
      [
        'POST foos',
        '422 Invalid: Foo.{group} "b" | b {group} Foo | FieldValueNotSupported spec.mode Unsupported ' +
        `value: "x": supported values: "fast", "slow" warnings: "unknown field 'spec.odd'"`,
        foo('b', { mode: 'x', odd: 1, size: 1 }),
      ],
      ['MERGE foos/nope?fieldValidation=Strict', '404 NotFound: foos.{group} "nope" not found | nope {group} foos', {
        odd: 1,
      }],
      [
        'POST cm?fieldValidation=Strict&dryRun=All',
        '400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding ' +
        'error: unknown field "odd"',
        { ...cm('a'), odd: 1 },
      ],
      ['MERGE cm/nope', '404 NotFound: configmaps "nope" not found | nope configmaps', { odd: 1 }],
    ],
  },
  {
    name: 'verbs: nulls in typed objects',
    steps: [
      [
        'POST cm ? data metadata.labels',
        '201 {"k":""} {"x":""}',
        cm('a', { k: null }, { labels: { x: null }, annotations: null }),
      ],
      ['POST cm ? data binaryData immutable', '201 - - -', { ...cm('b', null), binaryData: null, immutable: null }],
      [
        'POST deploy ? spec.replicas spec.template.spec.containers.0.command spec.paused',
        '201 1 - -',
        deploy('a', {
          replicas: null,
          paused: null,
          ...spec([{ name: 'main', image: 'x', command: null, ports: null, resources: null }]),
        }),
      ],
      [
        'POST deploy',
        '422 Invalid: Deployment.apps "b" | b apps Deployment | FieldValueInvalid ' +
        'spec.template.metadata.labels Invalid value: {"app":"a"}: `selector` does not match template ' +
        '`labels` | FieldValueRequired spec.template.spec.containers Required value',
        deploy('b', spec(null)),
      ],
      [
        'POST deploy',
        '422 Invalid: Deployment.apps "b" | b apps Deployment | FieldValueInvalid ' +
        'spec.template.metadata.labels Invalid value: {"app":"a"}: `selector` does not match template ' +
        '`labels` | FieldValueRequired spec.template.spec.containers[0].image Required value | ' +
        'FieldValueRequired spec.template.spec.containers[0].name Required value',
        deploy('b', spec([null])),
      ],
      ['POST cm ? metadata.finalizers', '422 -', cm('c', {}, { finalizers: [null] })],
    ],
  },
]
