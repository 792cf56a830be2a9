/** Runs operators on an embedded API server in real time: their servers listen on loopback. */
import { Cluster, type Log, type ObjectOf, type Operator, type Parts } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { MutatingWebhookConfiguration } from 'kubeloop/kinds'
import { Latch } from '../../lib/async/latch.ts'
import { CRD, type CustomResourceDefinition } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import type { StartOptions } from '../../lib/operator/run/start.ts'

export const SITES = { resource: CRD, name: 'sites.web.example.dev' }

export interface Running {
  readonly client: Cluster['client']
  readonly api: Cluster['api']
  readonly parts: Parts
  /** What happened: lines of the log, and writes. */
  readonly events: string[]
  /** The first configuration with defaults, and the definition of sites. */
  mutating(): Promise<Mutating>
  definition(): Promise<CustomResourceDefinition>
}

type Mutating = ObjectOf<typeof MutatingWebhookConfiguration>

/** Runs an operator on an embedded API server while `work` runs. */
export async function running(
  app: Operator,
  { handle = new ApiServer().handle, ...options }: StartOptions & { readonly handle?: Transport },
  work: (running: Running) => Promise<void> = async () => {},
): Promise<void> {
  const stopping = new AbortController()
  const ready = new Latch()
  const events: string[] = []
  const line = (message: string): void => void events.push(message.replace(/:\d+$/, ''))
  const log: Log = { debug() {}, info: line, warn: line, error: line }
  let parts: Parts | undefined
  const ended = app.start(stopping.signal, {
    log,
    instance: 'test',
    webhooks: { port: 0 },
    transport: (request) => {
      const [path] = request.path.split('?')
      if (request.method !== 'GET') events.push(`${request.method} ${path!.split('/').slice(-2).join('/')}`)
      return handle(request)
    },
    onAssembled: (assembled) => {
      parts = assembled
      void assembled.manager.elected.then(() => ready.open())
    },
    ...options,
  })
  await Promise.race([ready.opened, ended])
  try {
    const { client, api } = new Cluster({ name: 'admin', transport: handle })
    await work({
      ...{ client, api, parts: parts!, events },
      mutating: async () => (await client.list(MutatingWebhookConfiguration))[0]!,
      definition: async () => (await api.get(SITES)) as unknown as CustomResourceDefinition,
    })
  } finally {
    stopping.abort()
    await ended
  }
}
