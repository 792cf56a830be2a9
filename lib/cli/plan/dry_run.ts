/** Asks a cluster what it would do with the final state of an object: `dryRun=All`, which stores nothing. */
import type { ApiObject } from 'kubeloop/apiserver'
import { messageOf } from '../../core/errors.ts'
import type { HttpRequest, Transport } from '../../core/transport.ts'
import { jsonPatch } from '../../webhook/admission/json_patch.ts'
import { callsOperator, changedLines, cleaned, type Difference } from '../../testing/mirror/difference.ts'
import { idOf, pathOf, reasonOf, type Written } from '../../testing/mirror/mirror.ts'
import type { DryRun } from './result.ts'

const UNSENT = ['managedFields', 'generation']
const OF_SERVER = [...UNSENT, 'uid', 'resourceVersion', 'creationTimestamp']

export interface Found {
  readonly written: Written
  readonly difference: Difference
}

/** Returns a function to why the cluster cannot be asked for an object. `all`: what is written. */
export function uncheckableBeside(all: readonly Found[]): (one: Found) => string | undefined {
  const writes = new Set(
    all.map(({ written: { place, name }, difference }) => `${difference.action} ${idOf(place)} ${name}`),
  )
  return ({ written: { place, namespace, after, isAssumed }, difference: { action } }) => {
    // One that ignores dryRun would store the object.
    if (isAssumed) return 'its definition cannot be read, and its server may know no dry runs'
    if (action === 'replace') return 'it is deleted before it is created'
    if (writes.has(`create namespaces. ${namespace}`)) return 'its Namespace does not exist yet'
    const definition = `customresourcedefinitions.apiextensions.k8s.io ${idOf(place)}`
    if (writes.has(`create ${definition}`) || writes.has(`change ${definition}`)) {
      return 'its CustomResourceDefinition is not written yet'
    }
    return callsOperator(after) ? 'the address and the CA of its webhook are not known' : undefined
  }
}

/** `manager`: the operator's field manager. */
export async function dryRunOf({ written, difference }: Found, send: Transport, manager: string): Promise<DryRun> {
  try {
    const request = requestOf(written, difference, manager)
    let answer = await answerTo(request, send)
    // An account that applies objects may patch them, and not update them.
    if (answer.isDenied && request.method === 'PUT') answer = await answerTo(asPatch(request, written), send)
    const { status, text, isDenied } = answer
    // A kind may have no subresource for its status.
    const isUnknown = isDenied || status === 405 || (status === 404 && difference.action === 'status')
    if (isUnknown) return { outcome: 'unchecked', message: reasonOf({ status, text }) }
    if (status >= 300) return { outcome: 'refused', message: reasonOf({ status, text }) }
    if (difference.action === 'delete') return { outcome: 'accepted' }
    const [own, theirs] = [written.after!, JSON.parse(text) as ApiObject].map((each) => {
      const { status, ...rest } = cleaned(each, OF_SERVER)
      return (difference.action === 'status' ? { ...rest, status } : rest) as ApiObject
    })
    const diff = changedLines(own, theirs)
    return diff.length === 0 ? { outcome: 'accepted' } : { outcome: 'changed', diff }
  } catch (error) {
    return { outcome: 'unchecked', message: messageOf(error) }
  }
}

interface Answer {
  readonly status: number
  readonly text: string
  /** Whether the user lacks a right. A 403 may also be an answer of admission: of a quota, for example. */
  readonly isDenied: boolean
}

async function answerTo(request: HttpRequest, send: Transport): Promise<Answer> {
  const { status, body } = await send(request)
  const text = await body.text()
  return { status, text, isDenied: status === 403 && /: User ".*" cannot /.test(reasonOf({ status, text })) }
}

/** Returns a patch with the same result as an update. */
function asPatch(update: HttpRequest, { before }: Written): HttpRequest {
  const { resourceVersion } = before!.metadata
  const patch = jsonPatch(cleaned(before!, UNSENT), JSON.parse(update.body as string))
  return {
    ...{ ...update, method: 'PATCH' },
    headers: { ...update.headers, 'content-type': 'application/json-patch+json' },
    body: JSON.stringify([{ op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }, ...patch]),
  }
}

function requestOf(
  { place, namespace, name, before, after }: Written,
  { action }: Difference,
  manager: string,
): HttpRequest {
  const request = (method: HttpRequest['method'], path: string, body: object): HttpRequest => ({
    method,
    path: `${path}?${new URLSearchParams({ dryRun: 'All', ...(method !== 'DELETE' && { fieldManager: manager }) })}`,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  })
  const path = pathOf(place, namespace, name)
  if (action === 'delete') {
    const { uid } = before!.metadata
    // With options in the body, a server ignores the query: without this it would delete the object.
    const dryRun = ['All']
    return request('DELETE', path, { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid }, dryRun })
  }
  if (action === 'create') return request('POST', pathOf(place, namespace), cleaned(after!, OF_SERVER))
  const { resourceVersion } = before!.metadata
  const { metadata, ...final } = cleaned(after!, UNSENT)
  return request('PUT', `${path}${action === 'status' ? '/status' : ''}`, {
    ...final,
    // Fails if the object was changed since it was read.
    metadata: { ...metadata, resourceVersion },
  })
}
