/** Writes a status: replaces it, or merges it with what others have written since its object was read. */
import { jsonEqual } from '../core/equal.ts'
import { ApiError, firstOf, isReason } from '../core/errors.ts'
import { asJson, isExact, stringifyExact, withNumbersOf } from '../core/exact_json.ts'
import { isNewerVersion, type KubeObject } from '../core/objects.ts'
import { isPartial } from '../core/partial.ts'
import type { Api } from './api.ts'
import { MAX_TRIES } from './retries.ts'
import { statusPatch, type WriteQuery } from './requests.ts'
import { mergeStatus, ownPart, statusSchema } from './status_merge.ts'
import { type NamedTarget, requireComplete, uidIn } from './target.ts'

interface StatusObject extends KubeObject {
  readonly status?: unknown
}

/** One call of `setStatus`. */
export interface StatusWrite {
  readonly api: Api
  readonly target: NamedTarget
  /** The name of the object, or the object as it was read. */
  readonly ref: object
  readonly status: unknown
  /** The object in the cache, if it is complete. */
  readonly cached: StatusObject | undefined
  readonly query: WriteQuery
  readonly signal: AbortSignal | undefined
  readonly stated: StatedStatuses
}

/**
 * The statuses that one client has set, by the metadata of the objects that they were made from. Another status that is
 * made from the same object follows them: otherwise the client would be another writer to itself.
 */
export type StatedStatuses = WeakMap<object, {
  /** What the caller knows of the answer: its own part. */
  readonly base: unknown
  readonly answer: StatusObject
}>

/**
 * Resolves with the object that has the status, and with what it was before. Safety: the patch is for the version
 * whose status was merged, and a Conflict merges again.
 */
export async function writeStatus(write: StatusWrite): Promise<{ object: KubeObject; before: object }> {
  const { target, ref, status, query, stated } = write
  const wanted = asJson(status, `set the status of ${write.api.describe(target)}`)
  const uid = uidIn(ref)
  const cached = uid && write.cached?.metadata.uid !== uid ? undefined : write.cached
  // An object that was read, rather than a name or metadata alone.
  const given = 'kind' in ref && (ref as StatusObject).metadata?.resourceVersion ? ref as StatusObject : undefined
  const earlier = given && stated.get(given.metadata)
  // Of a changed copy, the status that was read is not known: the write is for that version only.
  const read = earlier || given?.status !== status ? given : undefined
  if (!read) requireComplete(target.resource, ref, 'set the status of')
  const known = earlier?.answer ?? given
  const isCached = cached !== undefined &&
    !isNewerVersion(known?.metadata.resourceVersion, cached.metadata.resourceVersion)
  let current = isCached ? cached : known
  const schema = statusSchema(target.resource)
  for (let attempt = 1;; attempt++) {
    // An empty status equals none.
    const theirs = current?.status ?? {}
    let merged = wanted
    if (read) {
      // What a strip function may have removed was not changed by others; items of lists that are maps stay.
      const unread = isPartial(read) && ownPart(theirs, {}, schema)
      const base = earlier ? earlier.base : { ...unread as object, ...read.status as object }
      const conflicts: string[] = []
      merged = mergeStatus({ base, wanted, current: theirs }, schema, conflicts)
      // No other writer has changed the version that was read: a strip function has.
      if (conflicts.length > 0 && current!.metadata.resourceVersion !== read.metadata.resourceVersion) {
        const fields = firstOf(conflicts, 3).join(', ')
        const why = `since the object was read, another writer has changed ${fields}`
        throw conflictOf(write, `${why}; read it again`)
      }
    }
    const hasOthers = !jsonEqual(merged, wanted)
    // What a strip function has removed may be of others.
    if ((read && current === read && isPartial(read)) || (hasOthers && !isExact(current!))) {
      current = await readLive(write)
      continue
    }
    const isSent = (attempt === 1 && !isCached) || !jsonEqual(merged, theirs)
    const patch = statusPatch(merged, uid, (read ? current : given)?.metadata.resourceVersion)
    const numbers = hasOthers && isExact(read!) ? withNumbersOf(read!, current!) : ref
    try {
      const object: StatusObject = isSent ? await send(write, patch, numbers) : current!
      if (given && !query.dryRun) {
        stated.set(given.metadata, { base: ownPart(object.status ?? {}, wanted, schema), answer: object })
      }
      return { object, before: current ?? ref }
    } catch (error) {
      // A failed test of a JSON Patch is Invalid without details; an Invalid status names the object and the field.
      if (uid && isReason(error, 'Invalid') && !error.status.details?.name && error.causes.length === 0) {
        throw conflictOf(write, replacedBy(uid), error)
      }
      if (!read || !isReason(error, 'Conflict') || attempt >= MAX_TRIES) throw error
      current = await readLive(write, error)
    }
  }
}

async function send({ api, target, query, signal }: StatusWrite, patch: object, numbers: object): Promise<KubeObject> {
  const body = stringifyExact(patch, `set the status of ${api.describe(target)}`, numbers)
  return (await api.patch({ ...target, subresource: 'status' }, 'json', body, query, signal)).object
}

/** Resolves with the server's object. Throws `conflict` if the role must not read it. */
async function readLive(write: StatusWrite, conflict?: unknown): Promise<StatusObject> {
  const uid = uidIn(write.ref)
  const object = await write.api.get(write.target, write.signal).catch((error: unknown) => {
    throw conflict && isReason(error, 'Forbidden') ? conflict : error
  })
  if (object.metadata.uid !== uid) throw conflictOf(write, replacedBy(uid), conflict)
  return object
}

const replacedBy = (uid?: string): string =>
  `the object with uid "${uid}" was deleted, and another one has its name now`

function conflictOf({ api, target }: StatusWrite, message: string, cause?: unknown): ApiError {
  const details = { name: target.name, kind: target.resource.kind }
  const status = { kind: 'Status', status: 'Failure', reason: 'Conflict', code: 409, message, details }
  return new ApiError(`Cannot set the status of ${api.describe(target)}: ${message}`, status, { code: 409, cause })
}
