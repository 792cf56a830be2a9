/** The CRD of an operator's kind is deleted while the operator runs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineResource, type Operator, operator } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import * as z from 'zod'
import { systemClock } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import { Api } from '../../lib/client/api.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { installCrds } from '../../lib/crds/install.ts'
import { restingClock, starting } from '../operator/starting.ts'
import { CRD } from '../../lib/core/resource.ts'
import { noPlane, withPlane } from '../tools/real_plane.ts'

const DEFINITION = { resource: CRD, name: 'sites.gone.example.com' }
const never = new AbortController().signal
const Site = defineResource({
  group: 'gone.example.com',
  version: 'v1',
  kind: 'Site',
  spec: z.object({ size: z.int() }),
})
const named = (name: string): object => ({ metadata: { namespace: 'default', name }, spec: { size: 1 } })
const GONE =
  /^Cannot watch sites\.gone\.example\.com: the server no longer serves v1 of it, .*; install it again, or restart the operator with crds: 'install'; next try in/

function appOf(seen: (name: string) => unknown): Operator {
  const app = operator({ name: 'sites', leaderElection: true, crds: 'install' })
  app.controllerFor(Site).reconcileKey(async ({ name }) => void seen(name))
  return app
}

test('embedded: a deleted CRD is reported once, not installed again, and its kind works again when it is back', async () => {
  const clock = restingClock()
  const server = new ApiServer({ clock })
  const api = new Api({ transport: server.handle })
  const seen: string[] = []
  const started = await starting(appOf((name) => seen.push(name)), { clock, server })
  await clock.advance(1000)
  await api.create({ resource: Site, namespace: 'default', name: 'a' }, named('a'), {})
  await clock.advance(1000)
  await api.delete(DEFINITION, {})
  await clock.advance(600_000)
  const warnings = started.log.filter(({ level, message }) => level === 'warn' && message.includes('sites.gone'))
    .map(({ message }) => message)
  assert.equal(warnings.length, 1, warnings.join('\n'))
  assert.match(warnings[0]!, GONE)
  await assert.rejects(api.get(DEFINITION), { reason: 'NotFound' })
  await installCrds([Site], { api, clock, log: silentLog, fieldManager: 'test' }, never)
  await api.create({ resource: Site, namespace: 'default', name: 'b' }, named('b'), {})
  await clock.advance(120_000)
  assert.ok(started.log.some(({ message }) => message === 'Watching sites.gone.example.com again'))
  assert.deepEqual(seen, ['a', 'a', 'b'], 'its objects were deleted with it')
  await started.stop()
  assert.equal(started.outcome(), 'resolved')
})

test('real: the same', { skip: noPlane, timeout: 110_000 }, () =>
  withPlane(async (envtest, transport) => {
    const api = new Api({ transport })
    const stopping = new AbortController()
    const [before, gone, again, after] = [new Latch(), new Latch(), new Latch(), new Latch()]
    const warnings: string[] = []
    try {
      const app = appOf((name) => (name === 'a' ? before : after).open())
      const running = app.start(stopping.signal, {
        cluster: envtest.tokenConfig,
        serves: false,
        log: {
          ...silentLog,
          info: (message) => void (message === 'Watching sites.gone.example.com again' && again.open()),
          warn: (message) => {
            warnings.push(message)
            if (GONE.test(message)) gone.open()
          },
        },
      })
      const dependencies = { api, clock: systemClock, log: silentLog, fieldManager: 'test' }
      await installCrds([Site], dependencies, never)
      await api.create({ resource: Site, namespace: 'default', name: 'a' }, named('a'), {})
      await Promise.race([before.opened, running])
      await api.delete(DEFINITION, {})
      await Promise.race([gone.opened, running])
      await installCrds([Site], dependencies, never)
      await api.create({ resource: Site, namespace: 'default', name: 'b' }, named('b'), {})
      await Promise.race([Promise.all([again.opened, after.opened]), running])
      assert.equal(warnings.filter((each) => GONE.test(each)).length, 1, warnings.join('\n'))
      stopping.abort()
      await running
    } finally {
      stopping.abort()
    }
  }))
