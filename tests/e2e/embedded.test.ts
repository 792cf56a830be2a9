/** Runs the suite on the embedded API, served as by `kubeloop dev`, with garbage collection of owned objects. */
import { after, before, test } from 'node:test'
import { ApiServer, serve, type ServedApi } from 'kubeloop/apiserver'
import { systemClock } from '../../lib/async/clock.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { kubeconfigText } from '../../lib/testing/envtest/envtest.ts'
import { GarbageCollector } from '../../lib/simcluster/garbage_collector.ts'
import { withBuiltSample } from './samples.ts'
import { casesFor, type Target } from './suite.ts'

const api = new ApiServer()
const stopping = new AbortController()
let collecting: Promise<void>
let served: ServedApi
let start: (port: number) => Promise<ServedApi>

const target: Target = {
  get configs() {
    return { token: { server: served.url, ca: served.ca, token: served.token } }
  },
  kubeconfig: kubeconfigText,
  crash: {
    kill: async () => {
      // A crash loses connections and the history of changes.
      await served.close()
      api.compact()
    },
    restart: async () => void (served = await start(served.port)),
  },
}
before(async () => {
  const authority = await createAuthority()
  const certificate = {
    ca: authority.ca,
    ...(await authority.issue({ commonName: 'api', ipAddresses: ['127.0.0.1'], usage: 'server' })),
  }
  start = (port) => serve(api, { port, certificate, token: 'e2e' })
  served = await start(0)
  collecting = new GarbageCollector({ transport: api.handle, clock: systemClock, log: silentLog }).start(
    stopping.signal,
  )
})
after(async () => {
  stopping.abort(new Error('the suite has ended'))
  await collecting
  await served.close()
})

for (const { name, run } of casesFor(['token'], true)) {
  test(name, () => withBuiltSample((sample) => run(target, sample)))
}
