/** Cases of creating, reading and replacing objects. */
import assert from 'node:assert/strict'
import type { Case } from './api.ts'

export const OBJECT_CASES: readonly Case[] = [
  {
    name: 'a created object gets a uid, a resourceVersion, a creationTimestamp and its namespace',
    async run(api) {
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      assert.match(created.metadata.uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.match(created.metadata.resourceVersion, /^[1-9]\d*$/)
      assert.match(created.metadata.creationTimestamp, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/)
      assert.equal(created.metadata.namespace, api.namespace)
      assert.equal(created.metadata.generation, undefined)
      assert.deepEqual(await api.expect(200, 'GET', `${api.configMaps}/a`), created)
    },
  },
  {
    name: 'an existing name is refused with AlreadyExists',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const status = await api.refused(409, 'AlreadyExists', 'POST', api.foos, api.foo('a'))
      assert.equal(status.message, `foos.${api.group} "a" already exists`)
      assert.deepEqual(status.details, { name: 'a', group: api.group, kind: 'foos' })
    },
  },
  {
    name: 'a missing object is NotFound, named by its resource and group',
    async run(api) {
      const status = await api.refused(404, 'NotFound', 'GET', `${api.deployments}/nope`)
      assert.equal(status.message, 'deployments.apps "nope" not found')
      assert.deepEqual(status.details, { name: 'nope', group: 'apps', kind: 'deployments' })
    },
  },
  {
    name: 'generateName appends five random letters to the base',
    async run(api) {
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('', {}, { generateName: 'base-' }))
      assert.match(created.metadata.name, /^base-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      assert.equal(created.metadata.generateName, 'base-')
    },
  },
  {
    name: 'a dry run returns the result of the write and stores nothing',
    async run(api) {
      const created = await api.expect(201, 'POST', `${api.foos}?dryRun=All`, api.foo('a'))
      assert.ok(created.metadata.uid)
      assert.equal(created.metadata.resourceVersion, undefined)
      await api.refused(404, 'NotFound', 'GET', `${api.foos}/a`)
    },
  },
  {
    name: 'an unknown dryRun is Invalid',
    async run(api) {
      await api.refused(422, 'Invalid', 'POST', `${api.foos}?dryRun=Some`, api.foo('a'))
    },
  },
  {
    name: 'a write to a missing namespace is NotFound',
    async run(api) {
      const status = await api.refused(
        404,
        'NotFound',
        'POST',
        '/api/v1/namespaces/no-such-namespace/configmaps',
        api.configMap('a'),
      )
      assert.equal(status.message, 'namespaces "no-such-namespace" not found')
    },
  },
  {
    name: 'a body with a different namespace than the URL is refused',
    async run(api) {
      const status = await api.refused(
        400,
        'BadRequest',
        'POST',
        api.configMaps,
        api.configMap('a', {}, { namespace: 'other' }),
      )
      assert.equal(
        status.message,
        'the namespace of the provided object does not match the namespace sent on the request',
      )
    },
  },
  {
    name: 'names must be DNS subdomains',
    async run(api) {
      const status = await api.refused(422, 'Invalid', 'POST', api.foos, api.foo('A_b'))
      assert.equal(status.details.causes[0].field, 'metadata.name')
      assert.match(status.message, /a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters/)
    },
  },
  {
    name: 'a name is required',
    async run(api) {
      const status = await api.refused(422, 'Invalid', 'POST', api.foos, { ...api.foo('a'), metadata: {} })
      assert.match(status.message, /metadata\.name: Required value: name or generateName is required/)
    },
  },
  {
    name: 'label values are validated',
    async run(api) {
      const status = await api.refused(
        422,
        'Invalid',
        'POST',
        api.configMaps,
        api.configMap('a', {}, { labels: { ok: '-bad' } }),
      )
      assert.equal(status.details.causes[0].field, 'metadata.labels')
    },
  },
  {
    name: 'a create with a resourceVersion is refused',
    async run(api) {
      const status = await api.refused(
        500,
        '',
        'POST',
        api.configMaps,
        api.configMap('a', {}, { resourceVersion: '1' }),
      )
      assert.equal(status.message, 'resourceVersion should not be set on objects to be created')
    },
  },
  {
    name: 'a PUT replaces the object and changes its resourceVersion',
    async run(api) {
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('a', { k: 'v', z: '1' }))
      const next = await api.expect(200, 'PUT', `${api.configMaps}/a`, { ...created, data: { k: 'w' } })
      assert.deepEqual(next.data, { k: 'w' })
      assert.equal(next.metadata.uid, created.metadata.uid)
      assert.ok(Number(next.metadata.resourceVersion) > Number(created.metadata.resourceVersion))
    },
  },
  {
    name: 'a PUT with an old resourceVersion is a Conflict, with the message that clients match',
    async run(api) {
      const created = await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await api.expect(200, 'PUT', `${api.configMaps}/a`, { ...created, data: { k: 'w' } })
      const status = await api.refused(409, 'Conflict', 'PUT', `${api.configMaps}/a`, { ...created, data: { k: 'x' } })
      assert.equal(
        status.message,
        'Operation cannot be fulfilled on configmaps "a": ' +
          'the object has been modified; please apply your changes to ' +
          'the latest version and try again',
      )
    },
  },
  {
    name: 'a PUT without a resourceVersion overwrites a ConfigMap',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      assert.deepEqual((await api.expect(200, 'PUT', `${api.configMaps}/a`, api.configMap('a', { n: '1' }))).data, {
        n: '1',
      })
    },
  },
  {
    name: 'a PUT without a resourceVersion is Invalid for a custom object and a Lease',
    async run(api) {
      await api.expect(201, 'POST', api.foos, api.foo('a'))
      const status = await api.refused(422, 'Invalid', 'PUT', `${api.foos}/a`, api.foo('a', { size: 2 }))
      assert.equal(
        status.message,
        `foos.${api.group} "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
      )
      const lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'l' },
        spec: { holderIdentity: 'a' },
      }
      await api.expect(201, 'POST', api.leases, lease)
      await api.refused(422, 'Invalid', 'PUT', `${api.leases}/l`, lease)
    },
  },
  {
    name: 'a PUT creates a missing Lease, but not a missing ConfigMap',
    async run(api) {
      await api.expect(
        201,
        'PUT',
        `${api.leases}/l`,
        { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' }, spec: {} },
      )
      await api.refused(404, 'NotFound', 'PUT', `${api.configMaps}/a`, api.configMap('a'))
    },
  },
  {
    name: 'a write without a change keeps the resourceVersion',
    async run(api) {
      const created = await api.expect(201, 'POST', api.foos, api.foo('a'))
      assert.equal(
        (await api.expect(200, 'PUT', `${api.foos}/a`, created)).metadata.resourceVersion,
        created.metadata.resourceVersion,
      )
      const patched = await api.expect(200, 'PATCH', `${api.foos}/a`, { spec: { size: 1 } }, {
        type: 'application/merge-patch+json',
      })
      assert.equal(patched.metadata.resourceVersion, created.metadata.resourceVersion)
    },
  },
  {
    name: 'a PUT with a different uid is a Conflict',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const status = await api.refused(
        409,
        'Conflict',
        'PUT',
        `${api.configMaps}/a`,
        api.configMap('a', {}, { uid: 'other' }),
      )
      assert.match(status.message, /Precondition failed: UID in precondition: other, UID in object meta: /)
    },
  },
  {
    name: 'the name in the body must match the URL',
    async run(api) {
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      const status = await api.refused(400, 'BadRequest', 'PUT', `${api.configMaps}/a`, api.configMap('b'))
      assert.equal(status.message, 'the name of the object (b) does not match the name on the URL (a)')
    },
  },
  {
    name: 'the data of an immutable ConfigMap cannot change',
    async run(api) {
      const created = await api.expect(201, 'POST', api.configMaps, { ...api.configMap('a'), immutable: true })
      const status = await api.refused(422, 'Invalid', 'PUT', `${api.configMaps}/a`, { ...created, data: { k: 'w' } })
      assert.match(status.message, /data: Forbidden: field is immutable when `immutable` is set/)
    },
  },
  {
    name: 'a Secret stores stringData as data',
    async run(api) {
      const path = `/api/v1/namespaces/${api.namespace}/secrets`
      const created = await api.expect(
        201,
        'POST',
        path,
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'é' } },
      )
      assert.deepEqual(created.data, { a: 'w6k=' })
      assert.equal(created.stringData, undefined)
      assert.equal(created.type, 'Opaque')
    },
  },
  {
    name: 'a Deployment gets its defaults',
    async run(api) {
      const created = await api.expect(201, 'POST', api.deployments, api.deployment('a'))
      assert.equal(created.spec.replicas, 1)
      assert.equal(created.spec.revisionHistoryLimit, 10)
      assert.equal(created.spec.progressDeadlineSeconds, 600)
      assert.deepEqual(created.spec.strategy, {
        type: 'RollingUpdate',
        rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' },
      })
      assert.deepEqual(created.spec.template.spec, {
        containers: [{
          name: 'main',
          image: 'nginx',
          imagePullPolicy: 'Always',
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        }],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
      })
      assert.deepEqual(created.status, {})
    },
  },
  {
    name: 'quantities are written in their canonical form',
    async run(api) {
      const resources = { limits: { cpu: '1000m', memory: '1024Mi' }, requests: { cpu: 0.5, memory: '1e3' } }
      const created = await api.expect(
        201,
        'POST',
        api.deployments,
        api.deployment('a', {
          template: {
            metadata: { labels: { app: 'a' } },
            spec: { containers: [{ name: 'main', image: 'nginx:1', resources }] },
          },
        }),
      )
      assert.deepEqual(
        created.spec.template.spec.containers[0].resources,
        { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m', memory: '1e3' } },
      )
    },
  },
  {
    name: 'the selector of a Deployment must match its template and cannot change',
    async run(api) {
      const status = await api.refused(
        422,
        'Invalid',
        'POST',
        api.deployments,
        api.deployment('a', { selector: { matchLabels: { other: 'x' } } }),
      )
      assert.match(
        status.message,
        /spec\.template\.metadata\.labels: Invalid value: .*`selector` does not match template `labels`/,
      )
      await api.expect(201, 'POST', api.deployments, api.deployment('b'))
      const labels = { app: 'c' }
      const changed = api.deployment(
        'b',
        {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'm', image: 'n' }] } },
        },
      )
      assert.match(
        (await api.refused(422, 'Invalid', 'PUT', `${api.deployments}/b`, changed)).message,
        /spec\.selector: Invalid value: .*field is immutable/,
      )
    },
  },
  {
    name: "a value of the wrong type is refused with Go's message",
    async run(api) {
      const status = await api.refused(
        400,
        'BadRequest',
        'POST',
        api.deployments,
        api.deployment('a', { replicas: 'x' }),
      )
      assert.equal(
        status.message,
        'Deployment in version "v1" cannot be handled as a Deployment: ' +
          'json: cannot unmarshal string into Go struct field ' +
          'DeploymentSpec.spec.replicas of type int32',
      )
    },
  },
  {
    name: 'a MicroTime requires six decimals, and a lease duration whole seconds',
    async run(api) {
      const lease = (spec: unknown): unknown => ({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'l' },
        spec,
      })
      await api.refused(400, 'BadRequest', 'POST', api.leases, lease({ renewTime: '2026-01-01T00:00:00.123Z' }))
      await api.refused(400, 'BadRequest', 'POST', api.leases, lease({ leaseDurationSeconds: 1.5 }))
      await api.refused(422, 'Invalid', 'POST', api.leases, lease({ leaseDurationSeconds: 0 }))
      const created = await api.expect(
        201,
        'POST',
        api.leases,
        lease({ renewTime: '2026-01-01T00:00:00.123456Z', leaseDurationSeconds: 15 }),
      )
      assert.equal(created.spec.renewTime, '2026-01-01T00:00:00.123456Z')
    },
  },
  {
    name: 'fieldValidation warns of, refuses or ignores unknown fields of a built-in kind',
    async run(api) {
      const body = { ...api.configMap('a'), bogus: 1 }
      const warned = await api.request('POST', `${api.configMaps}?dryRun=All`, body)
      assert.equal(warned.status, 201)
      assert.equal(warned.headers['warning'], '299 - "unknown field \\"bogus\\""')
      assert.equal(warned.body.bogus, undefined)
      const status = await api.refused(400, 'BadRequest', 'POST', `${api.configMaps}?fieldValidation=Strict`, body)
      assert.equal(
        status.message,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "bogus"',
      )
      assert.equal(
        (await api.request('POST', `${api.configMaps}?dryRun=All&fieldValidation=Ignore`, body)).headers['warning'],
        undefined,
      )
    },
  },
  {
    name: 'duplicate fields are refused with fieldValidation=Strict',
    async run(api) {
      const text = JSON.stringify(api.configMap('a')).replace('"data":{', '"data":{"k":"1",')
      const status = await api.refused(400, 'BadRequest', 'POST', `${api.configMaps}?fieldValidation=Strict`, text)
      assert.match(status.message, /strict decoding error: duplicate field "data\.k"$/)
    },
  },
  {
    name: 'a body that is not JSON is refused',
    async run(api) {
      await api.refused(400, 'BadRequest', 'POST', api.configMaps, '{"a":')
    },
  },
  {
    name: 'unknown media types are refused',
    async run(api) {
      await api.refused(415, 'UnsupportedMediaType', 'POST', api.configMaps, 'a', { type: 'text/plain' })
      await api.refused(406, 'NotAcceptable', 'GET', api.configMaps, undefined, { accept: 'text/html' })
    },
  },
  {
    name: 'core events and events.k8s.io are the same objects',
    async run(api) {
      await api.expect(201, 'POST', `/api/v1/namespaces/${api.namespace}/events`, {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'e' },
        involvedObject: { kind: 'Pod', namespace: api.namespace, name: 'p' },
        message: 'hello',
        reason: 'Testing',
        type: 'Normal',
        reportingComponent: 'tester',
      })
      const event = await api.expect(200, 'GET', `/apis/events.k8s.io/v1/namespaces/${api.namespace}/events/e`)
      assert.equal(event.apiVersion, 'events.k8s.io/v1')
      assert.equal(event.note, 'hello')
      assert.equal(event.regarding.name, 'p')
      assert.equal(event.reportingController, 'tester')
      const found = await api.expect(
        200,
        'GET',
        `/api/v1/namespaces/${api.namespace}/events?fieldSelector=involvedObject.name%3Dp,reason%3DTesting`,
      )
      assert.equal(found.items.length, 1)
    },
  },
]
