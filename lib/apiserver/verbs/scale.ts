/** Handles /scale: reads and sets the replicas of any scalable kind. */
import { type Backend, readObject } from '../backend.ts'
import { mediaType, parseBody, readJsonBody } from '../http/body.ts'
import { selectorText } from '../selectors.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject, type Meta, putAt } from '../json.ts'
import type { Kind, ScalePaths } from '../kinds.ts'
import { jsonPatch, mergePatch } from '../patch/json_patch.ts'
import type { Call, ResourceRoute } from '../http/routes.ts'
import {
  badRequest,
  conflict,
  fault,
  invalid,
  methodNotAllowed,
  MODIFIED_MESSAGE,
  unsupportedMediaType,
} from '../http/status.ts'
import { mutated, placeOf, validated } from '../webhooks/admission.ts'
import { isDryRun, updateObject, writerOf } from './write.ts'

export function scale(backend: Backend, kind: Kind, paths: ScalePaths, route: ResourceRoute, call: Call): JsonObject {
  const object = readObject(backend, kind, { ...route, subresource: '' })
  const now = scaleOf(object, paths)
  if (call.method === 'GET') return now
  if (call.method !== 'PUT' && call.method !== 'PATCH') throw methodNotAllowed()
  const given = call.method === 'PUT' ? readJsonBody(call).value : patched(now, call)
  if (!isObject(given)) throw badRequest('the body of the request must be a Scale')
  const dryRun = isDryRun(call.query.getAll('dryRun'))
  const admission = {
    ...placeOf(kind, object),
    operation: 'UPDATE',
    subresource: 'scale',
    old: now as ApiObject,
    dryRun,
    objectKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
  } as const
  const scaled = { ...now, spec: {}, ...given, metadata: { ...now['metadata'] as Meta, ...given['metadata'] as Meta } }
  const wanted = mutated(backend, { ...admission, object: scaled as unknown as ApiObject }, () => {})
  const version = at(wanted, 'metadata', 'resourceVersion')
  if (version && version !== object.metadata.resourceVersion) throw conflict(kind, route.name, MODIFIED_MESSAGE)
  const replicas = at(wanted, 'spec', 'replicas') ?? 0
  if (typeof replicas !== 'number' || !Number.isInteger(replicas)) throw badRequest('spec.replicas must be an integer')
  if (replicas < 0) {
    throw invalid(
      { group: 'autoscaling', kind: 'Scale' },
      route.name,
      [fault.invalid('spec.replicas', replicas, 'must be greater than or equal to 0')],
    )
  }
  validated(backend, { ...admission, object: wanted })
  const next = clone(object)
  putAt(next, paths.specReplicas, replicas)
  const { object: written } = updateObject(
    backend,
    kind,
    '',
    object,
    next,
    {
      ...writerOf(backend, kind, route, call),
      subresource: 'scale',
    },
    dryRun,
  )
  return scaleOf(written, paths)
}

function patched(now: JsonObject, call: Call): Json {
  const type = mediaType(call)
  const { value } = parseBody(call)
  if (type === 'application/json-patch+json') return jsonPatch(now, value)
  if (type === 'application/merge-patch+json' || type === 'application/strategic-merge-patch+json') {
    return mergePatch(now, value)
  }
  if (type === 'application/apply-patch+yaml') return mergePatch(now, value)
  throw unsupportedMediaType(`the body of the request was in an unknown format - ${type}`)
}

function scaleOf(object: ApiObject, { specReplicas, statusReplicas, selector }: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const found = selector && at(object, ...selector)
  const text = typeof found === 'string' ? found : selectorText(found)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace && { namespace }), uid, resourceVersion, creationTimestamp },
    spec: { ...(at(object, ...specReplicas) ? { replicas: at(object, ...specReplicas) } : {}) },
    status: { replicas: at(object, ...statusReplicas) ?? 0, ...(text && { selector: text }) },
  }
}
