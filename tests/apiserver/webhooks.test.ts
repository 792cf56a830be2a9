/** Tests of webhooks in the embedded API: time, cancellation, TLS, the server's own writes, watches. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer, type CallWebhook, type SavedState, type WebhookAnswer } from '../../lib/apiserver/mod.ts'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import { lineBatches } from '../../lib/async/lines.ts'
import { answerText } from '../../lib/apiserver/wire/respond.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { serveHttps, type ServerRequest } from '../../lib/runtime/net/https_server.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { keptLog } from '../cache/scripted_server.ts'
import { type Body, must, send } from './requests.ts'
import { CRDS, definitionOf } from '../tools/definitions.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const BARS = '/apis/example.com/v1/namespaces/default/bars'
const BARS_V2 = BARS.replace('/v1/', '/v2/')

function configMap(name: string): Body {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: {} }
}

async function configure(server: ApiServer, kind: string, fields: Body = {}): Promise<void> {
  await must(server, 'POST', `${ADMISSION}/${kind.toLowerCase()}s`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: `config-${JSON.stringify(fields).length}` },
    webhooks: [{
      name: 'hook.example.com',
      clientConfig: { url: 'https://127.0.0.1:9443/hook' },
      rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...fields,
    }],
  })
}

const VALIDATING = 'ValidatingWebhookConfiguration'
const MUTATING = 'MutatingWebhookConfiguration'

function allow(body: string, more: Body = {}): WebhookAnswer {
  const { request } = JSON.parse(body)
  const response = { uid: request.uid, allowed: true, ...more }
  return { status: 200, body: JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }) }
}

/** Converts `spec.a` of v1 to `spec.b` of v2 and back. */
function convert(body: string): WebhookAnswer {
  const { request } = JSON.parse(body)
  const convertedObjects = request.objects.map(({ spec, ...object }: Body) => ({
    ...object,
    apiVersion: request.desiredAPIVersion,
    spec: request.desiredAPIVersion.endsWith('v2') ? { b: spec.a } : { a: spec.b },
  }))
  const response = { uid: request.uid, result: { status: 'Success' }, convertedObjects }
  return {
    status: 200,
    body: JSON.stringify({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response }),
  }
}

async function defineBars(server: ApiServer): Promise<void> {
  const webhook = { clientConfig: { url: 'https://127.0.0.1:9443/convert' }, conversionReviewVersions: ['v1'] }
  const spec = { conversion: { strategy: 'Webhook', webhook } }
  await must(server, 'POST', CRDS, definitionOf({ kind: 'Bar', scope: 'Namespaced', versions: ['v1', 'v2'], spec }))
}

function bar(name: string, a: string): Body {
  return { apiVersion: 'example.com/v1', kind: 'Bar', metadata: { name }, spec: { a } }
}

function down(): never {
  throw new NetworkError('Cannot connect to 127.0.0.1:9443', { phase: 'connect', code: 'ECONNREFUSED' })
}

/** A webhook whose calls wait until the test answers them. */
function waitingHook(): { callWebhook: CallWebhook; next(): Promise<Parameters<CallWebhook> & { answer(): void }> } {
  const calls: unknown[] = []
  const waiting: ((call: unknown) => void)[] = []
  return {
    callWebhook: (...call) =>
      new Promise((resolve) => {
        const entry = Object.assign(call, { answer: () => resolve(allow(call[1])) })
        const first = waiting.shift()
        if (first) first(entry)
        else calls.push(entry)
      }),
    next: () =>
      new Promise((resolve) => {
        const first = calls.shift()
        if (first) resolve(first as never)
        else waiting.push(resolve as never)
      }),
  }
}

