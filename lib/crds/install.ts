/** Installs the CustomResourceDefinitions of an operator's kinds. */
import { jsonEqual } from '../core/equal.ts'
import {
  type AnyResource,
  CRD,
  type CustomResourceDefinition,
  type CustomResourceVersion,
  groupResourceOf,
} from '../core/resource.ts'
import { isMissingKind } from '../client/codec.ts'
import { changeText, type SchemaChange, schemaChanges } from '../schema/schema_changes.ts'
import { refuseLostVersion } from './checks.ts'
import { conversionOf, isUnconverted, untilConverted, wantedConversion } from './conversion.ts'
import { type Crd, type Dependencies, find, schemaOf, titleOf, treatEarlier, type Work } from './definition.ts'
import { checkStored, checkUp, warnOfOwners } from './stored_checks.ts'
import { withFieldsOf } from './shared_fields.ts'
import { writeCrds } from './write.ts'

/**
 * Creates missing CRDs and adds missing versions, without which a cache could never sync. Safety: every replica may do
 * this without the lease, as no data can get lost between the versions. Without a conversion, an added version has the
 * schema of the stored one. With a conversion, an added version can be read, but its objects cannot be written until
 * the leader stores them in the hub: the version that is stored now may lack fields of it. A webhook that does not
 * convert is replaced by our own, or removed with the versions that need it if it is of an earlier release, as a cache
 * that needs it could never sync, and no leader could be elected. What the leader took out, and the caches of this
 * replica do not need, stays out. Other differences are logged and left to {@link installCrds}.
 *
 * @throws Error if {@link installCrds} would refuse the definition. A replica that could not lead must not become
 * ready: a rollout would then end the replicas that can.
 */
export async function createCrds(
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  const work = { ...dependencies, resources, signal }
  const { log, watched = resources } = dependencies
  await writeCrds(work, async (crd, before, isBroken) => {
    await refuseEarly(crd, before, work)
    let versions = [...before.spec.versions]
    const stored = versions.find(({ storage }) => storage)!
    let conversion = (isBroken && wantedConversion(crd, before, dependencies)) || before.spec.conversion
    let difference: SchemaChange | undefined
    for (const ours of crd.spec.versions) {
      const { name } = ours
      const isNeeded = watched.some((each) => each.version === name && groupResourceOf(each) === crd.metadata.name)
      const at = versions.findIndex((version) => version.name === name)
      if (at >= 0) {
        difference ??= schemaChanges(schemaOf(ours), schemaOf(versions[at]!))[0]
        if (isNeeded && ours.served) versions[at] = { ...versions[at]!, served: true }
      } else if (!isNeeded) {
        continue
      } else if (crd.spec.conversion) {
        versions.push(readOnly(ours))
        if (conversion?.strategy !== 'Webhook') conversion = crd.spec.conversion
      } else {
        difference ??= schemaChanges(schemaOf(ours), schemaOf(stored))[0]
        versions.push({ ...stored, name, served: true, storage: false })
      }
    }
    if (difference) {
      const text = changeText(difference)
      log.info(
        `${titleOf(crd)} in this cluster differs from that of this replica: ${text}; the leader installs its own`,
      )
    }
    if (conversion?.strategy === 'None' && before.spec.conversion?.strategy === 'Webhook') {
      const ours = new Set(crd.spec.versions.map(({ name }) => name))
      // The server would drop the fields that they lack.
      versions = versions.map((each) => ours.has(each.name) ? each : { ...each, served: false })
    }
    return { ...before, spec: { ...before.spec, versions, ...(conversion && { conversion }) } }
  })
}

/** Returns a version that refuses all writes of its objects. Reads are not validated. */
function readOnly(version: CustomResourceVersion): CustomResourceVersion {
  const message = `${version.name} is read-only until the operator's leader has installed it`
  const rules = [{ rule: 'false', message, reason: 'FieldValueForbidden', fieldPath: '.spec' }]
  const openAPIV3Schema = { ...schemaOf(version), 'x-kubernetes-validations': rules }
  return { ...version, storage: false, schema: { openAPIV3Schema } }
}

