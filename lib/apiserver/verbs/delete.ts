/** Handles DELETE of one object or a collection; finalizers delay the removal. */
import {
  type Context,
  fromStored,
  type KindRequest,
  putObject,
  readObject,
  removeObject,
  storeKey,
} from '../context/context.ts'
import { jsonEqual } from '../../core/equal.ts'
import { readOptions } from '../wire/body.ts'
import { type ApiObject, at, clone, instant, isObject, type JsonObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { flag } from '../../core/requested_action.ts'
import { conflict, detailsOf, fault, forbidden } from '../model/status.ts'
import { intParam, list, type Page } from './list.ts'
import { dryRunFaults, invalidOptions } from './write.ts'
import { admitDelete } from '../admission/admission.ts'

export interface DeleteOptions {
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly policy?: Policy | undefined
  readonly gracePeriodSeconds?: number | undefined
  readonly dryRun: boolean
}

type Policy = 'Orphan' | 'Background' | 'Foreground'

/** The objects that cannot be deleted, by storage, as the admission plugin NamespaceLifecycle has them. */
const PROTECTED: Readonly<Record<string, readonly string[]>> = { namespaces: ['default', 'kube-public', 'kube-system'] }

/** Deletes one object. Returns the object if it still exists, otherwise a Status. */
export function remove(request: KindRequest): JsonObject {
  const { context, kind, route } = request
  const options = deleteOptions(request)
  const object = readObject(request)
  const { isRemoved, last } = deleteObject(context, kind, object, options)
  if (!isRemoved) return last
  if (kind.rules.returnsDeleted) return deletedForm(context, kind, last)
  const details = { ...detailsOf(kind, route.name), uid: object.metadata.uid! }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
}

function deletedForm(context: Context, kind: Kind, object: ApiObject): ApiObject {
  if (!kind.rules.gracePeriod) return object
  const generation = object.metadata.generation ?? 0
  const deletion = {
    deletionTimestamp: instant(context.clock.now()),
    deletionGracePeriodSeconds: 0,
    ...(generation && !object.metadata.deletionTimestamp && { generation: generation + 1 }),
  }
  return { ...object, metadata: { ...object.metadata, ...deletion } }
}

/** Deletes the objects that match the selectors, or one page of them. Returns them as they were stored before. */
export function removeCollection(request: KindRequest): Page {
  const { context, kind } = request
  const options = deleteOptions(request)
  const { webhooks } = context
  // A request that waits for a webhook or a turn runs again: it deletes what it has listed first, each object once.
  const page = webhooks.once('objects', () => list(request))
  kind.rules.prepare?.(page.objects)
  webhooks.eachInTurns('deleted', page.objects, ({ metadata: { uid, namespace = '', name } }) => {
    // Other requests may have changed or deleted it since.
    const stored = context.store.get(kind.storage.id, storeKey(kind, namespace, name!))
    if (stored?.metadata.uid === uid) deleteObject(context, kind, fromStored(kind, stored!), options)
    return undefined
  })
  return page
}

/** The result of a deletion: the object as it is, or as it was with the version of its removal. */
interface Deletion {
  readonly isRemoved: boolean
  readonly last: ApiObject
}

/** Deletes an object, or starts its deletion. */
export function deleteObject(
  context: Context,
  kind: Kind,
  object: ApiObject,
  options: DeleteOptions = { dryRun: false },
): Deletion {
  const staying = (last: ApiObject): Deletion => ({ isRemoved: false, last })
  if (PROTECTED[kind.storage.id]?.includes(object.metadata.name!)) {
    throw forbidden(kind, object.metadata.name!, `this ${kind.singular} may not be deleted`)
  }
  checkPreconditions(kind, object, options)
  admitDelete(context, kind, object, options.dryRun)
  if (kind.rules.beginDelete && !object.metadata.deletionTimestamp) {
    const next = clone(object)
    kind.rules.beginDelete(next, instant(context.clock.now()))
    return staying(options.dryRun ? next : putObject(context, kind, next))
  }
  if (object.metadata.deletionTimestamp && kind.rules.isHeld?.(object)) return staying(object)
  const finalizers = finalizersAfter(kind, object.metadata.finalizers ?? [], options.policy)
  const grace = kind.rules.gracePeriod?.(object, options.gracePeriodSeconds) ?? 0
  if (finalizers.length === 0 && grace === 0) {
    if (options.dryRun) return { isRemoved: true, last: object }
    const resourceVersion = removeObject(context, kind, object)
    return { isRemoved: true, last: { ...object, metadata: { ...object.metadata, resourceVersion } } }
  }
  const next = clone(object)
  if (finalizers.length > 0) next.metadata.finalizers = finalizers
  else delete next.metadata.finalizers
  const isNew = !object.metadata.deletionTimestamp
  const isShorter = !isNew && grace < (object.metadata.deletionGracePeriodSeconds ?? 0)
  if (isNew || isShorter) {
    next.metadata.deletionTimestamp = instant(context.clock.now() + grace * 1000)
    next.metadata.deletionGracePeriodSeconds = grace
    if (isNew && next.metadata.generation) next.metadata.generation++
  }
  const isSame = !isNew && !isShorter && jsonEqual(finalizers, object.metadata.finalizers ?? [])
  return staying(isSame || options.dryRun ? next : putObject(context, kind, next))
}

/** Returns the finalizers that request a propagation policy from the garbage collector. */
function finalizersAfter({ rules }: Kind, finalizers: readonly string[], policy: Policy | undefined): string[] {
  const others = finalizers.filter((finalizer) => finalizer !== 'orphan' && finalizer !== 'foregroundDeletion')
  if (!policy && (!rules.keepsDependents || others.length < finalizers.length)) return [...finalizers]
  if (policy === 'Background') return others
  return [...others, policy === 'Foreground' ? 'foregroundDeletion' : 'orphan']
}

/** Throws 409 if an object does not have the uid and version that a deletion requires. */
export function checkPreconditions(
  kind: Kind,
  { metadata }: ApiObject,
  { uid, resourceVersion }: DeleteOptions,
): void {
  // Unlike other errors, these name the kind instead of the resource.
  const named = { group: kind.group, plural: kind.kind }
  if (uid !== undefined && uid !== metadata.uid) {
    const detail = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). ` +
      'The object might have been deleted and then recreated'
    throw conflict(named, metadata.name!, detail)
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const record = `the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`
    const problem = `the ResourceVersion in the precondition (${resourceVersion}) does not match ${record}`
    throw conflict(named, metadata.name!, problem)
  }
}

/** Parses the options of a delete from its body or its query, and warns of a default that keeps dependents. */
function deleteOptions({ kind, call }: KindRequest): DeleteOptions {
  const body = readOptions(call)
  // A body stands for all options: those of the query are ignored.
  const isQuery = call.body === undefined || call.body.length === 0
  const options = readDeleteOptions(body, isQuery ? call.query : new URLSearchParams())
  if (options.policy === undefined) call.warnings.push(...kind.rules.deleteWarnings ?? [])
  return options
}

/** Parses the options of a delete from a body, or else from a query. */
export function readDeleteOptions(body: JsonObject, query: URLSearchParams): DeleteOptions {
  const policy = text(body['propagationPolicy']) ?? query.get('propagationPolicy') ?? undefined
  const orphan = body['orphanDependents'] ??
    (query.has('orphanDependents') ? flag(query, 'orphanDependents') : undefined)
  const grace = body['gracePeriodSeconds'] ??
    (query.has('gracePeriodSeconds') ? intParam(query, 'gracePeriodSeconds') : undefined)
  const dryRun = Array.isArray(body['dryRun']) ? body['dryRun'].map(String) : query.getAll('dryRun')
  const faults = dryRunFaults(dryRun)
  if (policy !== undefined && !['Orphan', 'Background', 'Foreground'].includes(policy)) {
    faults.unshift(fault.notSupported('propagationPolicy', policy, ['Foreground', 'Background', 'Orphan', 'nil']))
  }
  if (policy !== undefined && orphan !== undefined && orphan !== null) {
    const detail = 'orphanDependents and deletionPropagation cannot be both set'
    faults.unshift(fault.invalid('propagationPolicy', policy, detail))
  }
  if (faults.length > 0) throw invalidOptions('DeleteOptions', faults)
  const preconditions = body['preconditions']
  return {
    uid: isObject(preconditions) ? text(at(preconditions, 'uid')) : undefined,
    resourceVersion: isObject(preconditions) ? text(at(preconditions, 'resourceVersion')) : undefined,
    policy: policy as Policy | undefined ?? (orphan === true ? 'Orphan' : orphan === false ? 'Background' : undefined),
    gracePeriodSeconds: typeof grace === 'number' && Number.isFinite(grace) ? grace : undefined,
    dryRun: dryRun.includes('All'),
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
