/** Keeps the status of ResourceQuotas, as kube-controller-manager does. */
import { jsonEqual } from '../../core/equal.ts'
import { type Context, putObject } from '../context/context.ts'
import { type ApiObject, at } from '../model/json.ts'
import { quotaStatus } from '../verbs/limits.ts'

/** Counts what the objects of a namespace take of its quotas. Called after each write in the namespace. */
export function countQuotas(context: Context, { metadata: { namespace = '', uid } }: ApiObject): void {
  const { store, kinds } = context
  if (store.get('namespaces', namespace)?.metadata.deletionTimestamp) return
  for (const quota of store.list('resourcequotas', `${namespace}/`)) {
    // A written status stays until the quota, or another object, changes.
    const isWritten = quota.metadata.uid === uid
    if (isWritten && jsonEqual(at(quota, 'spec', 'hard'), at(quota, 'status', 'hard'))) continue
    const status = quotaStatus(context, quota)
    if (jsonEqual(status, quota['status'])) continue
    putObject(context, kinds.find('', 'v1', 'resourcequotas')!, { ...quota, status })
  }
}