/**
 * Writes the CRDs of our kinds, and waits until the server serves them. Additions of others stay: labels, annotations,
 * the conversion of a kind for which the operator has none; with `shared`, fields, too.
 *
 * @throws TypeError if the versions of a kind have different schemas and no conversion.
 * @throws Error without `narrow`, if a stored object would be invalid or lose fields by the new schema. Objects are
 * checked as they are read, with the defaults of the old schema. CEL rules are not evaluated; the server does that at
 * the next write of an object.
 */
export async function installCrds(
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  const work = { ...dependencies, resources, signal }
  await writeCrds(work, async (ours, before) => {
    const crd = work.shared ? withFieldsOf(before, ours) : ours
    refuseLostVersion(crd, before)
    before = await checkedByLeader(crd, before, work)
    await warnOfOwners(crd, before, work)
    const { annotations } = crd.metadata
    const all = annotations && { annotations: { ...before.metadata.annotations, ...annotations } }
    const metadata = { ...before.metadata, ...all }
    const conversion = wantedConversion(crd, before, dependencies)
    return { ...before, metadata, spec: { ...before.spec, ...crd.spec, ...(conversion && { conversion }) } }
  })
  await treatEarlier(true, work)
}

/**
 * Checks stored objects, which are read by the conversion that is there, and by our own if that does not answer. After
 * a refusal, the address is as it was.
 */
async function checkedByLeader(crd: CustomResourceDefinition, before: Crd, work: Work): Promise<Crd> {
  const { api, clock, signal } = work
  const check = async (): Promise<string | undefined> =>
    await checkUp(crd, before, work) ?? await checkStored(crd, before, work)
  const early = await check().then((refusal) => ({ refusal }), (error: unknown) => {
    if (signal.aborted || !isUnconverted(error)) throw error
    return undefined
  })
  const moved = early ? before : await withOurAddress(crd, before, work)
  try {
    const refusal = early ? early.refusal : await untilConverted(check, clock, signal)
    if (refusal !== undefined) throw new Error(refusal)
    return moved
  } catch (error) {
    const now = moved === before ? undefined : await find(api, crd.metadata.name, signal)
    const conversion = before.spec.conversion!
    if (now) await write({ ...now, spec: { ...now.spec, conversion } }, work)
    throw error
  }
}

/**
 * Writes the address of our webhooks into a CRD whose conversion has another one, which may not answer: the check of
 * stored objects reads them in all versions.
 */
async function withOurAddress(crd: CustomResourceDefinition, before: Crd, work: Work): Promise<Crd> {
  const conversion = conversionOf(crd, before, work.mergeCas)
  const there = before.spec.conversion
  if (!conversion || there?.strategy !== 'Webhook' || jsonEqual(conversion, there)) return before
  return await write({ ...before, spec: { ...before.spec, conversion } }, work)
}

async function write(next: Crd, { api, fieldManager, signal }: Work): Promise<Crd> {
  return (await api.update({ resource: CRD, name: next.metadata.name }, next, { fieldManager }, signal)).object as Crd
}

/**
 * Throws what {@link installCrds} would throw, and writes nothing. The check is left to the leader while the webhook of
 * the conversion, which may be this replica's own, does not answer, and while a new kind is not served yet.
 */
async function refuseEarly(crd: CustomResourceDefinition, before: Crd, work: Work): Promise<void> {
  if (work.optional) return
  refuseLostVersion(crd, before)
  const early = async (check: typeof checkUp): Promise<void> => {
    const refusal = await check(crd, before, work).catch((error: unknown) => {
      if (work.signal.aborted || !(isUnconverted(error) || isMissingKind(error))) throw error
      return undefined
    })
    if (refusal !== undefined) throw new Error(refusal)
  }
  await early(checkUp)
  if (!work.narrow) await early(checkStored)
}
