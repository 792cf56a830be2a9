/** A server that gets drawn requests: what is compared of its answers. */
import type { HttpRequest } from '../../../lib/core/transport.ts'
import { isFields } from '../../../lib/core/clone.ts'
import type { Answer, Api, Body } from '../api.ts'

/** A request with what is compared of its answer: the same text on each server. */
export interface Drawn {
  readonly request: string
  readonly answer: string
}

export interface Server {
  readonly api: Api
  send(method: HttpRequest['method'], path: string, body?: unknown, type?: string, accept?: string): Promise<Answer>
  /** Creates a definition. Resolves when it is served, or with why it is refused. */
  define(definition: Body): Promise<string | undefined>
  /** Resolves when earlier writes have taken effect. */
  settle(): Promise<void>
}

export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Returns a definition of one version with these properties. */
export function definition(group: string, singular: string, properties: Body): Body {
  const kind = singular.toUpperCase()
  const schema = { openAPIV3Schema: { type: 'object', properties } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: `${singular}s`, singular, kind, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema }],
    },
  }
}

/** `pause`: waits before a definition is asked for again. `settle`: see {@link Server.settle}. */
export function serverOf(api: Api, pause: () => Promise<void>, settle = pause): Server {
  const server: Server = {
    api,
    settle,
    // Some strategic patches end the connection of a real server.
    send: (method, path, body, type = 'application/json', accept = 'application/json') =>
      api.request(method, path, body, { type, accept }).catch(() => ({ status: 0, headers: {}, body: {} })),
    async define(created) {
      const { status, body } = await server.send('POST', DEFINITIONS, created)
      if (status !== 201) return String(body.message)
      const { group, names } = created.spec
      const path = `/apis/${group}/v1/namespaces/default/${names.plural}`
      while ((await server.send('GET', path)).status !== 200) await pause()
      return undefined
    },
  }
  return server
}

/** Returns why a request was refused: by its code, its reason and the fields at fault. */
export function refusal({ status, body }: Answer): string {
  const fields = (body?.details?.causes ?? []).map(({ field }: Body) => field)
  return `${status} ${body?.reason ?? ''} ${[...new Set(fields)].sort().join(' ')}`
}

/** Returns the JSON of a value, with its fields in order and without what differs between two servers. */
export function canonical(value: unknown): string {
  const inOrder = (_: string, each: unknown): unknown =>
    isFields(each) ? Object.fromEntries(Object.entries(each).filter(([name]) => !VARIABLE.test(name)).sort()) : each
  return JSON.stringify(value, inOrder)?.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'UID') ?? ''
}

const VARIABLE = /^(?:uid|time|creationTimestamp|resourceVersion|clusterIPs?|nodePort|healthCheckNodePort)$/
