/** Three releases of one operator, each in a process of its own: `matrix_operator.ts SETUP`, which is JSON. */
import process from 'node:process'
import { defineResource, type Operator, operator } from 'kubeloop'
import * as z from 'zod'

export interface Setup {
  /** Also the first part of the group. */
  readonly name: string
  /** `old` has v1alpha1 alone; `new` stores v1, converts, and admits; `next` has one more webhook. */
  readonly release: 'old' | 'new' | 'next'
  readonly crds: 'install' | 'verify'
  readonly certs: string | { readonly secret: string }
  readonly port?: number
  readonly health?: number
  /** Undefined on a laptop. */
  readonly service?: { readonly name: string; readonly port: number }
}

/** The annotation with what v1alpha1 can't express. */
const KEPT = 'matrix.example.dev/kept'
type Kept = { readonly hosts: readonly string[]; readonly quota?: number | undefined }

export function siteOperator({ name, release, crds, health, ...webhooks }: Setup): Operator {
  const kind = { group: `${name}.example.dev`, kind: 'Site' }
  const shared = { note: z.string(), issuer: z.string().optional() }
  const Old = defineResource({ ...kind, version: 'v1alpha1', spec: z.object({ ...shared, host: z.string() }) })
  const v1 = z.object({ ...shared, hosts: z.array(z.string()).min(1), quota: z.int().optional() })
  const Site = defineResource({ ...kind, version: 'v1', spec: v1 })
  // Long enough for a busy machine, and short enough for a leader that was killed.
  const leaderElection = { duration: '8s', renewDeadline: '6s', retryPeriod: '500ms' } as const
  const common = { name, crds, leaderElection, ...(health !== undefined && { health }) }
  if (release === 'old') {
    const app = operator(common)
    app.controllerFor(Old).reconcile(async () => {})
    return app
  }
  const app = operator({ ...common, webhooks: { host: '127.0.0.1', ...webhooks } })
  app.convert(Old, Site, {
    up({ spec: { host, ...spec }, metadata: { annotations: { [KEPT]: kept, ...annotations } = {} } }) {
      const { hosts, quota } = JSON.parse(kept ?? '{"hosts":[]}') as Kept
      return { spec: { ...spec, hosts: hosts[0] === host ? [...hosts] : [host], quota }, metadata: { annotations } }
    },
    down: ({ spec: { hosts, quota, ...spec }, metadata: { annotations } }) => ({
      spec: { ...spec, host: hosts[0] ?? '' },
      metadata: { annotations: { ...annotations, [KEPT]: JSON.stringify({ hosts, quota } satisfies Kept) } },
    }),
  })
  app.admission(Site, {
    default: ({ spec }) => void (spec.issuer ??= 'default'),
    validate: ({ spec }) => spec.note === 'forbidden' ? [{ field: 'spec.note', message: 'it is forbidden' }] : [],
  })
  if (release === 'next') app.admission(Site, { validate: () => [] }, { timeout: '9s' })
  app.controllerFor(Site).reconcile(async () => {})
  return app
}

if (process.argv[2]?.startsWith('{')) await siteOperator(JSON.parse(process.argv[2]) as Setup).run()
