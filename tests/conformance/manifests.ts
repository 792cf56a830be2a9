/** Cases of what other projects' manifests have. */
import type { Api, Body, Case } from './api.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'
import { casesOf, cm, foo, type Script, script, type Step } from './transcript.ts'

const CONTAINER = { name: 'main', image: 'nginx:1' }
const LABELS = { app: 'web' }
const metadata = { name: 'x' }

/** Returns a workload whose pods have this spec. */
function workload(kind: string, spec: object, more: object = {}): object {
  const template = { metadata: { labels: LABELS }, spec }
  return { apiVersion: 'apps/v1', kind, metadata, spec: { selector: { matchLabels: LABELS }, template, ...more } }
}

const pod = (spec: object): object => ({ apiVersion: 'v1', kind: 'Pod', metadata, spec })

const CLAIM = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}
const mounting = (name: string): object => ({
  containers: [{ ...CONTAINER, volumeMounts: [{ name, mountPath: '/data' }] }],
})

const IMAGES = [
  'nginx',
  'nginx:latest',
  'localhost:5000/nginx',
  'nginx:1@sha256:0123456789012345678901234567890123456789012345678901234567890123',
  'nginx@sha256:0123456789012345678901234567890123456789012345678901234567890123',
  'ko://example.com/cmd',
  'Upper/case',
  'Upper',
  'a..b',
  '${IMAGE}',
]

const PORTS = [{ ...CONTAINER, ports: [{ containerPort: 80 }] }]
const INIT = [{ ...CONTAINER, name: 'init', ports: [{ containerPort: 81 }] }]
const HOST = { hostNetwork: true, containers: PORTS, initContainers: INIT }

/** Creates a definition in a group, and reads its conditions. */
function definition(group: string, approved?: string): readonly Step[] {
  const name = `manifests.${group}`
  const object = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, ...(approved !== undefined && { annotations: { 'api-approved.kubernetes.io': approved } }) },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'manifests', kind: 'Manifest' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  }
  return [[`POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All`, object]]
}

/** Installs a kind with three versions, each with a field and defaults of its own, in a group of its own. */
const versionedKind = (name: string) => async (api: Api): Promise<Readonly<Record<string, string>>> => {
  const group = `${name}.${api.group}`
  const text = { type: 'string' }
  const version = (name: string, properties: object, more: object = {}): object => ({
    name,
    served: true,
    storage: false,
    subresources: { status: {} },
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', properties: { both: { ...text, default: name }, ...properties } },
          status: {
            type: 'object',
            default: { seen: -1 },
            properties: { seen: { type: 'integer' } },
          },
        },
      },
    },
    ...more,
  })
  const versions = [
    version('v1alpha1', { old: text }, { deprecated: true }),
    version('v1beta1', { middle: { ...text, default: 'm' } }, { deprecated: true, deprecationWarning: 'soon gone' }),
    version('v1', { added: { ...text, default: 'n' } }, { storage: true }),
  ]
  await api.expect(201, 'POST', CRDS, definitionOf({ kind: 'Thing', group, scope: 'Namespaced', versions }))
  await api.untilServed(`/apis/${group}/v1/namespaces/${api.namespace}/things`)
  return { things: `/apis/${group}`, thingGroup: group }
}

function thing(version: string, spec: object, name = 'x'): Body {
  return { apiVersion: `{thingGroup}/${version}`, kind: 'Thing', metadata: { name }, spec }
}

