/** Writes CustomResourceDefinitions, and waits until the server serves their kinds. */
import { jsonEqual } from '../core/equal.ts'
import { isReason, messageOf } from '../core/errors.ts'
import { CRD, type CustomResourceDefinition, groupResourceOf } from '../core/resource.ts'
import { sleep } from '../async/clock.ts'
import { pages } from '../client/pages.ts'
import { isRace, retried } from '../client/retries.ts'
import { crdOf } from '../schema/crds.ts'
import { refuseDifferentVersions } from './checks.ts'
import { isUnconverted, wantedConversion } from './conversion.ts'
import { cannotInstall, type Crd, find, titleOf, type Work } from './definition.ts'
import { resourceOf } from './stored_objects.ts'

/** The time limit for the server to serve a kind after its CRD was written. */
const ESTABLISH_MS = 30_000

/** The time limit for the deletion of a CRD, as its objects may wait for this operator to remove a finalizer. */
const DELETION_MS = 10_000

/** Returns the new state of an existing CRD. `isBroken`: its webhook does not convert. */
type Change = (crd: CustomResourceDefinition, before: Crd, isBroken: boolean) => Promise<Crd>

export async function writeCrds(work: Work, change: Change): Promise<void> {
  const { resources, api, log, fieldManager, conversions = [], conversion, signal } = work
  for (const crd of crdOf(resources, { conversions, conversion })) {
    const target = { resource: CRD, name: crd.metadata.name }
    const query = { fieldManager }
    if (!crd.spec.conversion && conversions.some(({ hub }) => groupResourceOf(hub) === crd.metadata.name)) {
      throw new Error(`${cannotInstall(crd)}: its versions are converted, and the operator serves no webhooks`)
    }
    refuseDifferentVersions(crd, crd.spec.conversion?.strategy)
    let isBroken = false
    const write = async (): Promise<'done' | 'broken'> => {
      const before = await untilDeleted(crd, work)
      if (before?.metadata.deletionTimestamp) {
        log.warn(`${titleOf(crd)} is being deleted, and objects hold it by their finalizers; starting anyway`)
        return 'done'
      }
      if (before && before.spec.scope !== crd.spec.scope) {
        const what = `its scope is ${before.spec.scope}, not ${crd.spec.scope}, and cannot change`
        throw new Error(`${cannotInstall(crd)}: ${what}; delete it (and so its objects) first`)
      }
      const next = before && (await change(crd, before, isBroken))
      const written = !next
        ? await api.create(target, crd, query, signal)
        : jsonEqual(next, before)
        ? undefined
        : await api.update(target, next, query, signal)
      const converts = await untilServed(crd, work)
      const isUpdated = written && before?.metadata.generation !== written.object.metadata.generation
      const what = !before ? 'Installed' : isUpdated ? 'Updated' : undefined
      if (what) log.info(`${what} ${crd.metadata.name}/${crd.spec.versions.map(({ name }) => name).join(',')}`)
      const ours = next && wantedConversion(crd, next, work)
      return converts || isBroken || !ours || jsonEqual(ours, next.spec.conversion) ? 'done' : 'broken'
    }
    while (await retried(write, isRace) === 'broken') isBroken = true
  }
}

/** Returns a CRD, after a wait for its deletion if it is being deleted. */
async function untilDeleted(
  crd: CustomResourceDefinition,
  { api, clock, log, signal }: Work,
): Promise<Crd | undefined> {
  const beganMs = clock.monotonic()
  for (let isFirst = true;; isFirst = false) {
    const found = await find(api, crd.metadata.name, signal)
    if (!found?.metadata.deletionTimestamp || clock.monotonic() - beganMs >= DELETION_MS) return found
    if (isFirst) log.info(`Waiting up to ${DELETION_MS / 1000} s for the deletion of ${titleOf(crd)}`)
    await sleep(clock, 250, signal)
  }
}

/** Resolves when a kind is served, with whether its versions are converted, too. */
async function untilServed(crd: CustomResourceDefinition, work: Work): Promise<boolean> {
  const { api, clock, signal } = work
  const deadline = clock.monotonic() + ESTABLISH_MS
  for (let waitMs = 20;; waitMs = Math.min(waitMs * 2, 1000)) {
    const { spec, status } = (await api.get({ resource: CRD, name: crd.metadata.name }, signal)) as Crd
    const isEstablished = status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True')
    const served = isEstablished && (await isServed(crd, spec, status?.storedVersions ?? [], work))
    if (served) return served === 'converted'
    if (clock.monotonic() >= deadline) {
      const refused = status?.conditions?.find(({ status }) => status === 'False')?.message
      throw new Error(
        `${cannotInstall(crd)}: it is not served after ${ESTABLISH_MS / 1000} s${refused ? `: ${refused}` : ''}`,
      )
    }
    await sleep(clock, waitMs, signal)
  }
}

/**
 * Tests whether the server answers requests for all served versions, which starts a moment after the condition
 * Established.
 */
async function isServed(
  crd: CustomResourceDefinition,
  there: Crd['spec'],
  stored: readonly string[],
  { api, signal }: Work,
): Promise<'converted' | 'not converted' | undefined> {
  let answer: 'converted' | 'not converted' = 'converted'
  // The leader may have taken out versions that no cache of this replica needs.
  const versions = crd.spec.versions.filter(({ name }) =>
    there.versions.some((each) => each.name === name && each.served)
  )
  const isPreferred = versions.some(({ served, deprecated }) => served && !deprecated)
  // The server would warn of the request for a deprecated version, as if it were the user's.
  const asked = versions.filter(({ served, deprecated }) => served && !(deprecated && isPreferred))
  // An object that is read in all versions that are stored is converted. Otherwise it may be any of them.
  const isOneEnough = stored.every((version) => asked.some(({ name }) => name === version))
  for (const { name: version } of asked) {
    const resource = resourceOf(crd, version)
    try {
      const objects = pages(api, { resource }, { limit: isOneEnough ? 1 : undefined, quiet: true, signal })
      for await (const _ of objects) if (isOneEnough) break
    } catch (error) {
      if (signal.aborted) throw error
      // The kind is served; this operator may be about to serve the conversion.
      if (isUnconverted(error)) {
        answer = 'not converted'
        continue
      }
      if (isReason(error, 'NotFound') || isReason(error, 'ServiceUnavailable') || isReason(error, 'TooManyRequests')) {
        return undefined
      }
      // Installation does not need the right to list; the informers report if they lack it.
      if (!isReason(error, 'Forbidden')) {
        throw new Error(`Cannot install ${groupResourceOf(resource)}: ${messageOf(error)}`, { cause: error })
      }
    }
  }
  return answer
}
