/** Runs the suite on etcd and kube-apiserver from KUBEBUILDER_ASSETS. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Cluster, httpTransport, operator } from '../../mod.ts'
import { Latch } from '../../lib/async/latch.ts'
import { ClusterRoleBinding, ConfigMap } from '../../lib/kinds/mod.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest.ts'
import { withBuiltSample } from './samples.ts'
import { casesFor, type Target } from './suite.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real control plane'

let envtest: Envtest
const target: Target = {
  get configs() {
    return { 'client certificate': envtest.config, token: envtest.tokenConfig }
  },
  kubeconfig: (config) => envtest.kubeconfig(config),
  crash: { kill: () => envtest.killApiServer(), restart: () => envtest.restartApiServer() },
}
before(async () => {
  if (skip) return
  envtest = await startEnvtest({ controllerManager: ['garbage-collector-controller'] })
})
after(async () => await envtest?.stop())

test('an operator without permission to list logs verb, resource and account once, and works when it is granted', {
  skip,
}, async () => {
  const admin = httpTransport(envtest.config)
  const { client } = new Cluster({ name: 'e2e', transport: admin })
  const user = await envtest.addUser('system:serviceaccount:default:weak', ['system:serviceaccounts'])
  const connection = httpTransport(user)
  const stopping = new AbortController()
  const warnings: string[] = []
  const refused = new Latch()
  const reconciled = new Latch()
  const weak = operator({ name: 'weak', leaderElection: false })
  weak.controllerFor(ConfigMap).reconcile(async () => reconciled.open())
  const running = weak.start(stopping.signal, {
    transport: connection,
    log: {
      ...silentLog,
      warn: (message) => {
        warnings.push(message)
        refused.open()
      },
    },
  })
  await refused.opened
  await client.create(ClusterRoleBinding, {
    metadata: { name: 'weak' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'system:serviceaccount:default:weak' }],
  })
  await reconciled.opened
  stopping.abort()
  await running
  connection.close()
  admin.close()
  assert.equal(warnings.length, 1, warnings.join('\n'))
  assert.match(warnings[0]!, /"system:serviceaccount:default:weak" cannot list resource "configmaps"/)
  assert.match(
    warnings[0]!,
    /; its role lacks \{ apiGroups: \[""\], resources: \["configmaps"\], verbs: \["list", "watch"\] \}/,
  )
})

for (const { name, run } of casesFor(['client certificate', 'token'], true)) {
  test(`real: ${name}`, { skip }, () => withBuiltSample((sample) => run(target, sample)))
}
