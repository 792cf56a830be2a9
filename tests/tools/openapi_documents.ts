/**
 * Writes lib/apiserver/discovery/openapi/data.ts from a real API server's /openapi/v3: all its documents, compressed.
 *
 * Schemas are kept once for all documents, and equal parts of paths once. The documents of two definitions that this
 * program creates, and deletes afterwards, are the templates for custom kinds.
 *
 * Run: node tests/tools/openapi_documents.ts https://127.0.0.1:6443 TOKEN CA.pem
 */
import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants } from 'node:zlib'
import { isDeepStrictEqual } from 'node:util'
import {
  CLUSTER_TEMPLATE,
  NAMESPACED_TEMPLATE,
  TEMPLATE_NAMES,
} from '../../lib/apiserver/discovery/openapi/template.ts'

interface Document {
  readonly openapi: string
  readonly info: unknown
  readonly paths: Record<string, unknown>
  readonly components: { schemas?: Record<string, unknown>; securitySchemes?: unknown }
}

/** Keeps equal parts once: returns values in which each repeated object or list is `{ $: index }` into `shared`. */
function share(values: readonly unknown[]): { readonly shared: unknown[]; readonly values: unknown[] } {
  const counts = new Map<string, number>()
  const count = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const text = JSON.stringify(value)
    const before = counts.get(text) ?? 0
    counts.set(text, before + 1)
    if (before === 0) { for (const child of Object.values(value)) count(child) }
  }
  for (const value of values) count(value)
  const shared: unknown[] = []
  const places = new Map<string, number>()
  const write = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const text = JSON.stringify(value)
    const known = places.get(text)
    if (known !== undefined) return { $: known }
    const result = Array.isArray(value)
      ? value.map(write)
      : Object.fromEntries(Object.entries(value).map(([key, child]) => [key, write(child)]))
    if (text.length < SMALLEST || (counts.get(text) ?? 0) < 2) return result
    places.set(text, shared.length)
    shared.push(result)
    return { $: shared.length - 1 }
  }
  return { values: values.map(write), shared }
}

const SMALLEST = 20

type Send = (method: string, path: string, body?: unknown) => Promise<unknown>

function sender(server: string, token: string, ca: Buffer): Send {
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json',
      }
      const sent = request(new URL(path, server), { method, ca, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          if (response.statusCode! < 300) resolve(JSON.parse(text))
          else reject(new Error(`Cannot ${method} ${path}: ${response.statusCode} ${text}`))
        })
      }).on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
}

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

function templateDefinition(group: string, scope: string): unknown {
  const { version, kind, listKind, plural } = TEMPLATE_NAMES
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind, listKind },
      versions: [{
        name: version,
        served: true,
        storage: true,
        subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { n: { type: 'integer' } } },
              status: { type: 'object', properties: { n: { type: 'integer' } } },
              // Its generated fields are the template for embedded objects.
              embedded: {
                type: 'object',
                'x-kubernetes-embedded-resource': true,
                'x-kubernetes-preserve-unknown-fields': true,
              },
            },
          },
        },
      }],
    },
  }
}

async function indexOf(send: Send): Promise<Record<string, { serverRelativeURL: string }>> {
  return (await send('GET', '/openapi/v3') as { paths: Record<string, { serverRelativeURL: string }> }).paths
}

async function main(server: string, token: string, caPath: string): Promise<void> {
  const send = sender(server, token, await readFile(caPath))
  const templates = [[NAMESPACED_TEMPLATE, 'Namespaced'], [CLUSTER_TEMPLATE, 'Cluster']] as const
  const before = await indexOf(send)
  for (const [group, scope] of templates) await send('POST', CRDS, templateDefinition(group, scope))
  const wanted = templates.map(([group]) => `apis/${group}/${TEMPLATE_NAMES.version}`)
  let index = before
  while (!wanted.every((name) => index[name])) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    index = await indexOf(send)
  }
  const names = [...Object.keys(before).filter((name) => !/^apis\/[^/]*\.example\.com/.test(name)).sort(), ...wanted]
  const documents = new Map<string, Document>()
  for (const name of names) documents.set(name, await send('GET', index[name]!.serverRelativeURL) as Document)
  for (const [group] of templates) await send('DELETE', `${CRDS}/${TEMPLATE_NAMES.plural}.${group}`)
  const { gitVersion } = await send('GET', '/version') as { gitVersion: string }
  await writeFile(
    new URL('../../lib/apiserver/discovery/openapi/data.ts', import.meta.url),
    dataModule(documents, gitVersion),
  )
}

function dataModule(documents: ReadonlyMap<string, Document>, gitVersion: string): string {
  const schemas: Record<string, unknown> = {}
  const list: unknown[] = []
  for (const [name, document] of documents) {
    const own: Record<string, unknown> = {}
    for (const [schema, value] of Object.entries(document.components.schemas ?? {})) {
      if (schemas[schema] === undefined) schemas[schema] = value
      // DeleteOptions and WatchEvent name the group of their document.
      else if (!isDeepStrictEqual(schemas[schema], value)) own[schema] = value
    }
    const { schemas: all, ...components } = document.components
    list.push({ ...document, name, components, schemas: Object.keys(all ?? {}), own })
  }
  const { shared, values } = share(list)
  const text = JSON.stringify({ shared, documents: values, schemas })
  const compressed = brotliCompressSync(text, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
    },
  })
  console.log(
    `${documents.size} documents, ${Object.keys(schemas).length} schemas, ${text.length} bytes of JSON, ` +
      `${compressed.length} compressed`,
  )
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return `/**
 * The OpenAPI v3 documents of kube-apiserver ${gitVersion}: JSON, compressed with brotli, in base64. Read by documents.ts.
 *
 * Generated by tests/tools/openapi_documents.ts; do not edit.
 */
export const OPENAPI_DIGEST: string = '${digest}'
// deno-fmt-ignore
export const OPENAPI_DATA: string = '${compressed.toString('base64')}'
`
}

const [server, token, caPath] = process.argv.slice(2)
if (!server || !token || !caPath) {
  throw new TypeError('Cannot generate the documents: the arguments are SERVER TOKEN CA.pem')
}
await main(server, token, caPath)
