/** Gives each namespace its ServiceAccount `default`. */
import type { Operator } from 'kubeloop'
import { Namespace, ServiceAccount } from 'kubeloop/kinds'
import { unlessNamespaceEnds } from './pod_changes.ts'

/** Adds the controller of namespaces. */
export function addServiceAccounts(app: Operator): void {
  app.controllerFor(Namespace, { name: 'serviceaccount', fieldManager: 'kube-controller-manager' })
    .watches(ServiceAccount, ({ metadata }) => metadata.name === 'default' ? [{ name: metadata.namespace }] : [])
    .reconcile(async ({ metadata, status }, { client }) => {
      if (metadata.deletionTimestamp || status?.phase === 'Terminating') return
      const wanted = { metadata: { namespace: metadata.name, name: 'default' } }
      await unlessNamespaceEnds(client.createIfMissing(ServiceAccount, wanted))
    })
}
