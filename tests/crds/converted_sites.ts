/** An operator whose definition others have installed with a conversion, without a CA. */
import assert from 'node:assert/strict'
import { Cluster, defineResource, type Log, type Operator, operator } from 'kubeloop'
import { MutatingWebhookConfiguration } from 'kubeloop/kinds'
import * as z from 'zod'
import { nextTurn, systemClock } from '../../lib/async/clock.ts'
import { Latch } from '../../lib/async/latch.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { CRD, type CustomResourceDefinition } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { installCrds } from '../../lib/crds/install.ts'
import { describeWebhooks } from '../../lib/operator/webhooks/describe.ts'
import { crdOf } from '../../lib/schema/crds.ts'

const names = { group: 'converted.example.dev', kind: 'Site' }
export const NAME = 'sites.converted.example.dev'
const Old = defineResource({ ...names, version: 'v1alpha1', deprecated: true, spec: z.object({ host: z.string() }) })
const Site = defineResource({ ...names, version: 'v1', spec: z.object({ hosts: z.array(z.string()) }) })

type Options = Parameters<typeof operator>[0]

/** Reconciles sites, and reports their hosts. */
export function sites(
  port: number,
  seen: (hosts: readonly string[]) => unknown,
  options: Partial<Options> = {},
): Operator {
  const app = operator({
    name: 'converted',
    leaderElection: true,
    syncTimeout: '10s',
    webhooks: { port, certs: { secret: 'tls' } },
    ...options,
  })
  app.convert(Old, Site, {
    up: ({ spec }) => ({ spec: { hosts: spec.host.split(' ') } }),
    down: ({ spec }) => ({ spec: { host: spec.hosts.join(' ') } }),
  })
  app.admission(Site, { default: (site) => void (site.spec.hosts[0] ||= 'filled in') })
  app.controllerFor(Site).reconcile(async (site) => void (await seen(site.spec.hosts)))
  return app
}

const at = (name: string) => ({ metadata: { namespace: 'default', name } })

/** What `kubeloop crd` prints for the operator. */
export function wanted(port: number) {
  const { description } = sites(port, () => {}, { webhooks: { url: `https://127.0.0.1:${port}` } })
  const { conversion, configurations } = describeWebhooks(description, 'default')
  return { crds: crdOf([Site], { conversions: description.conversions, conversion }), configurations }
}

/**
 * Installs the definition of the old version, stores the object `b`, and updates the definition as an upgrade does.
 * `stored`: the names of objects that are stored in the new version after that.
 */
export async function upgrade(transport: Transport, port: number, stored: readonly string[] = []): Promise<void> {
  const { api, client } = new Cluster({ name: 'admin', transport })
  const { crds: [next], configurations } = wanted(port)
  await installCrds([Old], { api, clock: systemClock, log: silentLog, fieldManager: 'admin' }, never)
  await client.create(Old, { ...at('b'), spec: { host: 'b' } })
  const before = await definition(api)
  await api.update({ resource: CRD, name: NAME }, { ...before, spec: next!.spec } as unknown as KubeObject, {})
  for (const name of stored) await client.create(Site, { ...at(name), spec: { hosts: [name] } })
  for (const each of configurations) await api.create({ resource: MutatingWebhookConfiguration }, each, {})
}

const never = new AbortController().signal

async function definition(api: Cluster['api']): Promise<CustomResourceDefinition> {
  return (await api.get({ resource: CRD, name: NAME })) as unknown as CustomResourceDefinition
}

export async function trusted(api: Cluster['api']): Promise<string> {
  return atob((await definition(api)).spec.conversion?.webhook.clientConfig.caBundle ?? '')
}

/** Runs an operator until it has reconciled these hosts. Resolves with its log, its writes and its reconciles. */
export async function untilReconciled(
  expected: readonly string[],
  make: (seen: (hosts: readonly string[]) => void) => Operator,
  transport: Transport,
): Promise<string[]> {
  const stopping = new AbortController()
  const done = new Latch()
  const events: string[] = []
  const line = (message: string): void => void events.push(message)
  const log: Log = { debug() {}, info: line, warn: line, error: line }
  const hosts = new Set<string>()
  const app = make((seen) => {
    for (const host of seen) hosts.add(host)
    events.push('reconcile')
    if (hosts.size === expected.length) done.open()
  })
  const ended = app.start(stopping.signal, {
    log,
    instance: 'test',
    webhooks: 'stated',
    async transport(request) {
      if (request.method !== 'GET') {
        // What does not wait for the write comes first.
        for (let turns = 0; turns < 50; turns++) await nextTurn()
        events.push(`${request.method} ${request.path.split('?')[0]!.split('/').at(-1)}`)
      }
      return await transport(request)
    },
  })
  try {
    await Promise.race([done.opened, ended])
    assert.deepEqual([...hosts].sort(), expected)
  } finally {
    stopping.abort()
    await ended
  }
  return events
}
