/** Cases of what other projects' manifests have. */
import type { Api, Body, Case } from './api.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'
import { casesOf, cm, type Script, script, type Step } from './transcript.ts'

const CONTAINER = { name: 'main', image: 'nginx:1' }
const metadata = { name: 'x' }

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
    name: 'a dry run takes a resourceVersion, and a create does not; both report an invalid object first',
    steps: ['?dryRun=All', ''].flatMap((query): Step[] => [
      [`POST /api/v1/namespaces/{ns}/configmaps${query}`, cm('versioned', {}, { resourceVersion: '5' })],
      [`POST /api/v1/namespaces/{ns}/configmaps${query}`, cm('Versioned_', {}, { resourceVersion: '5' })],
    ]),
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
    name: 'a definition without a spec lacks all names',
    steps: [['POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'nones.{group}' },
    }]],
  },
  {
    name: 'base64 loses its line breaks',
    steps: [[
      'POST /api/v1/namespaces/{ns}/secrets?dryRun=All ? data',
      { apiVersion: 'v1', kind: 'Secret', metadata, data: { a: 'aGVs\nbG8=\r\n', b: '' } },
    ]],
  },
  {
    name: 'a dry run of a create keeps a resourceVersion',
    steps: ['7', 'x', ''].map((resourceVersion): Step => [
      'POST cm?dryRun=All ? metadata.resourceVersion',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', resourceVersion } },
    ]),
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
