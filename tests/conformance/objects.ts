/** Cases of objects: created, applied, patched, deleted, shown in tables. drawn/sessions.ts has the others at random. */
import assert from 'node:assert/strict'
import { type Body, type Case, caseOf, CRDS, MERGE } from './api.ts'
import { casesOf, cm, deploy, foo, script, type Step } from './transcript.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

const AS = (manager: string): string => `?fieldManager=${manager}`

/** Invalid specs. */
const BROKEN: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { size: 'x' },
  { size: 11 },
  { size: -1 },
  { size: 1, mode: 'x' },
  { size: 1, name: 'ABC' },
  { size: 1, name: 'a' },
  { size: 1, name: 'abcdef' },
  { size: 1, when: 'never' },
  { size: 1, port: 1.5 },
  { size: 1, labels: { a: 1 } },
  { size: 1, parts: [{}] },
  { size: 1, tags: ['a', 'a'] },
  { size: 1, parts: [{ name: 'a' }, { name: 'a' }] },
]

const QUOTAS: readonly Body[] = [
  { 'made-up': '1' },
  { storage: '1' },
  { pods: '1.5' },
  { 'example.com/x': '1.5' },
  { pods: '-1' },
  {
    cpu: '500m',
    pods: '1',
    'limits.memory': '1Gi',
    'requests.storage': '1Gi',
    'requests.nvidia.com/gpu': '2',
    'count/foos.example.com': '3',
    'hugepages-2Mi': '4Mi',
    'requests.hugepages-2Mi': '1',
    'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
    'requests.x.com/y': '1500m',
  },
]

const RESOURCE_QUOTAS = '/api/v1/namespaces/{ns}/resourcequotas'

