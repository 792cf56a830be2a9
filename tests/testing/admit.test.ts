import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Admission, ApiError, type Client, type ObjectOf } from 'kubeloop'
import { Pod } from 'kubeloop/kinds'
import { admit } from 'kubeloop/testing'
import { Site } from '../webhook/admitting.ts'

const calls: string[] = []

const admission: Admission<ObjectOf<typeof Site>> = {
  default(site, { warn, operation }) {
    calls.push(`default ${operation}`)
    site.spec.hosts = site.spec.hosts.map((host) => host.toLowerCase())
    warn('defaulted')
  },
  async validate(site, { old, operation, namespace, user, client, warn }) {
    if (site.spec.issuer === 'twice') { for (const text of ['defaulted', 'checked']) warn(text) }
    calls.push(`validate ${operation} ${namespace} ${String(old?.spec.hosts)} ${user.username} ${user.groups.join()}`)
    if (site.spec.issuer === 'client') await client.get(Site, site)
    for (const each of [site, old]) {
      if (each?.spec.issuer === 'freeze') (each.spec as { issuer: string }).issuer = 'x'
    }
    if (user.groups.includes('guests')) throw new ApiError('no guests', { reason: 'Forbidden' }, { code: 403 })
    return site.spec.hosts.includes('bad') ? [{ field: 'spec.hosts', message: 'bad' }] : []
  },
}

const site = (hosts: string[], issuer?: string) => ({
  metadata: { name: 'a', namespace: 'default' },
  spec: { hosts, ...(issuer && { issuer }) },
})

test('an object passes default and validate; the result has what the API server would store and say', async () => {
  const { allowed, object, warnings, code, message, causes, error } = await admit(Site, admission, site(['A']))
  assert.deepEqual([allowed, warnings, code, message, causes, error], [true, ['defaulted'], 200, '', [], undefined])
  assert.deepEqual([object.kind, object.apiVersion, object.spec], ['Site', 'web.example.dev/v1', {
    hosts: ['a'],
    tls: { mode: 'off' },
  }])
  const denied = await admit(Site, [admission], site(['BAD']))
  assert.deepEqual([denied.allowed, denied.code, denied.warnings], [false, 422, ['defaulted']])
  assert.deepEqual((await admit(Site, admission, site(['a'], 'twice'))).warnings, ['defaulted', 'checked'])
  assert.equal(denied.message, 'Site.web.example.dev "a" is invalid: spec.hosts: bad')
  assert.deepEqual(denied.causes, [{ field: 'spec.hosts', message: 'bad', reason: 'FieldValueInvalid' }])
  assert.deepEqual(denied.object.spec.hosts, ['bad'])
  const invalid = await admit(Site, admission, { metadata: {}, spec: { hosts: [] } }, { version: 'v1beta1' })
  assert.deepEqual([invalid.allowed, invalid.causes[0]!.field, invalid.warnings], [false, 'spec.hosts', ['defaulted']])
})

test('an update has its old object, a deletion is only validated', async () => {
  calls.length = 0
  const user = { username: 'jane', groups: ['guests'] }
  const update = await admit(Site, admission, site(['a']), { old: site(['b']), user: { username: 'jane' } })
  const deletion = await admit(Site, admission, site(['a']), { operation: 'DELETE', user })
  assert.deepEqual([update.allowed, deletion.allowed], [true, false])
  assert.deepEqual([deletion.code, deletion.message], [403, 'no guests'])
  assert.deepEqual(calls, [
    'default UPDATE',
    'validate UPDATE default b jane system:masters,system:authenticated',
    'validate DELETE default undefined jane guests',
  ])
})

test('a throw is a 500 with its error; a client that was not given is named; objects are frozen', async () => {
  const without = await admit(Site, admission, site(['a'], 'client'))
  assert.deepEqual([without.code, (without.error as Error).message], [
    500,
    'Cannot use the client: admit() was called without one; give it { client }',
  ])
  const client = { get: () => Promise.resolve(undefined) } as unknown as Client
  assert.equal((await admit(Site, admission, site(['a'], 'client'), { client })).allowed, true)
  const frozen = await admit(Site, admission, site(['a'], 'freeze'))
  assert.ok(frozen.error instanceof TypeError)
  const { error } = await admit(Site, admission, site(['a']), { old: site(['a'], 'freeze') })
  assert.ok(error instanceof TypeError)
})

test('built-in kinds are admitted, too', async () => {
  const pod = { metadata: { name: 'a', namespace: 'default' }, spec: { containers: [{ name: 'a', image: 'x:1' }] } }
  const { object } = await admit(Pod, {
    default(pod) {
      for (const container of pod.spec!.containers) container.imagePullPolicy ??= 'Always'
    },
  }, pod)
  assert.equal(object.spec!.containers[0]!.imagePullPolicy, 'Always')
})
