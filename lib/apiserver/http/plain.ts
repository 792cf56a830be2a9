/** Answers requests that are not for resources: discovery, version, health, OpenAPI. */
import type { HttpResponse } from '../../core/transport.ts'
import type { Backend } from '../backend.ts'
import { aggregatedDiscovery, apiGroup, coreVersions, groupList, resourceList } from './discovery.ts'
import type { JsonObject } from '../json.ts'
import { answerOpenApi } from './openapi.ts'
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
