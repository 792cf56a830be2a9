/** Starts a control plane and prints where it is, until it is killed. */
import { startEnvtest } from '../../../lib/testing/envtest/envtest.ts'

const envtest = await startEnvtest()
console.log(envtest.config.server, envtest.tokenConfig.token)
setInterval(() => {}, 1000)
