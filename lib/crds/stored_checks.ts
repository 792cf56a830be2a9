/** Checks stored objects: whether they fit a new schema, and whether `up` converts them. */
import { isReason, messageOf } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { type CustomResourceDefinition, type CustomResourceVersion, groupResourceOf } from '../core/resource.ts'
import { pages } from '../client/pages.ts'
import { withConverted } from '../schema/conversions.ts'
import { changeText, prunedField, type SchemaChange } from '../schema/schema_changes.ts'
import { upFailure } from '../webhook/conversion/conversion.ts'
import { cannotInstall, type Crd, MAX_NAMED, schemaOf, titleOf, type Work } from './definition.ts'
import { forEachStored, goneVersion, isConverted, narrowingOf, resourceOf, storedVersions } from './stored_objects.ts'

/**
 * Returns an error about stored objects that do not fit the new schema; with `narrow`, logs a warning instead. Reads
 * objects only if a schema became narrower.
 */
export async function checkStored(
  crd: CustomResourceDefinition,
  before: Crd,
  work: Work,
): Promise<string | undefined> {
  for (const version of storedVersions(crd, before)) {
    const { theirs, ours, served } = version
    const narrowing = narrowingOf(version)
    if (!narrowing) continue
    const isStored = before.status?.storedVersions?.includes(theirs.name)
    const refusal = served ? await checkObjects(crd, served, ours, narrowing, work) : isStored
      ? refused(
        crd,
        ours,
        narrowing,
        `objects may be stored as ${theirs.name}, which must be served to check them`,
        work,
      )
      : undefined
    if (refusal !== undefined || !isConverted(crd, before)) return refusal
  }
  return undefined
}

/**
 * Returns an error about stored objects that `up` cannot convert, before the hub is stored: one of them would fail each
 * list in the hub, and could not be deleted. Each is read in the versions in which it may be stored.
 */
export async function checkUp(
  crd: CustomResourceDefinition,
  { spec, status }: Crd,
  work: Work,
): Promise<string | undefined> {
  const { log, conversions = [] } = work
  const hub = crd.spec.versions.find(({ storage }) => storage)!.name
  if (spec.versions.some(({ name, storage }) => storage && name === hub)) return undefined
  for (const conversion of conversions) {
    const { version } = conversion.from
    const isRead = spec.versions.some(({ name, served }) => served && name === version)
    if (groupResourceOf(conversion.hub) !== crd.metadata.name || !isRead) continue
    if (!status?.storedVersions?.includes(version)) continue
    try {
      const found = await brokenIn(crd, version, work, (object) => upFailure(conversion, object))
      if (!found) continue
      const what = `up() of ${version} fails for ${found.count}, and no list in ${hub} could show any: ${found.names}`
      return `${cannotInstall(crd)}: ${what}; change or delete them, or mend up()`
    } catch (error) {
      // A role may have the right to list in some namespaces only.
      if (!isReason(error, 'Forbidden')) throw error
      log.warn(`Cannot verify ${titleOf(crd)}: ${messageOf(error)}; starting anyway`)
    }
  }
  return undefined
}

/** Logs a warning if objects were written in a version that the new definition does not have: {@link goneVersion}. */
export async function warnOfOwners(
  crd: CustomResourceDefinition,
  { spec: { versions } }: Crd,
  { api, log, signal }: Work,
): Promise<void> {
  const isGone = ({ name }: CustomResourceVersion): boolean => !crd.spec.versions.some((each) => each.name === name)
  const served = versions.find((each) => each.storage && each.served) ?? versions.find((each) => each.served)
  if (!served || !versions.some(isGone)) return
  let count = 0
  let gone: string | undefined
  const objects = pages(api, { resource: resourceOf(crd, served.name) }, { quiet: true, signal })
  const seen = await forEachStored(objects, (object) => {
    const version = goneVersion(object, crd)
    if (version === undefined) return
    count++
    gone ??= version
  }).catch((error: unknown) => {
    if (signal.aborted) throw error
    // It is no more than a hint.
    return 0
  })
  if (gone === undefined) return
  log.warn(
    `${titleOf(crd)}: ${gone} goes, in which fields of ${count} of ${seen} stored objects were written ` +
      '(metadata.managedFields), so each apply of these will fail: define it with served: false',
  )
}

/** Reads the objects in a served version, and returns an error about those that do not fit the new schema of `ours`. */
async function checkObjects(
  crd: CustomResourceDefinition,
  served: CustomResourceVersion,
  ours: CustomResourceVersion,
  narrowing: SchemaChange,
  work: Work,
): Promise<string | undefined> {
  const { conversions = [], resources } = work
  const { definition } = withConverted(resources, conversions).find((resource) =>
    groupResourceOf(resource) === crd.metadata.name && resource.version === ours.name
  )!
  const found = await brokenIn(crd, served.name, work, ({ metadata: _, ...object }) => {
    const [problem] = definition!.validate(object)
    if (problem) return `${problem.field}: ${problem.message}`
    const pruned = prunedField(object, schemaOf(ours))
    return pruned === undefined ? undefined : `${pruned} would be lost`
  }).catch((cause: unknown) => {
    if (!isReason(cause, 'Forbidden')) throw cause
    const which = `${schemaText(crd, ours)} becomes narrower (${changeText(narrowing)})`
    throw new Error(`${cannotInstall(crd)}: ${which}, so all objects must be read: ${messageOf(cause)}`, { cause })
  })
  return found && refused(crd, ours, narrowing, `${found.count} don't fit it: ${found.names}`, work)
}

/**
 * Reads the objects in a served version. Resolves with how many have a problem, and the names of the first of them;
 * undefined if none has.
 */
async function brokenIn(
  crd: CustomResourceDefinition,
  version: string,
  { api, signal }: Work,
  problemOf: (object: KubeObject) => string | undefined,
): Promise<{ readonly count: string; readonly names: string } | undefined> {
  const broken: string[] = []
  let count = 0
  const stored = pages(api, { resource: resourceOf(crd, version) }, { quiet: true, signal })
  const seen = await forEachStored(stored, (object) => {
    const problem = problemOf(object)
    if (problem === undefined || ++count > MAX_NAMED) return
    broken.push(`${crd.spec.names.kind} "${formatKey(keyOf(object))}" (${problem})`)
  })
  if (count === 0) return undefined
  const names = broken.join(', ') + (count > MAX_NAMED ? ', …' : '')
  return { count: `${count} of ${seen} stored objects`, names }
}

/** Returns an error about a narrower schema; with `narrow`, logs a warning instead. */
function refused(
  crd: CustomResourceDefinition,
  ours: CustomResourceVersion,
  narrowing: SchemaChange,
  what: string,
  { log, narrow }: Work,
): string | undefined {
  const which = schemaText(crd, ours)
  if (!narrow) {
    const remedy = "change the objects or the schema, or set crds: { mode: 'install', narrow: true }"
    return `${cannotInstall(crd)}: ${which} becomes narrower (${changeText(narrowing)}), and ${what}; ${remedy}`
  }
  log.warn(`${titleOf(crd)}: ${which} becomes narrower (${changeText(narrowing)}), and ${what}`)
  return undefined
}

function schemaText(crd: CustomResourceDefinition, ours: CustomResourceVersion): string {
  return crd.spec.conversion ? `the schema of ${ours.name}` : 'its schema'
}
