/** Runs the cases of the client against a real kube-apiserver. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { systemClock } from '../../lib/async/clock.ts'
import { Informer } from '../../lib/cache/informer.ts'
import { Api } from '../../lib/client/api.ts'
import { discoverKinds } from '../../lib/client/rest_mapper.ts'
import { isReason, messageOf } from '../../lib/core/errors.ts'
import { parseLabelSelector } from '../../lib/core/selectors.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { FOO, FOO_CRD, NAMESPACE } from './case_bench.ts'
import { CRD } from '../../lib/core/resource.ts'
import { CASES } from './cases.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane to start'

test(
  'the client behaves on a real API server as on the embedded one',
  { skip, timeout: 100_000 },
  async () => {
    const envtest = await startEnvtest()
    const connection = httpTransport(envtest.config, {
      clock: systemClock,
      log: silentLog,
      userAgent: 'kubeloop-cases',
    })
    try {
      const api = new Api({ transport: connection })
      await serveFoo(api)
      const failures: string[] = []
      const attempt = async (name: string, run: () => Promise<void>): Promise<void> => {
        await run().catch((error: unknown) => void failures.push(`${name}: ${messageOf(error)}`))
      }
      for (const [index, { name, run }] of CASES.entries()) {
        const namespace = `case-${index}`
        await api.create({ resource: NAMESPACE }, { metadata: { name: namespace } }, {})
        await attempt(name, () => run({ transport: connection, namespace }))
      }
      await attempt('selectors', () => selectorsAgree(api))
      await attempt('paths', () => namesThatAreNone(connection))
      await attempt('discovery', () => discovers(api))
      assert.deepEqual(failures, [])
    } finally {
      connection.close()
      await envtest.stop()
    }
  },
)

/** Installs Foo and waits until the server serves it, by an informer that retries its list until it works. */
async function serveFoo(api: Api): Promise<void> {
  await api.create({ resource: CRD }, FOO_CRD, {})
  const stop = new AbortController()
  const informer = new Informer({ api, resource: FOO, clock: systemClock, log: silentLog })
  const running = informer.start(stop.signal)
  await informer.synced(stop.signal)
  stop.abort()
  await running
}

/** Checks that the server accepts and refuses the same selectors as we do. */
async function selectorsAgree(api: Api): Promise<void> {
  const embedded = new Api({ transport: new ApiServer().handle })
  for (
    const text of [
      'a',
      '!a',
      'a=b',
      'a==b',
      'a!=b',
      'a=',
      'a in (b,c)',
      'a notin (b)',
      'a in ()',
      'a in (,b)',
      'in in (in)',
      'a>5',
      'a<5',
      'a=b,c',
      'x.io/y=z',
      'a = b , c',
      '!a,b',
      'a=b,',
      ',a',
      'a b',
      'a=b=c',
      '!a=b',
      'a in b',
      'a in (b',
      'a in ((b))',
      'a>b',
      'a>',
      '-a',
      'A.io/x=y',
      'a=-b',
      'a=b!',
      '!!a',
      'a=>b',
      'a in (b))',
      '()',
      'a/b/c',
      `a=${'x'.repeat(64)}`,
    ]
  ) {
    const refused = async (who: Api): Promise<boolean> => {
      try {
        await who.listPage({ resource: NAMESPACE }, { labels: text, limit: 1 })
        return false
      } catch (error) {
        if (isReason(error, 'BadRequest')) return true
        throw error
      }
    }
    let ours = false
    try {
      parseLabelSelector(text)
    } catch {
      ours = true
    }
    assert.deepEqual({ text, ours, embedded: await refused(embedded) }, {
      text,
      ours: await refused(api),
      embedded: ours,
    })
  }
}

/** Checks that the names we refuse in paths are refused or misread by the server. */
async function namesThatAreNone(transport: Transport): Promise<void> {
  for (const [name, status] of [['..', 400], ['.', 400], ['', 200], ['a%2Fb', 404]] as const) {
    const response = await transport({
      method: 'GET',
      path: `/api/v1/namespaces/default/configmaps/${name}`,
      headers: { accept: 'application/json' },
    })
    await response.body.text()
    assert.equal(response.status, status, `"${name}"`)
  }
}

async function discovers(api: Api): Promise<void> {
  const kinds = await discoverKinds(api, ['list', 'watch', 'delete'], new AbortController().signal)
  const names = kinds.map(({ group, version, plural, scope }) => `${group}/${version}/${plural}/${scope}`)
  for (
    const expected of [
      '/v1/pods/Namespaced',
      'apps/v1/deployments/Namespaced',
      'cases.dev/v1/foos/Namespaced',
      '/v1/namespaces/Cluster',
    ]
  ) assert.ok(names.includes(expected), expected)
  for (const absent of ['/v1/bindings/', 'tokenreviews', '/status/']) {
    assert.ok(!names.some((name) => name.startsWith(absent) || name.includes(`/${absent}`)), absent)
  }
}