export const OBJECT_CASES: readonly Case[] = casesOf('objects', [
  script('a created object gets a uid, a resourceVersion, a creationTimestamp and its namespace', [
    [
      'POST cm ? metadata.uid metadata.resourceVersion metadata.creationTimestamp metadata.namespace metadata.generation .',
      cm('a'),
    ],
    'GET cm/a ? .',
  ]),
  script('a write to a missing namespace is NotFound', [[
    'POST /api/v1/namespaces/no-such-namespace/configmaps',
    cm('a'),
  ]]),
  script('a create with a resourceVersion is refused', [['POST cm', cm('a', {}, { resourceVersion: '1' })]]),
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
  script('a table of custom objects has their printer columns', [
    ['POST foos', foo('a', { size: 3 })],
    ['MERGE foos/a/status', {
      status: { conditions: [{ type: 'Other', status: 'False' }, { type: 'Ready', status: 'True' }] },
    }],
    ['GET foos ? kind columnDefinitions rows.0.cells.0 rows.0.cells.1 rows.0.cells.2 rows.0.object.kind', undefined, {
      accept: `${TABLE},application/json`,
    }],
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
  script(
    'a custom object that violates its schema is Invalid, with a cause per field',
    BROKEN.map((spec) => ['POST foos', foo('a', spec)]),
  ),
  script('a body with a different or missing kind is refused', [
    ['POST foos', { ...foo('a'), kind: 'Bar' }],
    ['POST foos', { ...foo('a'), apiVersion: `{group}/v9` }],
    ['POST foos', { metadata: { name: 'a' }, spec: { size: 1 } }],
  ]),
  script('the scope of a definition cannot change', [[`MERGE ${CRDS}/foos.{group}`, { spec: { scope: 'Cluster' } }]]),
  caseOf('deleting a definition deletes its objects and its kind', async (api) => {
    const base = api.fooDefinition()
    const crd = {
      ...base,
      metadata: { name: `bazs.${api.group}` },
      spec: { ...base.spec, scope: 'Cluster', names: { plural: 'bazs', kind: 'Baz' } },
    }
    const { metadata } = await api.expect(201, 'POST', CRDS, crd)
    const path = `/apis/${api.group}/v1/bazs`
    for (let tries = 0; tries < 5000 && (await api.request('GET', path)).status !== 200; tries++);
    const baz = { apiVersion: `${api.group}/v1`, kind: 'Baz', metadata: { name: 'b' }, spec: { size: 1 } }
    for (let tries = 0; tries < 5000 && (await api.request('POST', path, baz)).status !== 201; tries++);
    const watch = await api.watch(
      CRDS,
      `resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dbazs.${api.group}`,
    )
    const deleting = await api.expect(200, 'DELETE', `${CRDS}/bazs.${api.group}`)
    assert.deepEqual(deleting.metadata.finalizers, ['customresourcecleanup.apiextensions.k8s.io'])
    assert.ok(deleting.status.conditions.some((each: Body) => each.type === 'Terminating' && each.status === 'True'))
    for (let isGone = false; !isGone;) {
      const event = await watch.next()
      assert.ok(event, 'the watch ended before the definition was removed')
      isGone = event.type === 'DELETED'
    }
    watch.cancel()
    for (let tries = 0; tries < 5000 && (await api.request('GET', path)).status !== 404; tries++);
    assert.equal((await api.request('GET', path)).status, 404)
  }),
  script('/scale as a Table has columns of its own', [
    ['POST deploy', deploy('a', { replicas: 3 })],
    ['POST foos', foo('a', { size: 2 })],
    ...['deploy', 'foos'].map((path): Step => [
      `GET ${path}/a/scale ? kind rows.0.cells.0 rows.0.cells.1 rows.0.cells.2 rows.0.object.metadata.name ` +
      [0, 1, 2, 3].flatMap((at) => ['name', 'type', 'format'].map((key) => `columnDefinitions.${at}.${key}`)).join(
        ' ',
      ),
      undefined,
      { accept: TABLE },
    ]),
  ]),
  script('/scale of a custom kind uses the paths of its definition', [
    ['POST foos', foo('a', { size: 3 })],
    ['MERGE foos/a/status', { status: { ready: 2, selector: 'a=b' } }],
    'GET foos/a/scale ? spec.replicas status',
    ['PUT foos/a/scale', (answers: readonly Body[]) => ({ ...answers[2], spec: { replicas: 5 } })],
    'GET foos/a ? spec.size',
  ]),
  script('a ResourceQuota accepts only known resources', [
    ...QUOTAS.map((hard): Step => [`POST ${RESOURCE_QUOTAS}`, { metadata: { name: 'a' }, spec: { hard } }]),
    ...['hard', 'used'].map((field): Step => [
      `MERGE ${RESOURCE_QUOTAS}/a/status`,
      { status: { [field]: { storage: '1' } } },
    ]),
  ]),
  script('finalizers cannot be added during a deletion', [
    ['POST foos', foo('a', { size: 1 }, { finalizers: ['x.io/a'] })],
    'DELETE foos/a',
    ['MERGE foos/a', { metadata: { finalizers: ['x.io/a', 'x.io/b'] } }],
  ]),
  caseOf('a deleted namespace reports what is left in it', async (api) => {
    const path = `/api/v1/namespaces/${api.namespace}`
    const conditions = async (): Promise<Record<string, string>> =>
      Object.fromEntries(
        ((await api.expect(200, 'GET', path)).status.conditions ?? []).map((each: Record<string, string>) => [
          each['type'],
          `${each['status']} ${each['reason']}: ${each['message']}`,
        ]),
      )
    for (const name of ['a', 'b']) {
      await api.expect(201, 'POST', api.configMaps, cm(name, {}, { finalizers: ['x.io/a'] }))
    }
    await api.expect(201, 'POST', api.foos, api.foo('c', { size: 1 }, { finalizers: ['x.io/a', 'x.io/b'] }))
    await api.expect(201, 'POST', api.configMaps, cm('gone'))
    assert.deepEqual(await conditions(), {})
    await api.expect(200, 'DELETE', path)
    assert.deepEqual(await conditions(), {
      NamespaceDeletionDiscoveryFailure: 'False ResourcesDiscovered: All resources successfully discovered',
      NamespaceDeletionGroupVersionParsingFailure:
        'False ParsedGroupVersions: All legacy kube types successfully parsed',
      NamespaceDeletionContentFailure:
        'False ContentDeleted: All content successfully deleted, may be waiting on finalization',
      NamespaceContentRemaining: 'True SomeResourcesRemain: Some resources are remaining: ' +
        `configmaps. has 2 resource instances, foos.${api.group} has 1 resource instances`,
      NamespaceFinalizersRemaining: 'True SomeFinalizersRemain: Some content in the namespace has finalizers ' +
        'remaining: x.io/a in 3 resource instances, x.io/b in 1 resource instances',
    })
    const release = { metadata: { finalizers: null } }
    await api.expect(200, 'PATCH', `${api.foos}/c`, release, { type: MERGE })
    await api.expect(200, 'PATCH', `${api.configMaps}/a`, release, { type: MERGE })
    const left = await conditions()
    assert.match(left['NamespaceContentRemaining']!, /: configmaps\. has 1 resource instances$/)
    assert.match(left['NamespaceFinalizersRemaining']!, /: x\.io\/a in 1 resource instances$/)
    await api.expect(200, 'PATCH', `${api.configMaps}/b`, release, { type: MERGE })
    await api.refused(404, 'NotFound', 'GET', path)
  }),
  caseOf('deleting a namespace deletes its contents, and blocks new ones', async (api) => {
    await api.expect(201, 'POST', api.foos, api.foo('held', { size: 1 }, { finalizers: ['x.io/a'] }))
    await api.expect(201, 'POST', api.configMaps, cm('c'))
    await api.expect(200, 'DELETE', `/api/v1/namespaces/${api.namespace}`)
    await api.refused(404, 'NotFound', 'GET', `${api.configMaps}/c`)
    assert.equal((await api.expect(200, 'GET', `/api/v1/namespaces/${api.namespace}`)).status.phase, 'Terminating')
    const status = await api.refused(403, 'Forbidden', 'POST', api.configMaps, cm('d'))
    assert.equal(status.details.causes[0].reason, 'NamespaceTerminating')
    await api.expect(200, 'PATCH', `${api.foos}/held`, { metadata: { finalizers: null } }, { type: MERGE })
    await api.refused(404, 'NotFound', 'GET', `/api/v1/namespaces/${api.namespace}`)
  }),
  caseOf('a watch from an expired version sends an ERROR event with 410', async (api) => {
    await api.expect(201, 'POST', api.foos, api.foo('a'))
    api.compact()
    const watch = await api.watch(api.foos, 'resourceVersion=1')
    const event = (await watch.next())!
    assert.equal(event.type, 'ERROR')
    assert.equal(event.object.kind, 'Status')
    assert.equal(event.object.code, 410)
    assert.equal(event.object.reason, 'Expired')
    assert.match(event.object.message, /^too old resource version: 1 \(\d+\)$/)
    assert.equal(await watch.next(), undefined)
  }),
])
