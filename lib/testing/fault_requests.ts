/** Reads which request a fault is for: verb, kind, namespace and name. */
import type { HttpRequest } from '../core/transport.ts'

export const VERBS: readonly string[] = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
]

/** What a request is for. */
export interface RequestTarget {
  readonly verb: string
  readonly group: string | undefined
  readonly plural: string | undefined
  readonly namespace: string | undefined
  /** For a create, the name in the body; undefined for a generated one. */
  readonly name: string | undefined
}

export function targetOf(request: HttpRequest): RequestTarget {
  const { pathname } = new URL(request.path, 'http://localhost')
  const parts = pathname.split('/').filter(Boolean)
  const rest = parts[0] === 'api' ? parts.slice(2) : parts.slice(3)
  const inNamespace = rest[0] === 'namespaces' && rest.length > 2 && !['status', 'finalize'].includes(rest[2]!)
  const [plural, named] = inNamespace ? rest.slice(2) : rest
  const isCreated = request.method === 'POST' && named === undefined
  return {
    verb: verbOf(request, named !== undefined),
    group: parts[0] === 'api' ? '' : parts[1],
    plural,
    namespace: inNamespace ? rest[1] : undefined,
    name: isCreated ? nameIn(request.body) : named,
  }
}

function verbOf(request: HttpRequest, named: boolean): string {
  switch (request.method) {
    case 'GET':
      return named ? 'get' : isWatch(request) ? 'watch' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return named ? 'delete' : 'deletecollection'
  }
}

export function isWatch({ method, path }: HttpRequest): boolean {
  return method === 'GET' && new URL(path, 'http://localhost').searchParams.has('watch')
}

function nameIn(body: HttpRequest['body']): string | undefined {
  if (body === undefined) return undefined
  try {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
    return (JSON.parse(text) as { metadata?: { name?: string } } | null)?.metadata?.name
  } catch {
    return undefined // not JSON: the server refuses it
  }
}
