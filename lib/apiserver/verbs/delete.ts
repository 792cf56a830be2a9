/** Handles DELETE of one object or a collection; finalizers delay the removal. */
import { type Backend, fromStored, putObject, readObject, removeObject } from '../backend.ts'
import { readOptions } from '../http/body.ts'
import { type ApiObject, at, clone, isObject, type JsonObject } from '../json.ts'
import type { Kind } from '../kinds.ts'
import { instant } from '../storage/objects.ts'
import { type Call, flag, type ResourceRoute } from '../http/routes.ts'
import { conflict, fault, invalid } from '../http/status.ts'
import { selectObjects } from './list.ts'
import { isDryRun } from './write.ts'
import { admitDelete } from '../webhooks/admission.ts'

interface DeleteOptions {
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  readonly policy: Policy | undefined
  readonly gracePeriodSeconds: number | undefined
  readonly dryRun: boolean
}

type Policy = 'Orphan' | 'Background' | 'Foreground'

/** A delete without options. */
export const PLAIN_DELETE: DeleteOptions = {
  uid: undefined,
  resourceVersion: undefined,
  policy: undefined,
  gracePeriodSeconds: undefined,
  dryRun: false,
}

/** Deletes one object. Returns the object if it still exists, otherwise a Status. */
export function remove(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): JsonObject {
  const options = deleteOptions(call)
  const object = readObject(backend, kind, route)
  const remaining = deleteObject(backend, kind, object, options)
  return remaining ?? {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: route.name,
      ...(kind.group && { group: kind.group }),
      kind: kind.plural,
      uid: object.metadata.uid!,
    },
  }
}

/** Deletes the objects that match the selectors. Returns them as they were before. */
export function removeCollection(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): readonly ApiObject[] {
  const options = deleteOptions(call)
  const { webhooks } = backend
  // A request that waits for a webhook runs again: it deletes what it has listed first, each object once.
  const objects = webhooks.once('objects', () => selectObjects(backend, kind, route, call))
  kind.rules.prepare?.(objects)
  for (const stored of objects) {
    webhooks.once(stored.metadata.uid!, () => void deleteObject(backend, kind, fromStored(kind, stored), options))
  }
  return objects.map((stored) => fromStored(kind, stored))
}

/** Deletes an object, or starts its deletion. Returns the object if it still exists. */
export function deleteObject(
  backend: Backend,
  kind: Kind,
  object: ApiObject,
  options: DeleteOptions,
): ApiObject | undefined {
  checkPreconditions(kind, object, options)
  admitDelete(backend, kind, object, options.dryRun)
  const next = clone(object)
  if (kind.rules.beginDelete && !object.metadata.deletionTimestamp) {
    kind.rules.beginDelete(next, instant(backend.clock.now()))
    return options.dryRun ? next : putObject(backend, kind, next)
  }
  const finalizers = finalizersAfter(object.metadata.finalizers ?? [], options.policy)
  if (finalizers.length > 0) next.metadata.finalizers = finalizers
  else delete next.metadata.finalizers
  const grace = kind.rules.gracePeriod?.(object, options.gracePeriodSeconds) ?? 0
  if (finalizers.length === 0 && grace === 0) {
    if (!options.dryRun) removeObject(backend, kind, object)
    return undefined
  }
  const isNew = !object.metadata.deletionTimestamp
  const isShorter = !isNew && grace < (object.metadata.deletionGracePeriodSeconds ?? 0)
  if (isNew || isShorter) {
    next.metadata.deletionTimestamp = instant(backend.clock.now() + grace * 1000)
    next.metadata.deletionGracePeriodSeconds = grace
    if (isNew && next.metadata.generation) next.metadata.generation++
  }
  const isSame = !isNew && !isShorter && finalizers.length === (object.metadata.finalizers ?? []).length
  return isSame || options.dryRun ? next : putObject(backend, kind, next)
}

/** Returns the finalizers that request a propagation policy from the garbage collector. */
function finalizersAfter(finalizers: readonly string[], policy: Policy | undefined): string[] {
  if (!policy) return [...finalizers]
  const others = finalizers.filter((finalizer) => finalizer !== 'orphan' && finalizer !== 'foregroundDeletion')
  if (policy === 'Background') return others
  return [...others, policy === 'Orphan' ? 'orphan' : 'foregroundDeletion']
}

function checkPreconditions(kind: Kind, { metadata }: ApiObject, { uid, resourceVersion }: DeleteOptions): void {
  // Unlike other errors, these name the kind instead of the resource.
  const named = { group: kind.group, plural: kind.kind }
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      named,
      metadata.name!,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). ` +
        'The object might have been deleted and then recreated',
    )
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const record = `the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`
    throw conflict(
      named,
      metadata.name!,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match ${record}`,
    )
  }
}

/** Parses the options of a delete from its body or its query. */
function deleteOptions(call: Call): DeleteOptions {
  const body = readOptions(call)
  const query = call.query
  const policy = text(body['propagationPolicy']) ?? query.get('propagationPolicy') ?? undefined
  const orphan = body['orphanDependents'] ??
    (query.has('orphanDependents') ? flag(query, 'orphanDependents') : undefined)
  const grace = body['gracePeriodSeconds'] ??
    (query.has('gracePeriodSeconds') ? Number(query.get('gracePeriodSeconds')) : undefined)
  if (policy !== undefined && !['Orphan', 'Background', 'Foreground'].includes(policy)) {
    throw invalid(
      { group: 'meta.k8s.io', kind: 'DeleteOptions' },
      '',
      [fault.notSupported('propagationPolicy', policy, ['Foreground', 'Background', 'Orphan'])],
    )
  }
  if (policy !== undefined && orphan !== undefined && orphan !== null) {
    throw invalid(
      { group: 'meta.k8s.io', kind: 'DeleteOptions' },
      '',
      [fault.invalid('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set')],
    )
  }
  const preconditions = body['preconditions']
  const dryRun = Array.isArray(body['dryRun']) ? body['dryRun'].map(String) : query.getAll('dryRun')
  return {
    uid: isObject(preconditions) ? text(at(preconditions, 'uid')) : undefined,
    resourceVersion: isObject(preconditions) ? text(at(preconditions, 'resourceVersion')) : undefined,
    policy: policy as Policy | undefined ?? (orphan === true ? 'Orphan' : undefined),
    gracePeriodSeconds: typeof grace === 'number' && Number.isFinite(grace) ? grace : undefined,
    dryRun: isDryRun(dryRun),
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
