/** What a real kube-apiserver does with refusals of the webhook server. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { type Authority, createAuthority } from '../../lib/runtime/net/certificates.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest.ts'
import { FileCertificates } from '../../lib/webhook/file_certificates.ts'
import type { WebhookHandler } from '../../lib/webhook/handler.ts'
import { WebhookServer } from '../../lib/webhook/webhook_server.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real kube-apiserver'
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'

let envtest: Envtest | undefined
let transport: ClosableTransport | undefined
let folder: string
let authority: Authority
before(async () => {
  if (skip) return
  folder = await mkdtemp(join(tmpdir(), 'kubeloop-real-webhook-'))
  authority = await createAuthority({ commonName: 'ca-1' })
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], usage: 'server' } as const
  const { cert, key } = await authority.issue({ ...names, commonName: 'webhook' })
  await writeFile(join(folder, 'tls.key'), key)
  await writeFile(join(folder, 'tls.crt'), cert)
  envtest = await startEnvtest()
  transport = httpTransport(envtest.tokenConfig)
})
after(async () => {
  transport?.close()
  await envtest?.stop()
  if (folder) await rm(folder, { recursive: true })
})

interface Reply {
  readonly status: number
  readonly body: { readonly message?: string }
}

async function send(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<Reply> {
  const response = await transport!({
    method,
    path,
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? '' : JSON.stringify(body),
  })
  return { status: response.status, body: JSON.parse(await response.body.text()) as Reply['body'] }
}

/** Creates a ConfigMap without storing it. */
function create(): Promise<Reply> {
  const metadata = { generateName: 'a-', labels: { webhook: 'yes' } }
  return send('POST', '/api/v1/namespaces/default/configmaps?dryRun=All', { metadata, data: { a: 'b' } })
}

async function configure(port: number, path: string): Promise<void> {
  const answer = await send('POST', CONFIGURATIONS, {
    metadata: { name: 'test' },
    webhooks: [{
      name: 'configmaps.test.example.dev',
      clientConfig: { url: `https://127.0.0.1:${port}${path}`, caBundle: encodeBase64(authority.ca) },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      objectSelector: { matchLabels: { webhook: 'yes' } },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    }],
  })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
}

async function serving(
  options: Partial<ConstructorParameters<typeof WebhookServer>[0]>,
  run: (server: WebhookServer, port: number) => Promise<void>,
): Promise<void> {
  const certificates = new FileCertificates({ folder })
  const server = new WebhookServer({ host: '127.0.0.1', port: 0, certificates, ...options })
  const stop = new AbortController()
  const ended = server.start(stop.signal)
  try {
    await server.ready(stop.signal)
    await run(server, server.port!)
  } finally {
    await send('DELETE', `${CONFIGURATIONS}/test`)
    stop.abort()
    await ended
  }
}

const allow: WebhookHandler = ({ contentType, body }) => {
  const { apiVersion, kind, request } = JSON.parse(new TextDecoder().decode(body)) as {
    apiVersion: string
    kind: string
    request: { uid: string }
  }
  const allowed = contentType === 'application/json'
  return Promise.resolve({
    status: 200,
    body: JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed } }),
  })
}

/** Resolves when creates are as wanted: a new configuration takes some milliseconds. */
async function settled(isWanted: (reply: Reply) => boolean): Promise<Reply> {
  for (let attempt = 0;; attempt++) {
    const reply = await create()
    if (isWanted(reply)) return reply
    assert.ok(attempt < 200, JSON.stringify(reply))
    await sleep(systemClock, 25)
  }
}

test(
  'real: what the API server says when the webhook refuses, and that it repeats a 429',
  { skip },
  () =>
    serving({ clientCa: { pem: authority.ca } }, async (server, port) => {
      server.handle('/strict', allow)
      let refusals = 0
      server.handleFetch('/busy', async (request) => {
        const review = await request.text()
        if (refusals++ === 0) return new Response('', { status: 429, headers: { 'retry-after': '1' } })
        const body = new TextEncoder().encode(review)
        const { body: text } = await allow({ contentType: 'application/json', body, signal: request.signal })
        return new Response(text, { headers: { 'content-type': 'application/json' } })
      }, { clientCertificate: 'ignored' })
      await configure(port, '/strict')
      const forbidden = await settled(({ status }) => status !== 201)
      assert.match(
        forbidden.body.message!,
        /failed calling webhook .*The client must present a certificate of the CA that /,
      )
      await send('DELETE', `${CONFIGURATIONS}/test`)
      await settled(({ status }) => status === 201)
      await configure(port, '/busy')
      await settled(({ status }) => status === 201 && refusals > 0)
      assert.ok(refusals > 1)
    }),
)
