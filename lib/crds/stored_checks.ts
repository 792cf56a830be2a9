/** Checks stored objects: whether they fit a new schema, and whether `up` converts them. */
import { isReason, messageOf } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import { type CustomResourceDefinition, type CustomResourceVersion, groupResourceOf } from '../core/resource.ts'
import { pages } from '../client/pages.ts'
import { withConverted } from '../schema/conversions.ts'
import { changeText, prunedField, type SchemaChange } from '../schema/schema_changes.ts'
import { upFailure } from '../webhook/conversion.ts'
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
  { api, log, conversions = [], signal }: Work,
): Promise<string | undefined> {
  const hub = crd.spec.versions.find(({ storage }) => storage)!.name
  if (spec.versions.some(({ name, storage }) => storage && name === hub)) return undefined
  for (const conversion of conversions) {
    const { hub: { kind }, from: { version } } = conversion
    const isRead = spec.versions.some(({ name, served }) => served && name === version)
    if (groupResourceOf(conversion.hub) !== crd.metadata.name || !isRead) continue
    if (!status?.storedVersions?.includes(version)) continue
    const broken: string[] = []
    let count = 0
    const check = (object: KubeObject): void => {
      const problem = upFailure(conversion, object)
      if (problem !== undefined && ++count <= MAX_NAMED) {
        broken.push(`${kind} "${formatKey(keyOf(object))}" (${problem})`)
      }
    }
    try {
      const seen = await forEachStored(
        pages(api, { resource: resourceOf(crd, version) }, { quiet: true, signal }),
        check,
      )
      if (count === 0) continue
      const what =
        `up() of ${version} fails for ${count} of ${seen} stored objects, and no list in ${hub} could show any`
      return `${cannotInstall(crd)}: ${what}: ${named(broken, count)}; change or delete them, or mend up()`
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
  const { api, conversions = [], resources, signal } = work
  const schema = schemaOf(ours)
  const { kind } = crd.spec.names
  const { definition } = withConverted(resources, conversions).find((resource) =>
    groupResourceOf(resource) === crd.metadata.name && resource.version === ours.name
  )!
  const broken: string[] = []
  let count = 0
  const stored = pages(api, { resource: resourceOf(crd, served.name) }, { quiet: true, signal })
  const seen = await forEachStored(stored, (object) => {
    const { metadata, ...rest } = object
    const [problem] = definition!.validate(object)
    const pruned = problem ? undefined : prunedField(rest, schema)
    if (!problem && pruned === undefined) return
    count++
    if (count > MAX_NAMED) return
    const what = problem ? `${problem.field}: ${problem.message}` : `${pruned} would be lost`
    broken.push(`${kind} "${formatKey(keyOf({ metadata }))}" (${what})`)
  }).catch((cause: unknown) => {
    if (!isReason(cause, 'Forbidden')) throw cause
    const which = `${schemaText(crd, ours)} becomes narrower (${changeText(narrowing)})`
    throw new Error(`${cannotInstall(crd)}: ${which}, so all objects must be read: ${messageOf(cause)}`, { cause })
  })
  if (count === 0) return undefined
  const what = `${count} of ${seen} stored objects don't fit it: ${named(broken, count)}`
  return refused(crd, ours, narrowing, what, work)
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

/** Returns the first names, and whether there are more. */
function named(broken: readonly string[], count: number): string {
  return broken.join(', ') + (count > MAX_NAMED ? ', …' : '')
}
