/** Scripts of differences that random requests have found. The answers are recorded. */
import type { Body } from './api.ts'
import { define } from './defaults.ts'
import { cm, deploy, foo, type Script, script, type Step } from './transcript.ts'
const INGRESSES = '/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses'
const BACKEND = { service: { name: 's', port: { number: 80 } } }
const POD = { containers: [{ name: 'main', image: 'nginx' }] }
const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }

const scaled = (name: string, replicas: number): Body => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name },
  spec: { replicas },
})
const open = (fields: Body): Body => ({ apiVersion: '{version}', kind: '{kind}', metadata: { name: 'a' }, ...fields })
const embedded = (spec: Body, metadata: Body = {}): Body => ({
  apiVersion: 'v1',
  kind: 'Any',
  metadata: { name: 'e', labels: { a: 'b' }, ...metadata },
  spec,
})

export const FOUND_SCRIPTS: readonly Script[] = [
  script('verbs: a read of the status keeps the rules of resourceVersion', [
    ['POST foos', foo('a')],
    'GET foos/a/status?resourceVersion={0.metadata.resourceVersion}',
    'GET foos/a/status?resourceVersion=abc',
    'GET foos/a/status?resourceVersion=99999999',
  ]),
  script('verbs: values of a custom object with several faults each', [
    ['POST foos', foo('a', { size: 1, mode: ['a'] })],
    ['POST foos', foo('a', { size: 1, mode: 5 })],
    ['POST foos', foo('a', { size: 1.5 })],
    ['POST foos', foo('a', { size: 1, nested: { deep: 1.5 } })],
    ['POST foos', foo('a', { size: ['a', 'b'] })],
    ['POST foos', foo('a', { size: 1, tags: [{}] })],
    ['POST foos', foo('a', { size: 1, parts: ['a', 'a'] })],
    ['POST foos', foo('a', { size: 1, parts: [{ name: 'a', protocol: 'TCP' }, { name: 'a' }] })],
    ['POST foos', foo('a')],
    ['MERGE foos/a', { spec: { tags: [{}] } }],
    ['MERGE foos/a/status', { status: 'x' }],
    ['MERGE foos/a/status', { status: { ready: 1.5 } }],
    ['MERGE foos/a/status', { status: { conditions: [{ type: 5 }] } }],
  ]),
  script('verbs: objects of any content under apply must be objects', [
    ['APPLY foos/a?fieldManager=m', foo('a', { size: 1, free: 5 })],
    ['APPLY foos/a?fieldManager=m ? spec.free', foo('a', { size: 1, free: { a: [{ b: 5 }] } })],
    ['APPLY cm/a?fieldManager=m', { ...cm('a'), binaryData: { k: '%' } }],
    ['APPLY deploy/a?fieldManager=m', deploy('a', { replicas: 1.5 })],
    ['POST cm', cm('a')],
    ['APPLY cm/a?fieldManager=m', { ...cm('a'), binaryData: { k: '%' } }],
    ['APPLY foos/nope/status?fieldManager=m', { ...foo('nope'), odd: 1 }],
  ]),
  script('verbs: an apply of the Scale of a custom object', [
    ['POST foos', foo('a')],
    ['STRATEGIC foos/a/scale', scaled('a', 2)],
    ['APPLY foos/a/scale?fieldManager=s', scaled('a', 2)],
    ['APPLY foos/a/scale?fieldManager=s', scaled('a', 1)],
    ['APPLY foos/a/scale?fieldManager=s&force=true ? spec', scaled('a', 2)],
    ['APPLY foos/a/scale?fieldManager=s ? spec', scaled('a', 3)],
    ['APPLY foos/a/scale?fieldManager=other ? code', scaled('a', 3)],
    'GET foos/a ? metadata.managedFields.0',
    ['POST foos', foo('b')],
    ['MERGE foos/b ? metadata.managedFields', { metadata: { managedFields: [{}] } }],
    ['APPLY foos/b/scale?fieldManager=s', scaled('b', 2)],
    'GET foos/b ? spec.size',
  ]),
  script('verbs: a Scale is checked before its object is read', [
    ...['foos', 'deploy'].flatMap((path): Step[] => [
      [`PUT ${path}/none/scale`, scaled('none', 1)],
      [`PUT ${path}/none/scale`, scaled('other', 1)],
      [`PUT ${path}/none/scale?dryRun=some`, scaled('none', 1)],
      [`MERGE ${path}/none/scale?force=true`, {}],
      [`APPLY ${path}/none/scale`, scaled('none', 1)],
      [`APPLY ${path}/none/scale?fieldManager=m`, scaled('none', 1)],
    ]),
    ['POST foos', foo('a')],
    ['MERGE foos/a/scale', { kind: 'Other' }],
    ['MERGE foos/a/scale?fieldValidation=Strict', { spec: { other: 1 } }],
    ['MERGE foos/a/scale', { metadata: 'text' }],
  ]),
  script('verbs: a patch of a custom status names any type', [
    ['POST foos', foo('a')],
    ['MERGE foos/a/status ? apiVersion kind status', { apiVersion: 'other.com/v2', status: { ready: 1 } }],
    ['MERGE foos/a/status ? apiVersion kind status', { kind: 'Other', status: { ready: 2 } }],
    ['MERGE foos/a/status', { apiVersion: '' }],
    ['MERGE foos/a', { apiVersion: 'other.com/v2' }],
  ]),
  script('verbs: an apply meets its conflicts before another namespace or name', [
    ['APPLY cm/a?fieldManager=m ? data', cm('a')],
    ...[{ namespace: 'other' }, { name: 'b' }].flatMap((metadata): Step[] => [
      ['APPLY cm/a?fieldManager=n', { ...cm('a', { k: 'w' }), metadata: { name: 'a', ...metadata } }],
      ['APPLY cm/a?fieldManager=n&force=true', { ...cm('a', { k: 'w' }), metadata: { name: 'a', ...metadata } }],
    ]),
  ]),
  script('verbs: metadata of no objects', [
    ['GET foos ? kind items', undefined, {
      accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    }],
    'GET foos ? kind items',
  ]),
  script('verbs: a test of a JSON patch below a missing field', [
    ['POST cm', cm('a')],
    ['JSON cm/a', [{ op: 'test', path: '/metadata/annotations/a', value: null }]],
    ['JSON cm/a ? data', [{ op: 'test', path: '/metadata/annotations', value: null }]],
    ['JSON cm/a ? data', [{ op: 'test', path: '/data/nope', value: null }]],
    ['JSON cm/a', [{ op: 'test', path: '/data/k/nope', value: null }]],
    ['JSON cm/a', [{ op: 'test', path: '/metadata/finalizers/0', value: null }]],
    ['POST foos', foo('a', { size: 1, plain: ['x'], parts: [{ name: 'p' }] })],
    ['JSON foos/a', [{ op: 'test', path: '/spec/parts/0/value', value: null }]],
    ['JSON foos/a', [{ op: 'test', path: '/spec/parts/1/value', value: null }]],
    ['JSON foos/a', [{ op: 'copy', path: '/spec/tags', from: '/spec/nope/tags' }]],
  ]),
  script('verbs: what a status and a spec cannot change, and empty values in them', [
    ['POST /api/v1/namespaces/{ns}/pods', { metadata: { name: 'a' }, spec: POD }],
    ['MERGE /api/v1/namespaces/{ns}/pods/a/status ? metadata', {
      metadata: { ownerReferences: [OWNER], finalizers: ['a.b/c'] },
    }],
    ['MERGE /api/v1/namespaces/{ns}/pods/a', { spec: { schedulingGates: [{ name: 'a.b/c' }] } }],
    ['POST /api/v1/namespaces/{ns}/pods', {
      metadata: { name: 'gated' },
      spec: { ...POD, schedulingGates: [{ name: 'a.b/c' }] },
    }],
    ['MERGE /api/v1/namespaces/{ns}/pods/gated', { spec: { schedulingGates: [{ name: 'a.b/c' }, { name: 'd.e/f' }] } }],
    ['MERGE /api/v1/namespaces/{ns}/pods/gated ? spec.schedulingGates', { spec: { schedulingGates: [] } }],
    ['MERGE ns/status ? status', { status: null }],
    ['MERGE ns/status ? status', { status: { phase: null } }],
    ['MERGE ns/status ? status', { status: { phase: '' } }],
    ['POST /api/v1/namespaces/{ns}/services', { metadata: { name: 'a' }, spec: { clusterIP: 'None' } }],
    ['MERGE /api/v1/namespaces/{ns}/services/a/status', { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } }],
    ['MERGE /api/v1/namespaces/{ns}/services/a/status', { status: { loadBalancer: { ingress: [{}] } } }],
    [`POST ${INGRESSES}`, { metadata: { name: 'a' }, spec: { ingressClassName: '', defaultBackend: BACKEND } }],
    [`POST ${INGRESSES}`, { metadata: { name: 'a' }, spec: { ingressClassName: null, defaultBackend: BACKEND } }],
    ['POST foos', foo('a')],
    ['MERGE foos/a/status ? status', { status: { ready: 1 } }],
    ['MERGE foos/a ? metadata.managedFields', { metadata: { managedFields: [{}] } }],
    ['APPLY foos/a/status?fieldManager=m ? metadata.managedFields', {
      apiVersion: '{group}/v1',
      kind: 'Foo',
      metadata: { name: 'a' },
      status: { ready: 1 },
    }],
  ]),
  {
    name: 'verbs: applies of open objects, embedded objects and other versions',
    setup: async (api) => {
      const object = { type: 'object', properties: { a: { type: 'string' } } }
      const kind = await define(api, 'opens', {
        open: { ...object, 'x-kubernetes-preserve-unknown-fields': true, properties: { typed: object } },
        closed: object,
        embedded: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: object } },
      })
      return { path: kind.path, kind: kind.object('a', {}).kind, version: kind.object('a', {}).apiVersion }
    },
    steps: [
      ['APPLY {path}/a?fieldManager=m ? open metadata.managedFields', open({ open: { typed: { b: 1 } } })],
      ['APPLY {path}/a?fieldManager=m ? open', open({ open: { other: { b: 1 } } })],
      ['APPLY {path}/a?fieldManager=m', open({ closed: { b: 1 } })],
      ['APPLY {path}/a?fieldManager=m ? embedded metadata.managedFields', open({ embedded: embedded({ a: 'x' }) })],
      ['APPLY {path}/a?fieldManager=m', open({ embedded: embedded({ a: 'x' }, { odd: 1 }) })],
      ['APPLY {path}/a?fieldManager=m', open({ embedded: embedded({ b: 'x' }) })],
      ['APPLY {path}/a?fieldManager=m', open({ embedded: { ...embedded({ a: 'x' }), odd: 1 } })],
    ],
  },
]
