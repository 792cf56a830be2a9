/** Runs the conformance suite on a real kube-apiserver, which validates the suite itself. */
import { after, before, test } from 'node:test'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'
import type { SharedKinds } from './api.ts'
import { servedHooks } from './hooks.ts'
import { CASES, runCase } from './suite.ts'

const missing = process.env['KUBEBUILDER_ASSETS']
  ? false
  : 'KUBEBUILDER_ASSETS is not set: no real kube-apiserver to compare with'
let hooks: Awaited<ReturnType<typeof servedHooks>> | undefined
let shared: SharedKinds = {}
let envtest: Envtest | undefined
let transport: ClosableTransport | undefined

before(async () => {
  if (missing) return
  envtest = await startEnvtest()
  hooks = await servedHooks()
  shared = { hooks }
  transport = httpTransport(envtest.tokenConfig)
})

after(async () => {
  transport?.close()
  await envtest?.stop()
  await hooks?.close()
})

for (const each of CASES) {
  test(`real: ${each.name}`, { skip: missing || (each.skip?.real ?? false) }, () => runCase(each, transport!, shared))
}
