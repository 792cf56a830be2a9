/** DELETE: of one object or of a collection; with finalizers it is only the beginning of an end. */
import { type Backend, commit, present, readObject, uncommit } from '../backend.ts'
import { readOptions } from '../http/body.ts'
import { type ApiObject, at, clone, isObject, type JsonObject } from '../json.ts'
import type { Kind } from '../kinds.ts'
import { instant } from '../storage/objects.ts'
import { type Call, flag, type ResourceRoute } from '../http/routes.ts'
import { conflict, fault, invalid } from '../http/status.ts'
import { selectObjects } from './list.ts'
import { isDryRun } from './write.ts'

interface DeleteOptions {
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  readonly policy: Policy | undefined
  readonly gracePeriodSeconds: number | undefined
  readonly dryRun: boolean
}

type Policy = 'Orphan' | 'Background' | 'Foreground'

/** What is answered: the object that still exists, or a Status. */
export function remove(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): JsonObject {
  const options = deleteOptions(call)
  const object = readObject(backend, kind, route)
  const left = deleteObject(backend, kind, object, options)
  return left ?? {
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

/** Deletes what the selectors match; answers with the list of it. */
export function removeCollection(backend: Backend, kind: Kind, route: ResourceRoute, call: Call): readonly ApiObject[] {
  const options = deleteOptions(call)
  const objects = selectObjects(backend, kind, route, call)
  for (const stored of objects) deleteObject(backend, kind, present(kind, stored), options)
  return objects.map((stored) => present(kind, stored))
}

/** Deletes one object or begins to. Returns the object if it stays for now. */
export function deleteObject(
  backend: Backend,
  kind: Kind,
  object: ApiObject,
  options: DeleteOptions,
): ApiObject | undefined {
  checkPreconditions(kind, object, options)
  const next = clone(object)
  if (kind.rules.beginDelete && !object.metadata.deletionTimestamp) {
    kind.rules.beginDelete(next, instant(backend.clock.now()))
    return options.dryRun ? next : commit(backend, kind, next)
  }
  const finalizers = finalizersAfter(object.metadata.finalizers ?? [], options.policy)
  if (finalizers.length > 0) next.metadata.finalizers = finalizers
  else delete next.metadata.finalizers
  const grace = kind.rules.gracePeriod?.(object, options.gracePeriodSeconds) ?? 0
  if (finalizers.length === 0 && grace === 0) {
    if (!options.dryRun) uncommit(backend, kind, object)
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
  return isSame || options.dryRun ? next : commit(backend, kind, next)
}

/** The finalizers with which the garbage collector is asked for one of its policies. */
function finalizersAfter(finalizers: readonly string[], policy: Policy | undefined): string[] {
  if (!policy) return [...finalizers]
  const others = finalizers.filter((finalizer) => finalizer !== 'orphan' && finalizer !== 'foregroundDeletion')
  if (policy === 'Background') return others
  return [...others, policy === 'Orphan' ? 'orphan' : 'foregroundDeletion']
}

function checkPreconditions(kind: Kind, { metadata }: ApiObject, { uid, resourceVersion }: DeleteOptions): void {
  // These refusals name the kind where others name the resource.
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

/** The options of a delete, from its body or its query. */
export function deleteOptions(call: Call): DeleteOptions {
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
