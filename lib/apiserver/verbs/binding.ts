/** Handles POST to /binding of a pod and to bindings: assigns a pod to a node. */
import type { HttpResponse } from '../../core/transport.ts'
import { type KindRequest, nowIso, putObject, readObject } from '../context/context.ts'
import { answerJson } from '../wire/respond.ts'
import { badRequest, conflict, errorWithoutReason, fault, storageConflict } from '../model/status.ts'
import { type ApiObject, at, clone, isObject, type JsonObject, putAt } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { setCondition } from './conditions.ts'
import { admitUnstored, bodyKind, readUnstored } from './unstored.ts'
import { isDryRun } from './write.ts'

const BINDING = { group: '', version: 'v1', kind: 'Binding' }

export const SUCCESS: string = JSON.stringify({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 201,
})

/** @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/storage/storage.go BindingREST */
export function bind(request: KindRequest): HttpResponse {
  const { context, route, call } = request
  const binding = readUnstored({ ...request, kind: bodyKind(BINDING) })
  const name = route.name || (binding.metadata.name ?? '')
  if (name !== (binding.metadata.name ?? '')) throw badRequest('name in URL does not match name in Binding object')
  checkTarget(binding)
  const { metadata, target } = admitUnstored({ ...request, route: { ...route, name } }, BINDING, binding)
  const pods = context.kinds.find('', 'v1', 'pods')!
  const pod = readObject({ context, kind: pods, route: { ...route, name } })
  checkPreconditions(pods, pod, metadata)
  const problem = bindingProblem(pod)
  if (problem) throw conflict({ group: '', plural: 'pods/binding' }, name, problem)
  const next = clone(pod)
  putAt(next, ['spec', 'nodeName'], String(at(target, 'name')))
  if (isObject(next['status'])) delete next['status']['nominatedNodeName']
  if (metadata.annotations) next.metadata.annotations = { ...next.metadata.annotations, ...metadata.annotations }
  if (metadata.labels) next.metadata.labels = { ...next.metadata.labels, ...metadata.labels }
  setCondition(next, { type: 'PodScheduled', status: 'True' }, nowIso(context))
  if (!isDryRun(call)) putObject(context, pods, next)
  return answerJson(201, SUCCESS, call.warnings)
}

/** Throws the errors of a real server, which have no reason. */
function checkTarget({ target }: ApiObject): void {
  const kind = at(target, 'kind') ?? ''
  const faults = [
    ...(['', 'Node'].includes(String(kind)) ? [] : [fault.notSupported('target.kind', kind, ['Node', '<empty>'])]),
    ...(at(target, 'name') ? [] : [fault.required('target.name')]),
  ]
  if (faults.length === 0) return
  const lines = faults.map(({ field, message }) => `${field}: ${message}`)
  throw errorWithoutReason(500, lines.length === 1 ? lines[0]! : `[${lines.join(', ')}]`)
}

function checkPreconditions(kind: Kind, { metadata }: ApiObject, { uid, resourceVersion }: JsonObject): void {
  const refuse = (name: string, given: string, found: string | undefined): void => {
    throw storageConflict(kind, metadata, `${name} in precondition: ${given}, ${name} in object meta: ${found}`)
  }
  if (uid && uid !== metadata.uid) refuse('UID', String(uid), metadata.uid)
  if (resourceVersion && resourceVersion !== metadata.resourceVersion) {
    refuse('ResourceVersion', String(resourceVersion), metadata.resourceVersion)
  }
}

function bindingProblem(pod: ApiObject): string | undefined {
  const { name, deletionTimestamp } = pod.metadata
  const node = at(pod, 'spec', 'nodeName')
  const gates = at(pod, 'spec', 'schedulingGates')
  if (deletionTimestamp) return `pod ${name} is being deleted, cannot be assigned to a host`
  if (node) return `pod ${name} is already assigned to node ${JSON.stringify(node)}`
  return Array.isArray(gates) && gates.length > 0 ? `pod ${name} has non-empty .spec.schedulingGates` : undefined
}