const CASES: readonly Script[] = [
  {
    name: 'the containers of a StatefulSet mount the claims of its templates',
    steps: ['data', 'other'].map((name): Step => [
      'POST /apis/apps/v1/namespaces/{ns}/statefulsets?dryRun=All',
      workload('StatefulSet', mounting(name), { serviceName: 's', volumeClaimTemplates: [CLAIM] }),
    ]),
  },
  script(
    'an image without tag and digest is always pulled, but not a text that is no image',
    IMAGES.map((image): Step => [
      'POST /api/v1/namespaces/{ns}/pods?dryRun=All ? spec.containers.0.imagePullPolicy',
      pod({ containers: [{ ...CONTAINER, image }] }),
    ]),
  ),
  script('host ports are set in pods on the network of their host, but not in templates', [
    ['POST /api/v1/namespaces/{ns}/pods?dryRun=All ? spec.containers.0.ports spec.initContainers.0.ports', pod(HOST)],
    [
      'POST /apis/apps/v1/namespaces/{ns}/daemonsets?dryRun=All ? spec.template.spec.containers.0.ports',
      workload('DaemonSet', HOST),
    ],
  ]),
  {
    name: 'the older name of a service account is an alias of the newer one, which wins',
    steps: [{ serviceAccount: 'a' }, { serviceAccountName: 'a' }, { serviceAccount: 'a', serviceAccountName: 'b' }].map(
      (
        accounts,
      ): Step => [
        'POST /apis/apps/v1/namespaces/{ns}/deployments?dryRun=All ? spec.template.spec',
        workload('Deployment', { containers: [CONTAINER], ...accounts }),
      ],
    ),
  },
  script('of a path of an Ingress without a type, only that is reported', [
    [
      'POST /apis/networking.k8s.io/v1/namespaces/{ns}/ingresses?dryRun=All',
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'Ingress',
        metadata,
        spec: { rules: [{ http: { paths: [{ path: '/', backend: { serviceName: 'a', servicePort: 80 } }] } }] },
      },
    ],
  ]),
  {
    name: 'a dry run takes a resourceVersion, and a create does not; both report an invalid object first',
    steps: ['?dryRun=All', ''].flatMap((query): Step[] => [
      [`POST /api/v1/namespaces/{ns}/configmaps${query}`, cm('versioned', {}, { resourceVersion: '5' })],
      [`POST /api/v1/namespaces/{ns}/configmaps${query}`, cm('Versioned_', {}, { resourceVersion: '5' })],
    ]),
  },
  script('a patch copies 3 MiB, and no more', [
    ['POST foos', foo('copied', { size: 1, free: { text: 'v'.repeat(1000) } })],
    ...[['/spec/free/text', 2000], ['/spec/free/text', 4000], ['/spec/free', 5], ['/spec/free', 30]].map((
      [from, count],
    ): Step => [
      'JSON foos/copied?dryRun=All ? metadata.name',
      Array.from({ length: Number(count) }, (_, at) => ({ op: 'copy', from, path: `/spec/free/${at}` })),
    ]),
  ]),
  {
    name: 'a Namespace has its name as a label, a generated one too',
    steps: [['name', 'named'], ['generateName', 'gen-']].map(([field, name]): Step => [
      'POST /api/v1/namespaces?dryRun=All ? metadata.labels metadata.managedFields',
      { apiVersion: 'v1', kind: 'Namespace', metadata: { [field!]: name } },
    ]),
  },
  {
    name: 'an apply of a new object has the name of the URL in its body',
    steps: [{}, { generateName: 'gen-' }, { name: 'applied' }].map((given): Step => [
      'APPLY cm/applied?fieldManager=a',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: given },
    ]).concat([['APPLY cm/applied?fieldManager=a', { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }]]),
  },
  {
    name: 'base64 loses its line breaks',
    steps: [[
      'POST /api/v1/namespaces/{ns}/secrets?dryRun=All ? data',
      { apiVersion: 'v1', kind: 'Secret', metadata, data: { a: 'aGVs\nbG8=\r\n', b: '' } },
    ]],
  },
  {
    name: 'versions without a webhook differ by their fields and defaults; a deprecated one names the best other',
    setup: versionedKind('versioned0'),
    steps: [
      ['POST {things}/v1alpha1/namespaces/{ns}/things ? .', thing('v1alpha1', { old: 'a', both: 'b', other: 'c' })],
      'GET {things}/v1/namespaces/{ns}/things/x ? .',
      ['MERGE {things}/v1/namespaces/{ns}/things/x ? .', { spec: { added: 'd' } }],
      'GET {things}/v1alpha1/namespaces/{ns}/things/x ? .',
      [
        'PUT {things}/v1alpha1/namespaces/{ns}/things/x ? .',
        (answers: readonly Body[]) => ({ ...thing('v1alpha1', { old: 'e' }), metadata: answers[3].metadata }),
      ],
      'GET {things}/v1/namespaces/{ns}/things/x ? .',
      'GET {things}/v1beta1/namespaces/{ns}/things/x ? .',
    ],
  },
  {
    name: 'a dry run has the defaults of a status',
    setup: versionedKind('versioned1'),
    steps: [
      ['POST {things}/v1/namespaces/{ns}/things?dryRun=All ? .', thing('v1', {})],
      ['POST {things}/v1/namespaces/{ns}/things ? .', thing('v1', {})],
      ['MERGE {things}/v1/namespaces/{ns}/things/x?dryRun=All ? .', { spec: { both: 'x' } }],
      ['APPLY {things}/v1/namespaces/{ns}/things/y?dryRun=All&fieldManager=a ? .', { ...thing('v1', {}, 'y') }],
    ],
  },
  {
    name: 'a definition in a group of the community needs an approval: a URL, or a reason that begins with unapproved',
    steps: [
      undefined,
      '',
      'unapproved, experimental-only',
      'https://github.com/kubernetes-sigs/gateway-api/pull/1',
      'http://',
      '/path',
      'yes',
    ].flatMap((approved) => definition('manifests.k8s.io', approved)),
  },
  script('the server warns of what is deprecated, ignored or not checked', [
    ['POST /api/v1/namespaces/{ns}/endpoints?dryRun=All ? subsets', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata,
    }],
    ['POST /apis/networking.k8s.io/v1/namespaces/{ns}/ingresses?dryRun=All ? spec.rules', ingress({})],
  ]),
  {
    name: 'the labels of a job and of its pods are the generated ones',
    steps: [[
      'POST /apis/batch/v1/namespaces/{ns}/jobs?dryRun=All ? spec.selector',
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'x', labels: { own: 'a' } },
        spec: { template: { metadata: { labels: {} }, spec: { containers: [CONTAINER], restartPolicy: 'Never' } } },
      },
    ]],
  },
  {
    name: 'a DaemonSet begins with the generation of its template that its annotation has',
    steps: ['3', '0', '-1', '1e3', 'x'].map((generation): Step => [
      `POST /apis/apps/v1/namespaces/{ns}/daemonsets?dryRun=All${
        /^-?\d$/.test(generation) ? ' ? metadata.annotations' : ''
      }`,
      {
        ...workload('DaemonSet', { containers: [CONTAINER] }),
        metadata: { name: 'x', annotations: { 'deprecated.daemonset.template.generation': generation } },
      },
    ]),
  },
  script('the labels of an EndpointSlice count in its generation', [
    ['POST /apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices ? metadata.generation', {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata,
      addressType: 'IPv4',
      endpoints: [],
    }],
    ...[{ labels: { a: 'b' } }, { annotations: { a: 'b' } }].map((more): Step => [
      'MERGE /apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices/x ? metadata.generation',
      { metadata: more },
    ]),
  ]),
  {
    name: 'a dry run of a create keeps a resourceVersion',
    steps: ['7', 'x', ''].map((resourceVersion): Step => [
      'POST cm?dryRun=All ? metadata.resourceVersion',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', resourceVersion } },
    ]),
  },
  {
    name: 'a volume with a fault cannot be mounted',
    steps: [[
      'POST /api/v1/namespaces/{ns}/pods?dryRun=All',
      pod({ ...mounting('data'), volumes: [{ name: 'data', configMap: { name: 'x', defaultMode: 755 } }] }),
    ]],
  },
  script('a Service with external addresses has the policy of external traffic, whatever its type', [
    ['POST /api/v1/namespaces/{ns}/services ? spec.externalTrafficPolicy', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { type: 'NodePort', ports: [{ port: 80 }] },
    }],
    ['MERGE /api/v1/namespaces/{ns}/services/x ? spec.externalTrafficPolicy', {
      spec: { type: 'ClusterIP', externalIPs: ['10.1.1.1'] },
    }],
    ['MERGE /api/v1/namespaces/{ns}/services/x ? spec.externalTrafficPolicy', { spec: { externalIPs: null } }],
    ['MERGE /api/v1/namespaces/{ns}/services/x ? spec.externalTrafficPolicy', {
      spec: { externalIPs: null, externalTrafficPolicy: null },
    }],
  ]),
  {
    name: 'a definition without a spec lacks all names',
    steps: [['POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'nones.{group}' },
    }]],
  },
  {
    name: 'a list that is required and left out if empty is owned whole by its creator',
    steps: [[
      'POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings?dryRun=All ? metadata.managedFields',
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata,
        spec: { policyName: 'x', validationActions: ['Deny'] },
      },
    ]],
  },
]

function ingress(more: object): Body {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'x', annotations: { 'kubernetes.io/ingress.class': 'nginx' } },
    spec: { defaultBackend: { service: { name: 'x', port: { number: 80 } } }, ...more },
  }
}

export const MANIFEST_CASES: readonly Case[] = casesOf('manifests', CASES)
