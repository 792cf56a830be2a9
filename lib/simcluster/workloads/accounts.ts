/** Gives each namespace its ServiceAccount `default`, and fills the Secrets with tokens of ServiceAccounts. */
import type { Operator } from 'kubeloop'
import { Namespace, Secret, ServiceAccount } from 'kubeloop/kinds'
import { encodeBase64 } from '../../core/base64.ts'
import { unlessGone, unlessNamespaceEnds } from './pod_changes.ts'

const NAME = 'kubernetes.io/service-account.name'
const UID = 'kubernetes.io/service-account.uid'
/** About 136 years: the tokens of a cluster's controller do not expire. */
const LONGEST_SECONDS = 2 ** 32

/** Adds the controller of token Secrets. `ca`: returns the CA of the server, PEM, where it has one. */
export function addAccountTokens(app: Operator, ca: () => string | undefined): void {
  app.controllerFor(Secret, {
    name: 'serviceaccount-token',
    fieldManager: 'kube-controller-manager',
    when: ({ type }) => type === 'kubernetes.io/service-account-token',
  })
    .watches(
      ServiceAccount,
      async ({ metadata: { namespace, name } }, { client }) =>
        (await client.list(Secret, { namespace })).filter(({ metadata }) => metadata.annotations?.[NAME] === name),
    )
    .reconcile(async ({ metadata, data = {} }, { client }) => {
      const { namespace, uid, annotations = {} } = metadata
      // The cache of accounts may be behind that of Secrets.
      const account = await client.live.get(ServiceAccount, { namespace, name: annotations[NAME] ?? '' })
      if (!account || (annotations[UID] ?? account.metadata.uid) !== account.metadata.uid) {
        return void await client.delete(Secret, { metadata }, { uid })
      }
      const ofServer = ca()
      const wanted = {
        namespace: encodeBase64(namespace),
        ...(ofServer !== undefined && { 'ca.crt': encodeBase64(ofServer) }),
      }
      const isFilled = data['token'] && data['namespace'] && data['ca.crt'] === (wanted['ca.crt'] ?? data['ca.crt'])
      if (isFilled) return
      const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: metadata.name, uid }
      const spec = { boundObjectRef, expirationSeconds: LONGEST_SECONDS }
      const token = data['token'] ??
        encodeBase64((await client.subresource(ServiceAccount, account, 'token').create({ spec })).status.token)
      const filled = client.edit(Secret, metadata, (draft) => {
        draft.data = { token, ...draft.data, ...wanted }
        draft.metadata.annotations = { ...draft.metadata.annotations, [UID]: account.metadata.uid }
      })
      // Its deletion queues it no more.
      await unlessGone(filled)
    })
}

export function addServiceAccounts(app: Operator): void {
  app.controllerFor(Namespace, { name: 'serviceaccount', fieldManager: 'kube-controller-manager' })
    .watches(ServiceAccount, ({ metadata }) => metadata.name === 'default' ? [{ name: metadata.namespace }] : [])
    .reconcile(async ({ metadata, status }, { client }) => {
      if (status?.phase === 'Terminating') return
      const wanted = { metadata: { namespace: metadata.name, name: 'default' } }
      await unlessNamespaceEnds(client.createIfMissing(ServiceAccount, wanted))
    })
}
