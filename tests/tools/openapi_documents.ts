/**
 * Writes lib/apiserver/discovery/openapi/data.ts from a real API server's /openapi/v3: all its documents, compressed.
 *
 * Schemas are kept once for all documents, and equal parts of paths once. The documents of two definitions that this
 * program creates, and deletes afterwards, are the templates for custom kinds.
 *
 * Run: node tests/tools/openapi_documents.ts
 */
import { writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants } from 'node:zlib'
import { isDeepStrictEqual } from 'node:util'
import {
  CLUSTER_TEMPLATE,
  NAMESPACED_TEMPLATE,
  TEMPLATE_NAMES,
} from '../../lib/apiserver/discovery/openapi/template.ts'
import { type ApiServer, withApiServer } from './api_server.ts'
import { CRDS, definitionOf } from './definitions.ts'

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

function templateDefinition(group: string, scope: 'Cluster' | 'Namespaced'): unknown {
  const { version, kind, listKind, plural } = TEMPLATE_NAMES
  return definitionOf({
    ...{ group, scope, kind, plural, versions: [version] },
    spec: { names: { plural, kind, listKind } },
    version: {
      subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
    },
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
  })
}

async function main({ version, ask }: ApiServer): Promise<void> {
  type Index = Record<string, { serverRelativeURL: string }>
  const readIndex = async (): Promise<Index> => (await ask<{ paths: Index }>('/openapi/v3')).paths
  const templates = [[NAMESPACED_TEMPLATE, 'Namespaced'], [CLUSTER_TEMPLATE, 'Cluster']] as const
  const before = await readIndex()
  for (const [group, scope] of templates) await ask(CRDS, 'POST', templateDefinition(group, scope))
  const wanted = templates.map(([group]) => `apis/${group}/${TEMPLATE_NAMES.version}`)
  let index = before
  while (!wanted.every((name) => index[name])) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    index = await readIndex()
  }
  const documents = new Map<string, Document>()
  for (const name of [...Object.keys(before).sort(), ...wanted]) {
    documents.set(name, await ask<Document>(index[name]!.serverRelativeURL))
  }
  const file = new URL('../../lib/apiserver/discovery/openapi/data.ts', import.meta.url)
  await writeFile(file, dataModule(documents, version))
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

await withApiServer(main)
