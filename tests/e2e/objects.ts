/** Creates objects of any kind, and tokens, as an administrator. */
import assert from 'node:assert/strict'
import type { Transport } from '../../mod.ts'
import type { JsonObject } from '../../lib/apiserver/model/json.ts'

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

const PLURALS: Readonly<Record<string, string>> = { NetworkPolicy: 'networkpolicies' }

/** Creates an object as `kubectl create --validate=strict` does. `mayExist`: a conflict with a stored one is no error. */
export async function createObject(transport: Transport, object: object, mayExist = false): Promise<JsonObject> {
  const { apiVersion, kind, metadata: { namespace } } = object as Manifest
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const place = namespace === undefined ? '' : `/namespaces/${namespace}`
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`
  return await post(
    transport,
    `${root}${place}/${plural}?fieldValidation=Strict`,
    object,
    mayExist ? [201, 409] : [201],
  )
}

/** Resolves when a custom kind is served, which is a moment after its definition. */
export async function untilServed(transport: Transport, path: string): Promise<void> {
  // Each attempt takes a round trip. A loaded server takes seconds.
  for (const untilMs = performance.now() + 30_000; performance.now() < untilMs;) {
    const { status, body } = await transport({ method: 'GET', path })
    await body.text()
    if (status === 200) return
  }
  assert.fail(`${path} was never served`)
}

/** Creates a token of a ServiceAccount. `secret`: the name of one in whose lifetime it is valid. */
export async function tokenOf(transport: Transport, namespace: string, name: string, secret?: string): Promise<string> {
  const boundObjectRef = secret === undefined ? undefined : { apiVersion: 'v1', kind: 'Secret', name: secret }
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { boundObjectRef } }
  return (await post(transport, path, request) as { status: { token: string } }).status.token
}

async function post(
  transport: Transport,
  path: string,
  object: object,
  expected: readonly number[] = [201],
): Promise<JsonObject> {
  const headers = { 'content-type': 'application/json' }
  const { status, body } = await transport({ method: 'POST', path, headers, body: JSON.stringify(object) })
  const answer = await body.text()
  assert.ok(expected.includes(status), answer)
  return JSON.parse(answer) as JsonObject
}
