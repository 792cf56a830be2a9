/**
 * The floor of an operator's start, to be bundled: reads the service account, sends one request and parses the result.
 */
import { readFileSync } from 'node:fs'
import https from 'node:https'
import process from 'node:process'
import { spec, status } from '../works/startup_schema.ts'

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
const token = readFileSync(`${SERVICE_ACCOUNT}/token`, 'utf8').trim()
const agent = new https.Agent({
  keepAlive: true,
  ca: readFileSync(`${SERVICE_ACCOUNT}/ca.crt`, 'utf8'),
  servername: '',
})
https.get(
  { agent, host, port, path: '/apis/bench.example.com/v1/foos', headers: { authorization: `Bearer ${token}` } },
  (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => {
      const foo = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { spec: unknown; status: unknown }
      console.log(spec.parse(foo.spec), status.parse(foo.status))
    })
  },
)
