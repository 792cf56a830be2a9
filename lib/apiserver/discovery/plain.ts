/** Answers requests that are not for resources: discovery, version, health, OpenAPI. */
import type { HttpResponse } from '../../core/transport.ts'
import type { Context } from '../context/context.ts'
import { nodeCrypto } from '../../runtime/os/builtins.ts'
import {
  type AcceptedForm,
  acceptedForm,
  answerEmpty,
  answerJson,
  answerPageNotFound,
  answerText,
  negotiate,
} from '../wire/respond.ts'
import { aggregatedDiscovery, apiGroup, coreVersions, groupList, resourceList } from './discovery.ts'
import { answerHealth, CHECKS } from './health.ts'
import type { JsonObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { answerOpenApi } from './openapi/answer.ts'
import type { Call } from '../model/routes.ts'
import { methodNotAllowed, pathNotFound } from '../model/status.ts'

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

export function answerPlain(context: Context, call: Call, path: string): HttpResponse {
  // A path with a slash at its end is another one here, but not in discovery.
  const isExact = path === '/' || !call.path.endsWith('/')
  const answer = isExact ? answerOpenApi(context, call, path) ?? answerHealth(call, path) : undefined
  if (answer) return answer
  if (path === '/openapi/v3') return answerEmpty(404)
  if (path === '/') return answerIndented({ paths: pathsOf(context.kinds.all()) })
  if (path === '/version') {
    checkMethod(call)
    negotiate(call.headers['accept'], { supports: () => true, media: ['application/json'], by: 'router' })
    return answerIndented(VERSION)
  }
  return answerDiscovery(context, call, path)
}

/** The real server indents these documents for every client. */
function answerIndented(document: JsonObject): HttpResponse {
  return answerText(200, JSON.stringify(document, null, 2), 'application/json')
}

function checkMethod({ method }: Call): void {
  if (method !== 'GET') throw methodNotAllowed()
}

/** Returns the paths that GET / lists. */
function pathsOf(kinds: readonly Kind[]): string[] {
  const named = kinds.filter(({ group }) => group !== '')
  return [
    '/api',
    '/api/v1',
    '/apis',
    '/apis/',
    ...new Set(named.map(({ group }) => `/apis/${group}`)),
    ...new Set(named.map(({ group, version }) => `/apis/${group}/${version}`)),
    ...Object.entries(CHECKS).flatMap(([path, checks]) => [path, ...checks.map((check) => `${path}/${check}`)]),
    '/openapi/v2',
    '/openapi/v3',
    '/openapi/v3/',
    '/version',
  ].sort()
}

/**
 * Answers discovery. Documents of built-in groups come from the router of the real server, which refuses other methods;
 * the others come from handlers, which ignore the method.
 */
function answerDiscovery(context: Context, call: Call, path: string): HttpResponse {
  const kinds = context.kinds.all()
  const [, root, group, version, ...rest] = path.split('/')
  if (root === 'api' && group === undefined) {
    return answerRoot(call, kinds, true) ??
      answerDocument(call, coreVersions(call.headers['host'] ?? 'in.memory'), 'router')
  }
  if (root === 'apis' && group === undefined) {
    return answerRoot(call, kinds, false) ?? answerDocument(call, groupList(kinds), 'handler')
  }
  if (root === 'api' && version === undefined) {
    const found = resourceList(kinds, '', group!)
    if (!found) throw pathNotFound()
    return answerDocument(call, found, 'router')
  }
  if (root !== 'apis' || rest.length > 0) return answerPageNotFound()
  const isBuiltin = kinds.some((kind) => kind.group === group && !kind.custom)
  const found = version === undefined ? apiGroup(kinds, group!) : resourceList(kinds, group!, version)
  if (!found && isBuiltin) throw pathNotFound()
  if (!found) return answerPageNotFound()
  return answerDocument(call, found, version !== undefined && isBuiltin ? 'router' : 'handler')
}

function answerDocument(call: Call, document: JsonObject, by: 'router' | 'handler'): HttpResponse {
  if (by === 'router') checkMethod(call)
  negotiate(call.headers['accept'], { supports: () => false, by })
  return answerJson(200, JSON.stringify(document), call.warnings)
}

const AGGREGATED = 'g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Returns /api or /apis as one aggregated document if the client prefers it. */
function answerRoot(call: Call, kinds: readonly Kind[], core: boolean): HttpResponse | undefined {
  const { accept } = call.headers
  const form = accept ? acceptedForm(accept, isAggregated) : undefined
  if (!form || !isAggregated(form)) return undefined
  const json = JSON.stringify(aggregatedDiscovery(kinds, core))
  const hash = nodeCrypto().createHash('sha512').update(json).digest('hex').toUpperCase()
  const headers = { etag: `"${hash}"`, vary: 'Accept', 'cache-control': 'public' }
  if (call.headers['if-none-match'] === headers.etag) return answerEmpty(304, headers)
  const answer = answerJson(200, json, call.warnings, `application/json;${AGGREGATED}`)
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

function isAggregated({ as, group, version }: AcceptedForm): boolean {
  return as === 'APIGroupDiscoveryList' && group === 'apidiscovery.k8s.io' && version === 'v2'
}
