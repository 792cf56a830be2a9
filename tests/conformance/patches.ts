/** Cases of patches other than apply, and of subresources. */
import assert from 'node:assert/strict'
import { type Body, type Case, JSON_PATCH, MERGE, STRATEGIC } from './api.ts'

export const PATCH_CASES: readonly Case[] = [
  {
    name: 'a merge patch merges objects, replaces lists and removes fields set to null',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1, plain: ['x', 'y'], labels: { a: '1', b: '2' } }))
      const next = await api.expect(200, 'PATCH', `${api.foos}/a`, {
        spec: { plain: ['z'], labels: { a: null, c: '3' } },
      }, { type: MERGE })
      assert.deepEqual(next.spec, {
        size: 1,
        mode: 'fast',
        plain: ['z'],
        labels: { b: '2', c: '3' },
        nested: { deep: 7 },
      })
    },
  },
  {
    name: 'a JSON patch applies its operations in order, or none of them',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 1, plain: ['x', 'z'] }))
      const next = await api.expect(200, 'PATCH', `${api.foos}/a`, [
        { op: 'test', path: '/spec/size', value: 1 },
        {
          op: 'add',
          path: '/spec/plain/1',
          value: 'y',
        },
        { op: 'replace', path: '/spec/size', value: 2 },
        {
          op: 'add',
          path: '/metadata/annotations',
          value: { 'a/b': 'c' },
        },
        { op: 'replace', path: '/metadata/annotations/a~1b', value: 'd' },
      ], { type: JSON_PATCH })
      assert.deepEqual(next.spec.plain, ['x', 'y', 'z'])
      assert.deepEqual(next.metadata.annotations, { 'a/b': 'd' })
      await api.refused(
        422,
        'Invalid',
        'PATCH',
        `${api.foos}/a`,
        [{ op: 'replace', path: '/spec/size', value: 3 }, { op: 'test', path: '/spec/mode', value: 'x' }],
        { type: JSON_PATCH },
      )
      assert.equal((await api.expect(200, 'GET', `${api.foos}/a`)).spec.size, 2)
    },
  },
  {
    name: 'a JSON patch that removes a missing field is Invalid',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await api.refused(422, 'Invalid', 'PATCH', `${api.configMaps}/a`, [{ op: 'remove', path: '/data/nope' }], {
        type: JSON_PATCH,
      })
    },
  },
  {
    name: 'a strategic merge patch merges lists by key and follows delete directives',
    async run(api) {
      await api.expect(201, 'POST', api.deployments, api.deployment('a'))
      const path = `${api.deployments}/a`
      const containers = (list: unknown): unknown => ({ spec: { template: { spec: { containers: list } } } })
      const two = await api.expect(
        200,
        'PATCH',
        path,
        containers([{ name: 'main', image: 'nginx:2' }, { name: 'side', image: 'busybox' }]),
        { type: STRATEGIC },
      )
      assert.deepEqual(
        two.spec.template.spec.containers.map((each: { name: string; image: string }) => [each.name, each.image]),
        [['main', 'nginx:2'], ['side', 'busybox']],
      )
      const ordered = await api.expect(
        200,
        'PATCH',
        path,
        { spec: { template: { spec: { '$setElementOrder/containers': [{ name: 'side' }, { name: 'main' }] } } } },
        { type: STRATEGIC },
      )
      assert.deepEqual(ordered.spec.template.spec.containers.map((each: { name: string }) => each.name), [
        'side',
        'main',
      ])
      const one = await api.expect(200, 'PATCH', path, containers([{ name: 'side', $patch: 'delete' }]), {
        type: STRATEGIC,
      })
      assert.deepEqual(one.spec.template.spec.containers.map((each: { name: string }) => each.name), ['main'])
    },
  },
  {
    name: 'a strategic merge patch adds finalizers and deletes them one by one',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a', {}, { finalizers: ['x.io/a'] }))
      const two = await api.expect(200, 'PATCH', `${api.configMaps}/a`, { metadata: { finalizers: ['x.io/b'] } }, {
        type: STRATEGIC,
      })
      assert.deepEqual(two.metadata.finalizers.toSorted(), ['x.io/a', 'x.io/b'])
      const one = await api.expect(
        200,
        'PATCH',
        `${api.configMaps}/a`,
        { metadata: { '$deleteFromPrimitiveList/finalizers': ['x.io/a'] } },
        { type: STRATEGIC },
      )
      assert.deepEqual(one.metadata.finalizers, ['x.io/b'])
    },
  },
  {
    name: 'custom kinds do not support strategic merge patch',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      await api.refused(415, 'UnsupportedMediaType', 'PATCH', `${api.foos}/a`, {}, { type: STRATEGIC })
    },
  },
  {
    name: 'a patch with a resourceVersion is conditional',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      await api.refused(
        409,
        'Conflict',
        'PATCH',
        `${api.foos}/a`,
        { metadata: { resourceVersion: '1' }, spec: { size: 2 } },
        { type: MERGE },
      )
    },
  },
  {
    name: 'a patch cannot change the name',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      await api.refused(400, 'BadRequest', 'PATCH', `${api.foos}/a`, { metadata: { name: 'b' } }, { type: MERGE })
    },
  },
  {
    name: 'a patch of a missing object is NotFound',
    async run(api) {
      await api.refused(404, 'NotFound', 'PATCH', `${api.foos}/a`, {}, { type: MERGE })
    },
  },
  {
    name: 'a patch with fieldValidation=Strict refuses unknown fields',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const status = await api.refused(
        422,
        'Invalid',
        'PATCH',
        `${api.foos}/a?fieldValidation=Strict`,
        { spec: { bogus: 1 } },
        { type: MERGE },
      )
      assert.match(status.message, /strict decoding error: unknown field "spec\.bogus"$/)
    },
  },
  {
    name: 'the main resource does not write status',
    async run(api) {
      const created = await api.expect(201, 'POST', api.foos, { ...api.foo('a'), status: { ready: 1 } })
      assert.equal(created.status, undefined)
      const patched = await api.expect(200, 'PATCH', `${api.foos}/a`, { status: { ready: 1 } }, { type: MERGE })
      assert.equal(patched.status, undefined)
      assert.equal(patched.metadata.resourceVersion, created.metadata.resourceVersion)
    },
  },
  {
    name: '/status writes only status and keeps the generation',
    async run(api) {
      const created = await api.expect(201, 'POST', api.foos, api.foo('a'))
      const patch = {
        metadata: { labels: { a: 'b' }, annotations: { a: 'b' } },
        spec: { size: 5 },
        status: { ready: 2 },
      }
      const next = await api.expect(200, 'PATCH', `${api.foos}/a/status`, patch, { type: MERGE })
      assert.deepEqual(next.status, { ready: 2 })
      assert.deepEqual(next.spec, created.spec)
      assert.equal(next.metadata.labels, undefined)
      assert.equal(next.metadata.annotations, undefined)
      assert.equal(next.metadata.generation, 1)
      assert.notEqual(next.metadata.resourceVersion, created.metadata.resourceVersion)
    },
  },
  {
    name: '/status of a Deployment writes annotations, but not labels or spec',
    async run(api) {
      await api.expect(201, 'POST', api.deployments, api.deployment('a'))
      const patch = {
        metadata: { labels: { a: 'b' }, annotations: { a: 'b' } },
        spec: { replicas: 5 },
        status: { replicas: 2, conditions: [{ type: 'Available', status: 'True' }] },
      }
      const next = await api.expect(200, 'PATCH', `${api.deployments}/a/status`, patch, { type: MERGE })
      assert.equal(next.metadata.labels, undefined)
      assert.deepEqual(next.metadata.annotations, { a: 'b' })
      assert.equal(next.spec.replicas, 1)
      assert.deepEqual(
        next.status,
        {
          replicas: 2,
          conditions: [{ type: 'Available', status: 'True', lastUpdateTime: null, lastTransitionTime: null }],
        },
      )
    },
  },
  {
    name: 'the generation counts only changes of the spec',
    async run(api) {
      assert.equal((await api.expect(201, 'POST', api.foos, api.foo('a'))).metadata.generation, 1)
      assert.equal(
        (await api.expect(200, 'PATCH', `${api.foos}/a`, { metadata: { labels: { a: 'b' } } }, { type: MERGE }))
          .metadata.generation,
        1,
      )
      assert.equal(
        (await api.expect(200, 'PATCH', `${api.foos}/a`, { spec: { size: 2 } }, { type: MERGE })).metadata.generation,
        2,
      )
    },
  },
  {
    name: '/scale reads and writes the replicas of a Deployment',
    async run(api) {
      await api.expect(201, 'POST', api.deployments, api.deployment('a'))
      const scale = await api.expect(200, 'PATCH', `${api.deployments}/a/scale`, { spec: { replicas: 4 } }, {
        type: MERGE,
      })
      assert.equal(scale.kind, 'Scale')
      assert.equal(scale.apiVersion, 'autoscaling/v1')
      assert.equal(scale.spec.replicas, 4)
      assert.equal(scale.status.selector, 'app=a')
      assert.equal((await api.expect(200, 'GET', `${api.deployments}/a`)).spec.replicas, 4)
    },
  },
  {
    name: '/scale as a Table has columns of its own',
    async run(api) {
      await api.expect(201, 'POST', api.deployments, api.deployment('a', { replicas: 3 }))
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 2 }))
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
      const builtin = ['Name string', 'Desired integer', 'Available integer', 'Age string']
      const custom = ['Name string name', 'Desired integer', 'Available integer', 'Age date']
      for (const [path, replicas, columns] of [[api.deployments, 3, builtin], [api.foos, 2, custom]] as const) {
        const table = await api.expect(200, 'GET', `${path}/a/scale`, undefined, { accept })
        assert.equal(table.kind, 'Table')
        const shown = table.columnDefinitions.map((each: Body) => `${each.name} ${each.type} ${each.format}`.trim())
        assert.deepEqual(shown, columns)
        assert.deepEqual(table.rows[0].cells.slice(0, 3), ['a', replicas, 0])
        assert.match(table.rows[0].cells[3], /^\d+s$/)
        assert.equal(table.rows[0].object.metadata.name, 'a')
      }
    },
  },
  {
    name: '/scale of a custom kind uses the paths of its definition',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a', { size: 3 }))
      await api.expect(200, 'PATCH', `${api.foos}/a/status`, { status: { ready: 2, selector: 'a=b' } }, { type: MERGE })
      const scale = await api.expect(200, 'GET', `${api.foos}/a/scale`)
      assert.equal(scale.spec.replicas, 3)
      assert.deepEqual(scale.status, { replicas: 2, selector: 'a=b' })
      await api.expect(200, 'PUT', `${api.foos}/a/scale`, { ...scale, spec: { replicas: 5 } })
      assert.equal((await api.expect(200, 'GET', `${api.foos}/a`)).spec.size, 5)
    },
  },
]