/** Opens a watch. Returns a function that reads the next events as `TYPE name value`. */
async function watching(server: ApiServer, path: string): Promise<(count: number) => Promise<string[]>> {
  const batches = lineBatches((await server.handle({ method: 'GET', path: `${path}watch=true` })).body)
  const events: string[] = []
  return async (count) => {
    for (; events.length < count;) {
      const { value } = await batches.next()
      for (const line of value as string[]) {
        const { type, object } = JSON.parse(line)
        events.push([type, object.metadata.name, object.spec?.b].filter(Boolean).join(' '))
      }
    }
    return events.splice(0, count)
  }
}

test('without a matching webhook a request still runs to its end when it is sent', async () => {
  const server = new ApiServer({ clock: new FakeClock(), callWebhook: down })
  await configure(server, VALIDATING)
  // Of other groups.
  for (const group of ['other.example.com', 'example.com']) {
    await must(server, 'POST', CRDS, definitionOf({ kind: 'ConfigMap', group, scope: 'Namespaced' }))
  }
  const path = BARS.replace('bars', 'configmaps')
  const body = JSON.stringify({ ...configMap('a'), apiVersion: 'example.com/v1' })
  const writing = server.handle({ method: 'POST', path, body })
  const reading = server.handle({ method: 'GET', path: `${path}/a` })
  assert.deepEqual([(await writing).status, (await reading).status], [201, 200])
})

for (const failurePolicy of ['Fail', 'Ignore']) {
  test(`a webhook is aborted after timeoutSeconds, with failurePolicy ${failurePolicy}`, async () => {
    const clock = new FakeClock()
    const { callWebhook, next } = waitingHook()
    const { lines, log } = keptLog()
    const server = new ApiServer({ clock, callWebhook, log })
    await configure(server, VALIDATING, { timeoutSeconds: 3, failurePolicy })
    const writing = send(server, 'POST', CONFIG_MAPS, configMap('a'))
    const [client, , { timeoutMs, signal }] = await next()
    assert.deepEqual([client.url, timeoutMs], ['https://127.0.0.1:9443/hook', 3000])
    await clock.advance(2999)
    assert.equal(signal.aborted, false)
    await clock.advance(1)
    assert.equal(signal.aborted, true)
    const { status, body } = await writing
    if (failurePolicy === 'Ignore') {
      assert.deepEqual([status, lines], [201, ['warn Ignoring a webhook that could not be called']])
    } else {
      assert.equal(
        body.message,
        'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: ' +
          'Post "https://127.0.0.1:9443/hook?timeout=3s": context deadline exceeded',
      )
    }
    assert.equal((await send(server, 'GET', `${CONFIG_MAPS}/a`)).status, failurePolicy === 'Ignore' ? 200 : 404)
  })
}

test('an answered webhook leaves no timer and no listener', async () => {
  const clock = new FakeClock()
  const server = new ApiServer({ clock, callWebhook: (_, body) => Promise.resolve(allow(body)) })
  const { controller, listeners } = countedSignal()
  await configure(server, VALIDATING)
  await send(server, 'POST', CONFIG_MAPS, configMap('a'), controller)
  assert.deepEqual([clock.pending, listeners()], [0, 0])
})

test('an aborted request aborts the conversion that it waits for', async () => {
  const stop = new AbortController()
  let isAborted = false
  const server = new ApiServer({
    clock: new FakeClock(),
    callWebhook: (_client, _body, { signal }) => {
      stop.abort(new Error('enough'))
      isAborted = signal.aborted
      return new Promise(() => {})
    },
  })
  await defineBars(server)
  await send(server, 'POST', BARS, bar('x', '1'))
  await assert.rejects(send(server, 'GET', `${BARS_V2}/x`, undefined, stop), /enough/)
  assert.equal(isAborted, true)
})

