/** Scripts of differences that random requests have found. The answers are recorded. */
import type { Body } from './api.ts'
import { cm, deploy, foo, type Script } from './transcript.ts'

const MANAGED = 'metadata.managedFields.length'

export const FOUND_SCRIPTS: readonly Script[] = [
  {
    name: 'verbs: a Scale and a Namespace to finalize need the name of the URL',
    steps: [
      ['POST foos', foo('a')],
      ['PUT foos/a/scale', {}],
      ['PUT foos/a/scale', { metadata: { name: 'b' } }],
      ['POST deploy', deploy('a')],
      ['PUT deploy/a/scale', {}],
      ['MERGE deploy/a/scale', { metadata: { name: null } }],
      ['PUT ns/finalize', {}],
      ['PUT ns/finalize', { metadata: { name: 'b' } }],
      ['PUT ns/finalize', { metadata: { name: '{ns}', resourceVersion: '1' } }],
      ['PUT ns/finalize?dryRun=All ? spec.finalizers', { metadata: { name: '{ns}' }, spec: { finalizers: ['a.b/c'] } }],
      'GET ns ? spec.finalizers',
      ['PUT ns/finalize ? spec.finalizers metadata.labels.x', {
        metadata: { name: '{ns}', labels: { x: 'y' } },
        spec: { finalizers: ['a.b/c', 'kubernetes'] },
      }],
      'GET ns ? spec.finalizers',
    ],
  },
  {
    name: 'verbs: a custom kind ignores what follows a subresource',
    steps: [
      ['POST foos', foo('a')],
      'GET foos/a/status/x',
      'GET foos/a/scale/x/y',
      'GET foos/a/nope/x',
      ['PUT foos/a/status/x', {}],
      'DELETE foos/a/status/x',
    ],
  },
  {
    name: 'verbs: a patch with an apiVersion or a kind that is not text',
    steps: [
      ['POST cm', cm('a')],
      ['MERGE cm/a', { apiVersion: [] }],
      ['STRATEGIC cm/a', { apiVersion: [] }],
      ['STRATEGIC cm/a', { kind: 5 }],
      ['APPLY cm/a?fieldManager=x', { kind: 5 }],
      ['POST foos', foo('a')],
      ['MERGE foos/a', { kind: 5 }],
    ],
  },
  {
    name: 'verbs: a read of the status keeps the rules of resourceVersion',
    steps: [
      ['POST foos', foo('a')],
      'GET foos/a/status?resourceVersion={0.metadata.resourceVersion}',
      'GET foos/a/status?resourceVersion=abc',
      'GET foos/a/status?resourceVersion=99999999',
    ],
  },
  {
    name: 'verbs: a body of a deletion replaces the options of the query',
    steps: [
      ['POST cm', cm('a')],
      ['DELETE cm/a?dryRun=All', {}],
      'GET cm/a',
      ['POST foos', foo('a')],
      ['DELETE foos/a?propagationPolicy=Foreground', { gracePeriodSeconds: 0 }],
      ['POST foos', foo('b')],
      ['DELETE foos?dryRun=All', { propagationPolicy: 'Background' }],
      'GET foos',
    ],
  },
  {
    name: 'verbs: another propagation policy for an object in deletion is stored',
    steps: [
      ['POST deploy', deploy('a')],
      ['DELETE deploy/a ? metadata.finalizers', { propagationPolicy: 'Orphan' }],
      ['DELETE deploy/a ? metadata.finalizers', { propagationPolicy: 'Foreground' }],
      'GET deploy/a ? metadata.finalizers',
    ],
  },
  {
    name: 'verbs: a wrong type in a field that is not written costs the object its managedFields',
    steps: [
      ['POST foos', foo('a')],
      [`PUT foos/a ? status ${MANAGED}`, (answers: readonly Body[]) => ({ ...answers[0], status: 'x' })],
      ['POST foos', foo('b')],
      [`MERGE foos/b/status ? spec ${MANAGED}`, { spec: 5, status: { ready: 1 } }],
      [`POST foos ? status ${MANAGED}`, { ...foo('c'), status: [] }],
    ],
  },
  {
    name: 'verbs: values of a custom object with several faults each',
    steps: [
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
    ],
  },
  {
    name: 'verbs: objects of any content under apply must be objects',
    steps: [
      ['APPLY foos/a?fieldManager=m', foo('a', { size: 1, free: 5 })],
      ['APPLY foos/a?fieldManager=m ? spec.free', foo('a', { size: 1, free: { a: [{ b: 5 }] } })],
      ['APPLY cm/a?fieldManager=m', { ...cm('a'), binaryData: { k: '%' } }],
      ['APPLY deploy/a?fieldManager=m', deploy('a', { replicas: 1.5 })],
      ['POST cm', cm('a')],
      ['APPLY cm/a?fieldManager=m', { ...cm('a'), binaryData: { k: '%' } }],
      ['APPLY foos/nope/status?fieldManager=m', { ...foo('nope'), odd: 1 }],
    ],
  },
  {
    name: 'verbs: strategic merge patches with values of a wrong type',
    steps: [
      ['POST cm', cm('a')],
      ['STRATEGIC cm/a', { data: { k: true } }],
      ['STRATEGIC cm/a', { data: { k: 5 } }],
      ['STRATEGIC cm/a', { binaryData: { k: '%' } }],
      ['STRATEGIC cm/a', { immutable: 5 }],
      ['STRATEGIC cm/a', { metadata: { finalizers: {} } }],
      ['POST deploy', deploy('a')],
      ['STRATEGIC deploy/a', { spec: { replicas: 'x' } }],
      ['STRATEGIC deploy/a', { spec: { replicas: 1.5 } }],
      ['STRATEGIC deploy/a', { spec: { paused: {} } }],
      ['STRATEGIC deploy/a', { spec: { template: 'x' } }],
      ['POST cm', { ...cm('b'), binaryData: 'x' }],
    ],
  },
]
