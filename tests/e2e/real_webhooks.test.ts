/** Tests that a real kube-apiserver calls the webhook server: refusals, retries, and certificates swapped under load. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { type Authority, createAuthority } from '../../lib/runtime/net/certificates.ts'
import { type ClosableTransport, httpTransport } from '../../lib/runtime/net/transport.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest.ts'
import { FileCertificates } from '../../lib/webhook/file_certificates.ts'
import type { WebhookHandler } from '../../lib/webhook/handler.ts'
import { WebhookServer } from '../../lib/webhook/webhook_server.ts'
import { noHttp2, openSession } from '../runtime/https_clients.ts'

const skip = process.env['KUBEBUILDER_ASSETS'] ? false : 'KUBEBUILDER_ASSETS is not set: no real kube-apiserver'
const GROUP = '/apis/admissionregistration.k8s.io/v1'

let envtest: Envtest | undefined
let transport: ClosableTransport | undefined
let folder: string
let authority: Authority
before(async () => {
  if (skip) return
  folder = await mkdtemp(join(tmpdir(), 'kubeloop-real-webhook-'))
  authority = await createAuthority({ commonName: 'ca-1' })
  await put(authority)
  envtest = await startEnvtest()
  transport = httpTransport(envtest.tokenConfig)
})
after(async () => {
  transport?.close()
  await envtest?.stop()
  if (folder) await rm(folder, { recursive: true })
})

async function put(authority: Authority): Promise<void> {
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], usage: 'server' } as const
  const { cert, key } = await authority.issue({ ...names, commonName: 'webhook' })
  await writeFile(join(folder, 'tls.key'), key)
  await writeFile(join(folder, 'tls.crt'), cert)
}

interface Reply {
  readonly status: number
  readonly body: { readonly message?: string }
}

async function send(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<Reply> {
  const response = await transport!({
    method,
    path,
    headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
    body: body === undefined ? '' : JSON.stringify(body),
  })
  return { status: response.status, body: JSON.parse(await response.body.text()) as Reply['body'] }
}

/** Creates a ConfigMap without storing it. */
function create(): Promise<Reply> {
  const metadata = { generateName: 'a-', labels: { webhook: 'yes' } }
  return send('POST', '/api/v1/namespaces/default/configmaps?dryRun=All', { metadata, data: { a: 'b' } })
}

type Configuration = 'mutatingwebhookconfigurations' | 'validatingwebhookconfigurations'

async function configure(sort: Configuration, port: number, path: string, timeoutSeconds = 10): Promise<void> {
  const answer = await send('POST', `${GROUP}/${sort}`, {
    metadata: { name: 'test' },
    webhooks: [{
      name: 'configmaps.test.example.dev',
      clientConfig: { url: `https://127.0.0.1:${port}${path}`, caBundle: encodeBase64(authority.ca) },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      objectSelector: { matchLabels: { webhook: 'yes' } },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      timeoutSeconds,
    }],
  })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
}

async function trust(bundle: string): Promise<void> {
  for (const sort of ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']) {
    const patch = [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value: encodeBase64(bundle) }]
    const response = await transport!({
      method: 'PATCH',
      path: `${GROUP}/${sort}/test`,
      headers: { 'content-type': 'application/json-patch+json' },
      body: JSON.stringify(patch),
    })
    assert.equal(response.status, 200)
    await response.body.text()
  }
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
    for (const sort of ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']) {
      await send('DELETE', `${GROUP}/${sort}/test`)
    }
    stop.abort()
    await ended
  }
}

let calls = 0
const allow: WebhookHandler = ({ contentType, body }) => {
  calls++
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
      const sort = 'validatingwebhookconfigurations'
      await configure(sort, port, '/strict')
      const forbidden = await settled(({ status }) => status !== 201)
      assert.match(
        forbidden.body.message!,
        /failed calling webhook .*The client must present a certificate of the CA that /,
      )
      await send('DELETE', `${GROUP}/${sort}/test`)
      await settled(({ status }) => status === 201)
      await configure(sort, port, '/busy')
      await settled(({ status }) => status === 201 && refusals > 0)
      assert.ok(refusals > 1)
    }),
)

test(
  'real: CA and certificate are swapped under 200 calls a second, and no call fails',
  { skip },
  () =>
    serving({}, async (server, port) => {
      server.handle('/mutate', allow)
      server.handle('/validate', allow)
      await configure('mutatingwebhookconfigurations', port, '/mutate')
      await configure('validatingwebhookconfigurations', port, '/validate')
      calls = 0
      await settled(() => calls >= 2)
      const old = authority, next = await createAuthority({ commonName: 'ca-2' })
      // A session of before the swap, which the swap must close.
      const session = noHttp2 ? undefined : await sessionOf(port, old.ca)

      let isOver = false
      const failures: unknown[] = []
      let creates = 0
      const load = (async () => {
        const open = new Set<Promise<void>>()
        const beganMs = systemClock.monotonic()
        while (!isOver) {
          const one: Promise<void> = create().then(({ status, body }) => {
            if (status !== 201) failures.push(body)
          }, (error: unknown) => void failures.push(error)).finally(() => open.delete(one))
          open.add(one)
          creates++
          await sleep(systemClock, Math.max(0, beganMs + creates * 10 - systemClock.monotonic()))
        }
        await Promise.all(open)
      })()
      const callsBefore = calls
      await sleep(systemClock, 300)
      await trust(old.ca + next.ca)
      await sleep(systemClock, 1500)
      await put(next)
      await session?.closed
      await servedBy(port, next.ca)
      await sleep(systemClock, 1000)
      await trust(next.ca)
      const callsAtEnd = calls
      await sleep(systemClock, 1000)
      isOver = true
      await load
      authority = next
      assert.deepEqual([failures.length, failures[0]], [0, undefined])
      // The calls went on after the last step, each create with both webhooks.
      assert.ok(calls > callsAtEnd)
      assert.ok(calls - callsBefore >= 2 * creates - 4, `${calls - callsBefore} calls for ${creates} creates`)
    }),
)

/** Opens a session. `closed` resolves when it has ended. */
async function sessionOf(port: number, ca: string): Promise<{ readonly closed: Promise<unknown> }> {
  const session = openSession(port, { ca })
  await once(session, 'connect')
  return { closed: once(session, 'close') }
}

/** Connects until the server's certificate is of this CA. */
async function servedBy(port: number, ca: string): Promise<void> {
  for (let attempt = 0;; attempt++) {
    const socket = connectTls({ host: '127.0.0.1', port, ca })
    try {
      return void await once(socket, 'secureConnect')
    } catch (error) {
      assert.ok(attempt < 200, String(error))
      await sleep(systemClock, 25)
    } finally {
      socket.destroy()
    }
  }
}