test('a dry run is refused if a stored configuration has a webhook with side effects', async () => {
  const first = new ApiServer({ clock: new FakeClock() })
  await configure(first, VALIDATING)
  // Such a configuration can no longer be created.
  const withEffects = (effects: string): SavedState =>
    JSON.parse(JSON.stringify(first.save()).replace('"sideEffects":"None"', `"sideEffects":"${effects}"`))
  const state = withEffects('Some')
  const callWebhook: CallWebhook = (_, body) => Promise.resolve(allow(body))
  const server = new ApiServer({ clock: new FakeClock(), state, callWebhook })
  const { status, body } = await send(server, 'POST', `${CONFIG_MAPS}?dryRun=All`, configMap('a'))
  const message = 'admission webhook "hook.example.com" does not support dry run'
  assert.deepEqual([status, body.reason, body.message], [400, 'BadRequest', message])
  assert.equal((await send(server, 'POST', CONFIG_MAPS, configMap('a'))).status, 201)
  const other = new ApiServer({ clock: new FakeClock(), state: withEffects('NoneOnDryRun'), callWebhook })
  assert.equal((await send(other, 'POST', `${CONFIG_MAPS}?dryRun=All`, configMap('a'))).status, 201)
})

test('of webhooks of one name in two configurations, each is called again by its own policy', async () => {
  const called: string[] = []
  const server = new ApiServer({
    clock: new FakeClock(),
    callWebhook: ({ url = '' }, body) => {
      called.push(url)
      const patch = btoa(JSON.stringify([{ op: 'add', path: '/data', value: { a: 'b' } }]))
      return Promise.resolve(allow(body, url.endsWith('changes') ? { patchType: 'JSONPatch', patch } : {}))
    },
  })
  for (const [url, reinvocationPolicy] of [['https://a', 'IfNeeded'], ['https://b/changes', 'Never']] as const) {
    await configure(server, MUTATING, { clientConfig: { url }, reinvocationPolicy })
  }
  await must(server, 'POST', CONFIG_MAPS, configMap('a'))
  assert.deepEqual(called, ['https://a', 'https://b/changes', 'https://a'])
})

test('other requests run while one waits for a webhook, and it sees what they write', async () => {
  const { callWebhook, next } = waitingHook()
  const server = new ApiServer({ clock: new FakeClock(), callWebhook })
  await configure(server, VALIDATING)
  const first = send(server, 'POST', CONFIG_MAPS, configMap('a'))
  const second = send(server, 'POST', CONFIG_MAPS, configMap('a'))
  const [slow, quick] = [await next(), await next()]
  quick.answer()
  assert.equal((await second).status, 201)
  slow.answer()
  const { status, body } = await first
  assert.deepEqual([status, body.reason], [409, 'AlreadyExists'])
})

test('a webhook that writes the object which it reviews ends in a conflict', async () => {
  let calls = 0
  const server: ApiServer = new ApiServer({
    clock: new FakeClock(),
    callWebhook: async (_, body) => {
      const patch = { data: { calls: String(++calls) } }
      if (!JSON.parse(body).request.dryRun) await send(server, 'PATCH', `${CONFIG_MAPS}/a?fieldManager=hook`, patch)
      return allow(body)
    },
  })
  await send(server, 'POST', CONFIG_MAPS, configMap('a'))
  await configure(server, VALIDATING, {
    objectSelector: { matchExpressions: [{ key: 'reviewed', operator: 'Exists' }] },
  })
  const change = { metadata: { labels: { reviewed: 'yes' } } }
  const { status, body } = await send(server, 'PATCH', `${CONFIG_MAPS}/a`, change)
  assert.deepEqual([status, body.reason, calls], [409, 'Conflict', 10])
})

test('a denial in the middle of a collection keeps what is deleted', async () => {
  const server = new ApiServer({
    clock: new FakeClock(),
    callWebhook: (_, body) =>
      Promise.resolve(allow(body, { allowed: JSON.parse(body).request.oldObject.metadata.name !== 'l' })),
  })
  for (const name of 'abcdefghijklm') await send(server, 'POST', CONFIG_MAPS, configMap(name))
  await configure(server, VALIDATING)
  assert.equal((await send(server, 'DELETE', CONFIG_MAPS)).status, 400)
  const { body } = await send(server, 'GET', CONFIG_MAPS)
  assert.deepEqual(body.items.map((each: Body) => each.metadata.name), ['l', 'm'])
})

