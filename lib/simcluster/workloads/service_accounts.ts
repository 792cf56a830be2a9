/** Gives each namespace its ServiceAccount `default`. */
import type { Operator } from 'kubeloop'
import { Namespace, ServiceAccount } from 'kubeloop/kinds'
import { isNamespaceEnding } from './replica_sets.ts'

/** Adds the controller of namespaces. */
export function addServiceAccounts(app: Operator): void {
  app.controllerFor(Namespace, { name: 'serviceaccount', fieldManager: 'kube-controller-manager' })
    .watches(ServiceAccount, ({ metadata }) => metadata.name === 'default' ? [{ name: metadata.namespace }] : [])
    .reconcile(async ({ metadata, status }, { client }) => {
      if (metadata.deletionTimestamp || status?.phase === 'Terminating') return
      try {
        await client.createIfMissing(ServiceAccount, { metadata: { namespace: metadata.name, name: 'default' } })
      } catch (error) {
        if (!isNamespaceEnding(error)) throw error
      }
    })
}
