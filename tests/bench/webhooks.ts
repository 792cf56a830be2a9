/**
 * Measures creates through the real API server, which calls the webhooks of one program: an operator's, or Go's.
 *
 * Each program runs from its first round to the end, so that it is warm. The API server's configurations name one
 * program at a time.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { type Client, Cluster, isReason } from 'kubeloop'
import { CustomResourceDefinition, MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from 'kubeloop/kinds'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { freePort } from '../../lib/runtime/net/loopback.ts'
import { cpuUs, rssMib } from './processes.ts'
import { Site, siteOf } from './site.ts'
import type { Stage } from './stage.ts'
import { quantile } from './works/quantiles.ts'
import { clusterOf } from './works/surroundings.ts'

/** Creates before the first round of a program, and before each: each calls both webhooks. */
const WARM = 3000
const WARM_AGAIN = 300
const CALLERS = 4
/** The part of the creates that one caller makes. */
const ALONE = 0.3
/** How long the API server may take to notice a configuration. */
const SWITCH_MS = 30_000

type Server = Awaited<ReturnType<typeof startServer>>

export async function openWebhookStage({ clusterFile }: Stage, n: number) {
  const folder = mkdtempSync(join(tmpdir(), 'kubeloop-bench-'))
  const authority = await createAuthority({ commonName: 'bench-ca' })
  const { cert, key } = await authority.issue({ commonName: 'bench', ipAddresses: ['127.0.0.1'], usage: 'server' })
  writeFileSync(join(folder, 'tls.crt'), cert)
  writeFileSync(join(folder, 'tls.key'), key, { mode: 0o600 })
  const cluster = new Cluster({ name: 'bench', config: clusterOf(clusterFile) })
  const { client } = cluster
  await client.apply(CustomResourceDefinition, Site.definition.crd as never)
  const servers: Server[] = []
  let made = 0
  const name = (): string => `site-${String(made++).padStart(6, '0')}`

  /** Creates objects with concurrent callers. Returns how long each took, in milliseconds. */
  async function create(count: number, callers: number, isDefaulted: boolean): Promise<number[]> {
    const took: number[] = []
    let begun = 0
    await Promise.all(Array.from({ length: callers }, async () => {
      while (begun++ < count) {
        const site = siteOf(name())
        const beganMs = performance.now()
        const { spec } = await client.create(Site, site)
        took.push(performance.now() - beganMs)
        if ((spec.hosts[0] === site.spec.hosts[0]!.toLowerCase() && spec.issuer === 'letsencrypt') !== isDefaulted) {
          throw new Error(`The webhooks ${isDefaulted ? 'did not change' : 'changed'} the created object`)
        }
      }
    }))
    return took
  }

  return {
    /**
     * Returns the measurement of a program, which gets a port and a folder with its certificate. Undefined: creates
     * without webhooks.
     */
    measure(command?: (port: number, certificates: string) => readonly string[]) {
      let server: Server | undefined
      return async () => {
        const isFirst = !server
        if (command && !server) servers.push(server = await startServer((port) => command(port, folder)))
        if (server) await configure(client, server.port, authority.ca)
        try {
          await until(() => isCalled(client, server !== undefined), 'The API server does not use the configuration')
          await create(isFirst ? WARM : WARM_AGAIN, CALLERS, server !== undefined)
          const pids = server ? [server.process.pid!] : []
          const beganUs = cpuUs(...pids)
          const beganMs = performance.now()
          const took = await create(n, CALLERS, server !== undefined)
          const ms = performance.now() - beganMs
          const tookUs = (cpuUs(...pids) - beganUs) / n
          const alone = await create(Math.ceil(n * ALONE), 1, server !== undefined)
          return {
            perSecond: n / (ms / 1000),
            p50: quantile(took, 0.5),
            p99: quantile(took, 0.99),
            aloneP50: quantile(alone, 0.5),
            aloneP99: quantile(alone, 0.99),
            ...(server && { cpuUs: tookUs, rssMib: rssMib(...pids) }),
          }
        } finally {
          for (const kind of [MutatingWebhookConfiguration, ValidatingWebhookConfiguration]) {
            await client.delete(kind, { name: 'bench' })
          }
          await until(() => isCalled(client, false), 'The API server still uses the configuration')
          await client.deleteAll(Site, { namespace: 'default' })
        }
      }
    },
    async close() {
      for (const { process } of servers) process.kill()
      cluster.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function startServer(command: (port: number) => readonly string[]) {
  const port = await freePort()
  const [file = '', ...args] = command(port)
  return { port, process: spawn(file, args, { stdio: ['ignore', 'ignore', 'inherit'] }) }
}

async function configure(client: Client, port: number, ca: string): Promise<void> {
  const { group, version, plural } = Site
  const webhook = (verb: string) => ({
    name: `${verb}.bench.example.com`,
    admissionReviewVersions: ['v1'],
    clientConfig: {
      url: `https://127.0.0.1:${port}/${verb}-bench-example-com-v1-site`,
      caBundle: Buffer.from(ca).toString('base64'),
    },
    sideEffects: 'None',
    rules: [{ apiGroups: [group], apiVersions: [version], operations: ['CREATE', 'UPDATE'], resources: [plural] }],
  })
  const metadata = { name: 'bench' }
  await client.create(MutatingWebhookConfiguration, { metadata, webhooks: [webhook('mutate')] } as never)
  await client.create(ValidatingWebhookConfiguration, { metadata, webhooks: [webhook('validate')] } as never)
}

/** Tests whether both webhooks are called, or neither is. */
async function isCalled(client: Client, expected: boolean): Promise<boolean> {
  const { metadata, spec } = siteOf('probe')
  const bad = { metadata, spec: { ...spec, hosts: ['NOT_OK.dev'] } }
  try {
    const { spec: made } = await client.create(Site, bad, { dryRun: true })
    return !expected && made.hosts[0] === 'NOT_OK.dev'
  } catch (error) {
    // The webhook that validates gets what the other one changed.
    return expected && isReason(error, 'Invalid') && error.message.includes('"not_ok.dev" has an underscore')
  }
}

async function until(test: () => Promise<boolean>, otherwise: string): Promise<void> {
  const endMs = performance.now() + SWITCH_MS
  // Several in a row: the two configurations are noticed one after the other.
  for (let seen = 0; seen < 5;) {
    seen = await test() ? seen + 1 : 0
    if (performance.now() > endMs) throw new Error(`${otherwise} after ${SWITCH_MS / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export function hasRealServer(): boolean {
  return Boolean(process.env['KUBEBUILDER_ASSETS'])
}