test('a watch waits for its conversion webhook, sends no bookmark meanwhile, and keeps the order', async () => {
  const clock = new FakeClock()
  let isDown = false
  const callWebhook: CallWebhook = (_, body) => isDown ? down() : Promise.resolve(convert(body))
  const server = new ApiServer({ clock, callWebhook })
  await defineBars(server)
  const next = await watching(server, `${BARS_V2}?allowWatchBookmarks=true&`)
  // The end of the initial events, of which there are none.
  assert.deepEqual(await next(1), ['BOOKMARK'])
  isDown = true
  await send(server, 'POST', BARS, bar('x', '1'))
  await send(server, 'POST', BARS, bar('y', '2'))
  await clock.advance(60_000)
  isDown = false
  await clock.advance(1000)
  assert.deepEqual(await next(2), ['ADDED x 1', 'ADDED y 2'])
  await clock.advance(60_000)
  assert.deepEqual(await next(1), ['BOOKMARK'])
  server.closeWatches()
})

test('the conditions of a webhook are evaluated by a restored server, too', async () => {
  const calls: string[] = []
  const callWebhook: CallWebhook = (_, body) => {
    calls.push(JSON.parse(body).request.name)
    return Promise.resolve(allow(body))
  }
  const first = new ApiServer({ clock: new FakeClock(), callWebhook })
  const matchConditions = [{ name: 'a', expression: "object.metadata.name == 'a'" }]
  await configure(first, VALIDATING, { matchConditions })
  const server = new ApiServer({ clock: new FakeClock(), callWebhook, state: first.save() })
  for (const name of ['a', 'b']) await send(server, 'POST', CONFIG_MAPS, configMap(name))
  assert.deepEqual(calls, ['a'])
})

test('by default webhooks are called over TLS, with the certificate verified', async () => {
  const authority = await createAuthority()
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }
  const { cert, key } = await authority.issue({ commonName: 'hook', ...names, usage: 'server' })
  const requests: ServerRequest[] = []
  const hook = await serveHttps({
    host: '127.0.0.1',
    port: 0,
    cert,
    key,
    maxBodyBytes: 1_000_000,
    handle: (request) => {
      requests.push(request)
      const { status, body } = allow(new TextDecoder().decode(request.body))
      return Promise.resolve(answerText(status, body, 'application/json'))
    },
    refuseBody: () => answerText(413, ''),
    onError: (error) => assert.fail(String(error)),
  })
  const url = `https://127.0.0.1:${hook.port}/hook`
  const clients: [Body, RegExp | undefined][] = [
    [{ url, caBundle: encodeBase64(authority.ca) }, undefined],
    [{ url, caBundle: encodeBase64((await createAuthority()).ca) }, /its certificate is not signed by a CA/],
    [{ url, caBundle: encodeBase64('no certificate') }, /unable to load root certificates/],
    [{ service: { namespace: 'default', name: 'svc' } }, /"svc" not found: .* set clientConfig\.url instead$/],
  ]
  try {
    for (const [clientConfig, expected] of clients) {
      const server = new ApiServer()
      await configure(server, VALIDATING, { clientConfig })
      const { status, body } = await send(server, 'POST', CONFIG_MAPS, configMap('a'))
      assert.equal(status, expected ? 500 : 201, JSON.stringify(body))
      if (expected) assert.match(body.message, expected)
    }
    assert.equal(requests.length, 1)
    const { path, headers, method } = requests[0]!
    assert.deepEqual([method, path, headers['content-type']], ['POST', '/hook?timeout=10s', 'application/json'])
    assert.equal(headers['user-agent'], 'kube-apiserver-admission')
  } finally {
    await hook.close()
  }
})
