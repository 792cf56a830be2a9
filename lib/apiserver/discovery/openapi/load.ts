/** Decompresses the documents of the real API server. */
import { nodeZlib } from '../../../runtime/os/builtins.ts'
import { isObject, type Json, type JsonObject } from '../../model/json.ts'
import { remembered } from '../../model/remembered.ts'
import { OPENAPI_DATA, OPENAPI_DIGEST } from './data.ts'

/** A document of the real API server. Its parts are shared with other documents: never change them. */
export interface RealDocument {
  /** Such as `apis/apps/v1`. */
  readonly name: string
  readonly openapi: string
  readonly info: JsonObject
  readonly paths: Readonly<Record<string, JsonObject>>
  /** The components without the schemas. */
  readonly components: JsonObject
  /** The names of its schemas. */
  readonly schemas: readonly string[]
  /** The schemas that differ from those of other documents. */
  readonly own: JsonObject
}

export interface RealDocuments {
  /** Changes with the data. */
  readonly digest: string
  readonly names: ReadonlySet<string>
  /** Returns a document. Throws TypeError if the server does not have it. */
  document(name: string): RealDocument
  readonly schemas: Readonly<Record<string, JsonObject>>
}

interface Data {
  /** The parts that occur more than once. Each only contains parts before it. */
  readonly shared: readonly Json[]
  readonly documents: readonly JsonObject[]
  readonly schemas: Readonly<Record<string, JsonObject>>
}

/** Resolves with the documents. */
export async function loadDocuments(): Promise<RealDocuments> {
  const { shared, documents, schemas } = JSON.parse(await inflate(OPENAPI_DATA)) as Data
  const parts: Json[] = []
  for (const each of shared) parts.push(withParts(each, parts))
  const written = new Map(documents.map((each) => [each['name'] as string, each]))
  const read = new Map<string, RealDocument>()
  return {
    digest: OPENAPI_DIGEST,
    names: new Set(written.keys()),
    schemas,
    document: (name) =>
      remembered(read, name, () => {
        const each = written.get(name)
        if (!each) throw new TypeError(`Cannot find the OpenAPI document "${name}": regenerate openapi/data.ts`)
        return withParts(each, parts) as unknown as RealDocument
      }),
  }
}

/** Decompresses outside the event loop, which it would hold for 10 ms. */
function inflate(base64: string): Promise<string> {
  const binary = atob(base64)
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0))
  return new Promise((resolve, reject) => {
    nodeZlib().brotliDecompress(bytes, (error, result) => {
      if (error) reject(error)
      else resolve(new TextDecoder().decode(result))
    })
  })
}

/** Returns the value with its shared parts in place, in the form that tests/tools/openapi_documents.ts writes. */
function withParts(value: Json, shared: readonly Json[]): Json {
  if (Array.isArray(value)) return value.map((item) => withParts(item, shared))
  if (!isObject(value)) return value
  const { $: index } = value
  if (typeof index === 'number') return shared[index]!
  const result: JsonObject = {}
  for (const [key, child] of Object.entries(value)) result[key] = withParts(child!, shared)
  return result
}
