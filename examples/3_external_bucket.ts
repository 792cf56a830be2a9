// An object outside the cluster: a bucket of a cloud, made with credentials from a Secret, and deleted before its object goes.
import { defineResource, isReason, type Operator, operator, TerminalError } from 'kubeloop'
import { Secret } from 'kubeloop/kinds'
import * as z from 'zod/mini'

export const Bucket = defineResource({
  group: 'storage.example.dev',
  version: 'v1',
  kind: 'Bucket',
  columns: { Phase: '.status.phase', Url: '.status.url' },
  spec: z.object({ region: z.enum(['eu', 'us']), keep: z._default(z.boolean(), false), credentials: z.string() }),
  status: z.object({ phase: z.enum(['Creating', 'Ready', 'Failed']), url: z.optional(z.string()) }),
})

export interface Cloud {
  create(id: string, region: 'eu' | 'us', token: string, signal: AbortSignal): Promise<void>
  state(id: string, signal: AbortSignal): Promise<{ ready: boolean; url: string } | 'refused' | undefined>
  destroy(id: string, signal: AbortSignal): Promise<'gone' | 'going'>
}

/** `await buckets(cloud).run(import.meta)` runs it; a test gives it a cloud in memory. */
export function buckets(cloud: Cloud): Operator {
  const app = operator({ name: 'buckets', leaderElection: true, crds: 'install' })

  app.controllerFor(Bucket, { concurrency: 8, timeout: '30s', backoff: { base: '1s', max: '5m' } })
    .finalize(async (bucket, { signal }) => {
      if (bucket.spec.keep) return
      return (await cloud.destroy(bucket.metadata.uid, signal)) === 'going' ? { requeueAfter: '5s' } : undefined
    })
    .reconcile(async (bucket, { client, events, signal }) => {
      const { namespace, name, uid } = bucket.metadata
      const state = await cloud.state(uid, signal)
      if (state === 'refused') {
        await client.setStatus(Bucket, bucket, { phase: 'Failed' })
        events.warning(bucket, 'Refused', 'The cloud refused this bucket')
        throw new TerminalError('Bucket refused; change its spec to try again')
      }
      if (state === undefined) {
        // Secrets are not watched, so this is read from the server.
        const secret = await client.get(Secret, { namespace, name: bucket.spec.credentials })
        if (!secret?.data?.['token']) {
          throw new Error(`Cannot create bucket: Secret "${bucket.spec.credentials}" has no token`)
        }
        await cloud.create(uid, bucket.spec.region, atob(secret.data['token']), signal)
      }
      if (!state?.ready) {
        await client.setStatus(Bucket, bucket, { phase: 'Creating' })
        return { requeueAfter: '10s' }
      }
      await client.setStatus(Bucket, bucket, { phase: 'Ready', url: state.url })
      await client.create(Secret, { metadata: { name: `${name}-url` }, stringData: { url: state.url } }, {
        owner: bucket,
      }).catch((error) => {
        if (!isReason(error, 'AlreadyExists')) throw error
      })
      return { requeueAfter: '1h' } // look for drift
    })
  return app
}
