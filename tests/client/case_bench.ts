/** The kinds of the client's cases, and a client whose cache the case fills. */
import { Api } from '../../lib/client/api.ts'
import { ApplyCache } from '../../lib/client/apply_cache.ts'
import type { CachingReader, Client, WriteRecord } from '../../lib/client/client.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { LiveReader } from '../../lib/client/live_reader.ts'
import type { CustomObject, DesiredMeta, KubeObject } from '../../lib/core/objects.ts'
import type { AnyResource, Resource } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import { definitionOf } from '../tools/definitions.ts'
import { type Recorder, recorder } from './transports.ts'

interface FooSpec {
  size: number
  list?: string[]
}
interface FooStatus {
  phase?: string | undefined
  count?: number | undefined
  nested?: { a?: string | undefined } | undefined
  list?: readonly string[] | undefined
  conditions?: readonly { readonly type: string; readonly message?: string }[] | undefined
}
export type Foo = CustomObject<FooSpec, FooStatus, string>
export interface ConfigMap extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly namespace: string }
  readonly data?: Readonly<Record<string, string>>
}

export const FOO: Resource<Foo, { metadata: DesiredMeta; spec: FooSpec }> = {
  group: 'cases.dev',
  version: 'v1',
  kind: 'Foo',
  plural: 'foos',
  scope: 'Namespaced',
}
export const CONFIG_MAP: Resource<ConfigMap, { metadata: DesiredMeta; data?: Record<string, string | undefined> }> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  scope: 'Namespaced',
}
export const SERVICE: Resource<KubeObject & { spec?: { ports?: { targetPort?: unknown }[] } }, object> = {
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  scope: 'Namespaced',
}
export const CLUSTER_ROLE: Resource<KubeObject, object> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  scope: 'Cluster',
}
export const MISSING: Resource<KubeObject & { metadata: { namespace: string } }, object> = {
  group: 'cases.dev',
  version: 'v1',
  kind: 'Nope',
  plural: 'nopes',
  scope: 'Namespaced',
}

export const NAMESPACE: AnyResource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  scope: 'Cluster',
}

/** The CRD of Foo. */
export const FOO_CRD: object = definitionOf({
  ...{ group: 'cases.dev', scope: 'Namespaced' },
  version: {
    subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.count' } },
  },
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['size'],
        properties: {
          size: { type: 'integer', minimum: 0 },
          wide: { type: 'integer', format: 'int64' },
          list: { type: 'array', items: { type: 'string' } },
        },
      },
      status: {
        type: 'object',
        properties: {
          phase: { type: 'string' },
          count: { type: 'integer' },
          nested: { type: 'object', properties: { a: { type: 'string' } } },
          list: { type: 'array', items: { type: 'string' } },
          conditions: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['type'],
            items: {
              type: 'object',
              required: ['type'],
              properties: { type: { type: 'string' }, message: { type: 'string' } },
            },
          },
        },
      },
    },
  },
})

/** The parameters of a case. */
export interface CaseContext {
  readonly transport: Transport
  readonly namespace: string
}

export interface Bench {
  readonly client: Client
  readonly network: Recorder
  readonly writes: WriteRecord[]
  /** The objects in this client's cache; set by the case. */
  readonly cached: Map<string, KubeObject>
}

/**
 * Returns a client that reads Foo, ConfigMap and Service from a cache that the case fills, and other kinds from the
 * server.
 */
export function bench({ transport }: CaseContext, caches = true): Bench {
  const network = recorder(transport)
  const api = new Api({ transport: network.transport })
  const cached = new Map<string, KubeObject>()
  const writes: WriteRecord[] = []
  const live = new LiveReader(api)
  const isWatched = (resource: AnyResource): boolean =>
    caches && [FOO.kind, CONFIG_MAP.kind, SERVICE.kind].includes(resource.kind)
  const reader: CachingReader = {
    watches: isWatched,
    get: async (resource, ref) => {
      if (!isWatched(resource)) return await live.get(resource, ref)
      return cached.get(('metadata' in ref ? ref.metadata : ref).name) as never
    },
    list: (resource, options) => live.list(resource, options),
    lookup: (...call) => live.lookup(...call),
  }
  const client = new KubeClient({
    api,
    reader: () => reader,
    fieldManager: 'cases',
    fieldValidation: 'Strict',
    onWrite: (write) => writes.push(write),
    applied: new ApplyCache(),
  })
  return { client, network, writes, cached }
}

export const results = ({ writes }: Bench): string[] =>
  writes.splice(0).map(({ verb, kind, result }) => `${verb} ${kind} ${result}`)
export const methods = ({ network }: Bench): string[] => network.take().map((line) => line.split(' ')[0]!)

export interface Case {
  readonly name: string
  /** Why the case runs on a real API server only. */
  readonly realOnly?: string
  run(context: CaseContext): Promise<void>
}

/** Returns cases by their names. Each gets a bench of its own, by default with caches. */
export function casesOf(
  runs: Readonly<Record<string, (it: Bench, context: CaseContext) => Promise<void>>>,
  { caches, realOnly }: { readonly caches?: false; readonly realOnly?: string } = {},
): readonly Case[] {
  return Object.entries(runs).map(([name, run]) => ({
    name,
    ...(realOnly !== undefined && { realOnly }),
    run: (context) => run(bench(context, caches), context),
  }))
}
