/** `apiserver.ts`: serves the embedded API until it is killed, and prints where. */
import { ApiServer, serve } from 'kubeloop/apiserver'

const { url, token, ca } = await serve(new ApiServer())
console.log(JSON.stringify({ server: url, token, ca }))
