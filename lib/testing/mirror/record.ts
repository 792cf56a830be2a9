/** The record of a cluster: what an operator asked for, with what it answered, without the values of Secrets. */
import { type ApiObject, type ApiServer, internals, type ResourcePlace } from 'kubeloop/apiserver'
import { messageOf } from '../../core/errors.ts'
import type { Transport } from '../../core/transport.ts'
import { readText } from '../../runtime/os/files.ts'
import { DEFINITIONS, emptyServer, idOf, type Mirror, namespaceOf, NAMESPACES, type Refusal } from './mirror.ts'
import { redactor } from './redacted.ts'

const FORMAT = 'kubeloop-record/1'

export interface ClusterRecord {
  readonly format: typeof FORMAT
  readonly operator: string
  readonly at: string
  readonly namespace: string
  readonly clusters: readonly {
    /** The operator's name of the cluster; null for its own. */
    readonly name: string | null
    readonly objects: readonly { readonly resource: ResourcePlace; readonly items: readonly ApiObject[] }[]
    /** The paths that it was asked for. */
    readonly asked: readonly string[]
    readonly refused: readonly Refusal[]
  }[]
}

/** Returns the record of mirrors, by the operator's names of their clusters. */
export function recordOf(
  about: Pick<ClusterRecord, 'operator' | 'at' | 'namespace'>,
  mirrors: ReadonlyMap<string | null, Pick<Mirror, 'loaded' | 'asked' | 'refused' | 'assumed'>>,
): ClusterRecord {
  const redact = redactor()
  const clusters = [...mirrors].map(([name, mirror]) => {
    const { asked, refused, assumed } = mirror
    const places = Map.groupBy(mirror.loaded(), ({ place }) => JSON.stringify([idOf(place), place.version]))
    const objects = [...places.values()].map((all) => ({
      resource: all[0]!.place,
      items: all.map(({ object }) => redact(object)),
    }))
    if (assumed.length > 0) objects.push({ resource: DEFINITIONS, items: [...assumed] })
    return { name, objects, asked, refused }
  })
  return { format: FORMAT, ...about, clusters }
}

/** Returns whether a file with this text is a record, in any version of the format. */
export function isRecord(text: string): boolean {
  return text.startsWith('{"format":"kubeloop-record/')
}

/** @throws Error if the file cannot be read, or is no record. */
export async function readRecord(file: string): Promise<ClusterRecord> {
  try {
    const read = JSON.parse(await readText(file)) as ClusterRecord | null
    if (read?.format === FORMAT) return read
    throw new TypeError(
      `its format is ${JSON.stringify(read?.format)}, and must be "${FORMAT}"; write it with kubeloop plan --record`,
    )
  } catch (cause) {
    throw new Error(`Cannot read the record ${file}: ${messageOf(cause)}`, { cause })
  }
}

/**
 * Stores recorded objects. Leaves out owners that were not recorded if a garbage collector would look for them.
 *
 * @throws Error if the record has objects of a kind that it does not define.
 */
export function restore(
  server: Pick<ApiServer, 'adopt'>,
  record: ClusterRecord,
  name: string | null,
  { collects }: { readonly collects: boolean },
): void {
  const objects = record.clusters.find((each) => each.name === name)?.objects ?? []
  const all = objects.flatMap(({ items }) => items)
  const uids = new Set<unknown>(all.map(({ metadata }) => metadata.uid))
  // The namespaces of objects were read only where one was created.
  server.adopt(NAMESPACES, [...new Set(all.flatMap(({ metadata }) => metadata.namespace ?? []))].map(namespaceOf))
  // Definitions first: what they define is served from then on.
  const isLate = ({ resource }: { readonly resource: ResourcePlace }): number =>
    Number(resource.group !== 'apiextensions.k8s.io')
  for (const { resource, items } of objects.toSorted((a, b) => isLate(a) - isLate(b))) {
    const adopted = server.adopt(resource, collects ? items.map((each) => withKnownOwners(each, uids)) : items)
    if (adopted) continue
    const what = `the objects of ${idOf(resource)} in version ${resource.version}`
    throw new Error(`Cannot restore ${what}: the record has no definition that serves it; write it again`)
  }
}

function withKnownOwners(object: ApiObject, uids: ReadonlySet<unknown>): ApiObject {
  const { ownerReferences, ...metadata } = object.metadata
  const known = ownerReferences?.filter(({ uid }) => uids.has(uid))
  return { ...object, metadata: { ...metadata, ...(known?.length && { ownerReferences: known }) } }
}

/** Returns a connection that answers as a recorded cluster. Calls `note` with each path that it was not asked for. */
export function replay(record: ClusterRecord, name: string | null, note: (text: string) => void): Transport {
  const { asked = [], refused = [] } = record.clusters.find((each) => each.name === name) ?? {}
  const server = emptyServer({})
  restore(server, record, name, { collects: false })
  return async (request) => {
    const { path } = request
    const refusal = refused.find((each) => each.path === path)
    if (refusal) return internals.answerJson(refusal.status, refusal.text, [])
    if (!asked.includes(path)) note(`The record has no answer to ${path}: it is answered as if there were nothing`)
    return await server.handle(request)
  }
}
