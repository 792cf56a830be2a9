/** Answers requests that are not for resources: discovery, version, health, OpenAPI. */
import type { HttpResponse } from '../../core/transport.ts'
import type { Backend } from '../backend.ts'
import { apiVersionOf, type Kind } from '../kinds.ts'
import { definition, schemaJson } from '../schema/schema.ts'
import { aggregatedDiscovery, apiGroup, coreVersions, documentNames, groupList, resourceList } from './discovery.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'
import { answerJson, answerText } from './respond.ts'
import type { Call } from './routes.ts'
import { methodNotAllowed } from './status.ts'

/** The body of /version: the Kubernetes version that this server emulates. */
const VERSION: JsonObject = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.3+kubeloop',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: '',
}

export function answerPlain(backend: Backend, call: Call, path: string): HttpResponse {
  const kinds = backend.kinds.all()
  if (call.method !== 'GET') {
    if (path.startsWith('/api')) throw methodNotAllowed()
    return answerText(404, '404 page not found\n')
  }
  const openapi = answerOpenApi(backend, call, path)
  if (openapi) return openapi
  if (path === '/healthz' || path === '/livez' || path === '/readyz') return answerText(200, 'ok')
  if (path === '/version') return answerJson(200, JSON.stringify(VERSION))
  if (path === '/') {
    return answerJson(
      200,
      JSON.stringify({
        paths: ['/api', '/api/v1', '/apis', '/healthz', '/livez', '/openapi/v2', '/openapi/v3', '/readyz', '/version'],
      }),
    )
  }
  const wantsAggregated = /application\/json;[^,]*g=apidiscovery\.k8s\.io;v=v2;as=APIGroupDiscoveryList/.test(
    call.headers['accept'] ?? '',
  )
  if ((path === '/api' || path === '/apis') && wantsAggregated) {
    const type = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    return answerJson(200, JSON.stringify(aggregatedDiscovery(kinds, path === '/api')), call.warnings, type)
  }
  if (path === '/api') return answerJson(200, JSON.stringify(coreVersions(call.headers['host'] ?? 'in.memory')))
  if (path === '/apis') return answerJson(200, JSON.stringify(groupList(kinds)))
  const found = discoveryOf(backend, path)
  return found ? answerJson(200, JSON.stringify(found)) : answerText(404, '404 page not found\n')
}

function discoveryOf(backend: Backend, path: string): JsonObject | undefined {
  const kinds = backend.kinds.all()
  const parts = path.split('/').slice(1)
  if (parts[0] === 'api' && parts.length === 2) return resourceList(kinds, '', parts[1]!)
  if (parts[0] !== 'apis' || parts[1] === '') return undefined
  if (parts.length === 2) return apiGroup(kinds, parts[1]!)
  return parts.length === 3 ? resourceList(kinds, parts[1]!, parts[2]!) : undefined
}

/** Answers a path below /openapi; returns undefined for any other path. */
function answerOpenApi(backend: Backend, call: Call, path: string): HttpResponse | undefined {
  if (path === '/openapi/v2') return undefined
  if (!path.startsWith('/openapi/v3')) return undefined
  const kinds = backend.kinds.all()
  const documents = documentNames(kinds)
  if (path === '/openapi/v3') {
    const paths = Object.fromEntries(
      documents.map((name) => [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${backend.store.revision}` }]),
    )
    return answerJson(200, JSON.stringify({ paths }), call.warnings)
  }
  const name = path.slice('/openapi/v3/'.length)
  if (!documents.includes(name)) return answerText(404, '404 page not found\n')
  return answerJson(
    200,
    JSON.stringify(documentOf(kinds.filter((kind) => documentNames([kind])[0] === name))),
    call.warnings,
  )
}

/** Returns an OpenAPI v3 document, sufficient for `kubectl explain` and server-side validation. */
function documentOf(kinds: readonly Kind[]): JsonObject {
  const schemas: JsonObject = {}
  for (const kind of kinds) {
    const own = kind.custom ? schemaJson(kind.schema) : schemaJson(definition(kind.definition))
    const names = [{ group: kind.group, version: kind.version, kind: kind.kind }]
    schemas[longName(kind.definition)] = {
      ...(withRefs(own, schemas) as JsonObject),
      'x-kubernetes-group-version-kind': names,
    }
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.3' },
    paths: pathsOf(kinds),
    components: { schemas },
  }
}

/** Expands a short name, such as `core.v1.Pod`, to the name in the real documents. */
function longName(short: string): string {
  if (short.startsWith('meta.')) return `io.k8s.apimachinery.pkg.apis.${short}`
  if (short.startsWith('apiextensions.')) return `io.k8s.apiextensions-apiserver.pkg.apis.${short}`
  return /^[a-z]+\.v\d+\.[A-Z]/.test(short) ? `io.k8s.api.${short}` : short
}

/** Returns a copy with OpenAPI references, and adds the referenced definitions to `schemas`. */
function withRefs(value: Json | undefined, schemas: JsonObject): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => withRefs(item, schemas)!)
  if (!isObject(value)) return value
  const { $ref, format, keepEmpty: _kept, omitZero: _zero, objectAs: _objectAs, ...rest } = value
  const result: JsonObject = {}
  for (const [name, child] of Object.entries(rest)) result[name] = withRefs(child, schemas)
  if (typeof $ref === 'string') {
    const name = longName($ref)
    if (!Object.hasOwn(schemas, name)) {
      schemas[name] = {}
      schemas[name] = withRefs(schemaJson(definition($ref)), schemas)
    }
    return { ...result, allOf: [{ $ref: `#/components/schemas/${name}` }] }
  }
  return { ...result, ...typeJson(format) }
}

function typeJson(format: Json | undefined): JsonObject {
  switch (format) {
    case undefined:
      return {}
    case 'quantity':
      return { type: 'string' }
    case 'micro-time':
      return { format: 'date-time' }
    case 'int-or-string':
      return { format, oneOf: [{ type: 'integer' }, { type: 'string' }] }
    default:
      return { format }
  }
}

/** Returns the operations that kubectl reads: the kinds that each path creates and patches, and their parameters. */
function pathsOf(kinds: readonly Kind[]): JsonObject {
  const paths: JsonObject = {}
  for (const kind of kinds) {
    const gvk = { group: kind.group, version: kind.version, kind: kind.kind }
    const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${apiVersionOf(kind)}`
    const collection = `${root}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.plural}`
    const operation = (action: string): JsonObject => ({
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': gvk,
      responses: { 200: { description: 'OK' } },
      parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
        name,
        in: 'query',
        schema: { type: 'string' },
      })),
    })
    paths[collection] = { get: { ...operation('list') }, post: operation('post') }
    paths[`${collection}/{name}`] = {
      get: operation('get'),
      put: operation('put'),
      patch: operation('patch'),
      delete: operation('delete'),
    }
  }
  return paths
}
