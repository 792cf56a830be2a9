/** Notifies a listener of writes to the embedded API. */
import type { HttpRequest, Transport } from '../../core/transport.ts'
import { Cluster } from 'kubeloop'
import { isReason } from '../../core/errors.ts'
import type { KubeObject } from '../../core/objects.ts'
import { CRD } from '../../core/resource.ts'
import type { DevEvent } from './events.ts'

export interface NetworkListener {
  /** Called after each successful write. */
  onWrite(): void
  /** Called when a CustomResourceDefinition is created, or its spec changes. */
  onDefinition(event: DevEvent & { readonly kind: 'definition' }): void
}

const CRD_PATH = /^\/apis\/apiextensions\.k8s\.io\/v1\/customresourcedefinitions(?:\/([^/?]+))?(?:\?|$)/

interface Definition extends KubeObject {
  readonly spec: { readonly versions: readonly { readonly name: string; readonly served: boolean }[] }
}

/** Wraps a transport to notify the listener. `cluster`: the name of the cluster, unless it is the operator's own. */
export async function listenTo(inner: Transport, listener: NetworkListener, cluster?: string): Promise<Transport> {
  const { api } = new Cluster({ name: 'kubeloop-dev', transport: inner })
  const generations = new Map<string, number | undefined>()
  // Definitions of the last run are not reported.
  for (const { metadata } of (await api.list({ resource: CRD })).items) {
    generations.set(metadata.name, metadata.generation)
  }

  const checkDefinition = async (name: string): Promise<void> => {
    let definition: Definition
    try {
      definition = (await api.get({ resource: CRD, name })) as Definition
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error
      generations.delete(name)
      return
    }
    const { generation } = definition.metadata
    const known = generations.has(name)
    if (known && generations.get(name) === generation) return
    generations.set(name, generation)
    const versions = definition.spec.versions.filter(({ served }) => served).map((version) => version.name)
    listener.onDefinition({
      kind: 'definition',
      name,
      ...(cluster && { cluster }),
      versions,
      result: known ? 'updated' : 'installed',
    })
  }
  return async (request) => {
    const response = await inner(request)
    if (request.method === 'GET' || response.status >= 400) return response
    listener.onWrite()
    const name = definitionOf(request)
    if (name !== undefined) await checkDefinition(name)
    return response
  }
}

/** Returns the name of the CustomResourceDefinition that a request writes. */
function definitionOf({ method, path, body }: HttpRequest): string | undefined {
  const match = CRD_PATH.exec(path)
  if (!match) return undefined
  if (match[1] !== undefined || method !== 'POST') return match[1]
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  // The server has accepted the body, so a search is enough. Definitions in other formats than JSON are not reported.
  return /"metadata"\s*:\s*\{[^}]*?"name"\s*:\s*"([^"]+)"/.exec(text)?.[1]
}
