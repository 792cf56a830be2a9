/** Cases of creating, reading and replacing objects. */
import type { Body, Case } from './api.ts'
import { casesOf, cm, deploy, foo, script, type Step } from './transcript.ts'

const lease = (spec: unknown): Body => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'l' },
  spec,
})

export const OBJECT_CASES: readonly Case[] = casesOf('objects', [
  script('a created object gets a uid, a resourceVersion, a creationTimestamp and its namespace', [
    [
      'POST cm ? metadata.uid metadata.resourceVersion metadata.creationTimestamp metadata.namespace metadata.generation .',
      cm('a'),
    ],
    'GET cm/a ? .',
  ]),
  script('an existing name is refused with AlreadyExists', [['POST foos', foo('a')], ['POST foos', foo('a')]]),
  script('a missing object is NotFound, named by its resource and group', ['GET deploy/nope']),
  script('a dry run returns the result of the write and stores nothing', [[
    'POST foos?dryRun=All ? metadata.uid metadata.resourceVersion',
    foo('a'),
  ], 'GET foos/a']),
  script('a write to a missing namespace is NotFound', [[
    'POST /api/v1/namespaces/no-such-namespace/configmaps',
    cm('a'),
  ]]),
  script('a body with a different namespace than the URL is refused', [[
    'POST cm',
    cm('a', {}, { namespace: 'other' }),
  ]]),
  script('names must be DNS subdomains', [['POST foos', foo('A_b')]]),
  script('a name is required', [['POST foos', { ...foo('a'), metadata: {} }]]),
  script('label values are validated', [['POST cm', cm('a', {}, { labels: { ok: '-bad' } })]]),
  script('a create with a resourceVersion is refused', [['POST cm', cm('a', {}, { resourceVersion: '1' })]]),
  script('a PUT replaces the object and changes its resourceVersion', [
    ['POST cm ? metadata.uid metadata.resourceVersion', cm('a', { k: 'v', z: '1' })],
    [
      'PUT cm/a ? data metadata.uid metadata.resourceVersion',
      (answers: readonly Body[]) => ({ ...answers[0], data: { k: 'w' } }),
    ],
  ]),
  script('a PUT with an old resourceVersion is a Conflict, with the message that clients match', [
    ['POST cm', cm('a')],
    ['PUT cm/a', (answers: readonly Body[]) => ({ ...answers[0], data: { k: 'w' } })],
    ['PUT cm/a', (answers: readonly Body[]) => ({ ...answers[0], data: { k: 'x' } })],
  ]),
  script('a PUT without a resourceVersion overwrites a ConfigMap', [['POST cm', cm('a')], [
    'PUT cm/a ? data',
    cm('a', { n: '1' }),
  ]]),
  script('a PUT without a resourceVersion is Invalid for a custom object and a Lease', [
    ['POST foos', foo('a')],
    ['PUT foos/a', foo('a', { size: 2 })],
    ['POST leases', lease({ holderIdentity: 'a' })],
    ['PUT leases/l', lease({ holderIdentity: 'a' })],
  ]),
  script('a PUT creates a missing Lease, but not a missing ConfigMap', [
    ['PUT leases/l', lease({})],
    ['PUT cm/a', cm('a')],
  ]),
  script('a PUT with a different uid is a Conflict', [['POST cm', cm('a')], [
    'PUT cm/a',
    cm('a', {}, { uid: 'other' }),
  ]]),
  script('the name in the body must match the URL', [['POST cm', cm('a')], ['PUT cm/a', cm('b')]]),
  script('the data of an immutable ConfigMap cannot change', [
    ['POST cm', { ...cm('a'), immutable: true }],
    ['PUT cm/a', (answers: readonly Body[]) => ({ ...answers[0], data: { k: 'w' } })],
  ]),
  script('a Secret stores stringData as data', [
    ['POST /api/v1/namespaces/{ns}/secrets ? data stringData type', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      stringData: { a: 'é' },
    }],
  ]),
  script('a Deployment gets its defaults', [
    [
      'POST deploy ? spec.replicas spec.revisionHistoryLimit spec.progressDeadlineSeconds spec.strategy spec.template.spec status',
      deploy('a'),
    ],
  ]),
  script('quantities are written in their canonical form', [
    [
      'POST deploy ? spec.template.spec.containers.0.resources',
      deploy('a', {
        template: {
          metadata: { labels: { app: 'a' } },
          spec: {
            containers: [{
              name: 'main',
              image: 'nginx:1',
              resources: { limits: { cpu: '1000m', memory: '1024Mi' }, requests: { cpu: 0.5, memory: '1e3' } },
            }],
          },
        },
      }),
    ],
  ]),
  script('the selector of a Deployment must match its template and cannot change', [
    ['POST deploy', deploy('a', { selector: { matchLabels: { other: 'x' } } })],
    ['POST deploy', deploy('b')],
    [
      'PUT deploy/b',
      deploy(
        'b',
        {
          selector: { matchLabels: { app: 'c' } },
          template: { metadata: { labels: { app: 'c' } }, spec: { containers: [{ name: 'm', image: 'n' }] } },
        },
      ),
    ],
  ]),
  script("a value of the wrong type is refused with Go's message", [['POST deploy', deploy('a', { replicas: 'x' })]]),
  {
    name: 'a MicroTime requires six decimals, and a lease duration whole seconds',
    steps: [
      { renewTime: '2026-01-01T00:00:00.123Z' },
      { leaseDurationSeconds: 1.5 },
      { leaseDurationSeconds: 0 },
      { renewTime: '2026-01-01T00:00:00.123456Z', leaseDurationSeconds: 15 },
    ].map((spec): Step => ['POST leases ? spec', lease(spec)]),
  },
  script('fieldValidation warns of, refuses or ignores unknown fields of a built-in kind', [
    ['POST cm?dryRun=All ? bogus', { ...cm('a'), bogus: 1 }],
    ['POST cm?fieldValidation=Strict', { ...cm('a'), bogus: 1 }],
    ['POST cm?dryRun=All&fieldValidation=Ignore', { ...cm('a'), bogus: 1 }],
  ]),
  script('a body that is not JSON is refused', [['POST cm', '{"a":']]),
  script('unknown media types are refused', [['POST cm', 'a', { type: 'text/plain' }], ['GET cm', undefined, {
    accept: 'text/html',
  }]]),
  script('core events and events.k8s.io are the same objects', [
    ['POST /api/v1/namespaces/{ns}/events', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', namespace: '{ns}', name: 'p' },
      message: 'hello',
      reason: 'Testing',
      type: 'Normal',
      reportingComponent: 'tester',
    }],
    'GET /apis/events.k8s.io/v1/namespaces/{ns}/events/e ? apiVersion note regarding.name reportingController',
    'GET /api/v1/namespaces/{ns}/events?fieldSelector=involvedObject.name%3Dp,reason%3DTesting ? items.length',
  ]),
])
