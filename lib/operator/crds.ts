/** Installs or verifies the CustomResourceDefinitions of an operator's kinds at its start. */
import { jsonEqual } from '../core/equal.ts'
import { firstOf, isReason, messageOf } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import {
  type AnyResource,
  CRD,
  type CustomResourceDefinition,
  type CustomResourceVersion,
  groupResourceOf,
  type JsonSchema,
} from '../core/resource.ts'
import { type Clock, nextTurn, sleep } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import { isMissingObject } from '../client/codec.ts'
import { pages } from '../client/pages.ts'
import { crdDifferences } from '../schema/crd_differences.ts'
import { crdOf } from '../schema/crds.ts'
import { changeText, isNarrowing, prunedField, schemaChanges } from '../schema/schema_changes.ts'

interface Crd extends KubeObject {
  readonly spec: CustomResourceDefinition['spec'] & { readonly conversion?: { readonly strategy?: string } }
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
    readonly storedVersions?: readonly string[]
  }
}

interface Dependencies {
  /** Fenced for the leader. */
  readonly api: Api
  readonly clock: Clock
  readonly log: Log
  readonly fieldManager: string
  /** Whether to install a schema that stored objects do not fit. Default: false. */
  readonly narrow?: boolean | undefined
}

/** The time limit for the server to serve a kind after its CRD was written. */
const ESTABLISH_MS = 30_000

/** The time limit for the deletion of a CRD, as its objects may wait for this operator to remove a finalizer. */
const DELETION_MS = 10_000

/** The maximum number of tries to write a CRD after conflicts. */
const MAX_TRIES = 5

/** The number of objects checked in one turn of the event loop, which must also renew the lease. */
const CHECKED_PER_TURN = 50

/** The maximum number of differences, or of objects that do not fit a schema, in a message. */
const MAX_NAMED = 5

/**
 * Creates missing CRDs and adds missing versions, without which a cache could never sync. Safety: every replica may do
 * this without the lease, as an added version has the schema of the stored one, so no data can get lost between them.
 * Other differences are logged and left to {@link installCrds}.
 */
export async function createCrds(
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  const { log } = dependencies
  await writeCrds(resources, dependencies, signal, (crd, before) => {
    const versions = [...before.spec.versions]
    const stored = versions.find(({ storage }) => storage)!
    for (const { name } of crd.spec.versions) {
      const at = versions.findIndex((version) => version.name === name)
      if (at < 0) versions.push({ ...stored, name, served: true, storage: false })
      else versions[at] = { ...versions[at]!, served: true }
    }
    const [difference] = schemaChanges(schemaOf(crd.spec.versions[0]!), schemaOf(stored))
    if (difference) {
      log.info(
        `${titleOf(crd)} in this cluster differs from that of this replica: ${
          changeText(difference)
        }; the leader installs its own`,
      )
    }
    return Promise.resolve({ ...before, spec: { ...before.spec, versions } })
  })
}

/**
 * Writes the CRDs of our kinds, and waits until the server serves them. Additions of others stay: labels, annotations,
 * the conversion.
 *
 * @throws TypeError if the versions of a kind have different schemas, as no conversion can be declared.
 * @throws Error without `narrow`, if a stored object would be invalid or lose fields by the new schema. Objects are
 * checked as they are read, with the defaults of the old schema. CEL rules are not evaluated; the server does that at
 * the next write of an object.
 */
export async function installCrds(
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  await writeCrds(resources, dependencies, signal, async (crd, before) => {
    const ours = new Set(crd.spec.versions.map(({ name }) => name))
    const lost = before.status?.storedVersions?.find((name) => !ours.has(name))
    if (lost) {
      throw new Error(
        `${
          cannotInstall(crd)
        }: objects may be stored as ${lost}, which this operator does not define; define it, too, until it is gone from status.storedVersions`,
      )
    }
    await checkStored(crd, before, resources, dependencies, signal)
    const { annotations } = crd.metadata
    const metadata = {
      ...before.metadata,
      ...(annotations && { annotations: { ...before.metadata.annotations, ...annotations } }),
    }
    return { ...before, metadata, spec: { ...before.spec, ...crd.spec } }
  })
}

/** Returns the new state of an existing CRD. */
type Change = (crd: CustomResourceDefinition, before: Crd) => Promise<Crd>

async function writeCrds(
  resources: readonly AnyResource[],
  { api, clock, log, fieldManager }: Dependencies,
  signal: AbortSignal,
  change: Change,
): Promise<void> {
  for (const crd of crdOf(resources)) {
    const target = { resource: CRD, name: crd.metadata.name }
    const query = { fieldManager }
    refuseDifferentVersions(crd, undefined)
    for (let tries = 1;; tries++) {
      try {
        const before = await untilDeleted(crd, api, clock, signal)
        if (before?.metadata.deletionTimestamp) {
          log.warn(`${titleOf(crd)} is being deleted, and objects hold it by their finalizers; starting anyway`)
          break
        }
        if (before && before.spec.scope !== crd.spec.scope) {
          throw new Error(
            `${
              cannotInstall(crd)
            }: its scope is ${before.spec.scope}, not ${crd.spec.scope}, and cannot change; delete it (and so its objects) first`,
          )
        }
        const next = before && (await change(crd, before))
        const isChanged = next && !jsonEqual(next, before)
        const written = !next
          ? await api.create(target, crd, query, signal)
          : isChanged
          ? await api.update(target, next, query, signal)
          : undefined
        await untilServed(crd, api, clock, signal)
        const what = !before
          ? 'Installed'
          : written && before.metadata.generation !== written.object.metadata.generation
          ? 'Updated'
          : undefined
        if (what) log.info(`${what} ${crd.metadata.name}/${crd.spec.versions.map(({ name }) => name).join(',')}`)
        break
      } catch (error) {
        const isRace = isReason(error, 'Conflict') || isReason(error, 'AlreadyExists') || isMissingObject(error)
        if (!isRace || tries === MAX_TRIES) throw error
      }
    }
  }
}

/** Throws for stored objects that do not fit the new schema. Reads objects only if a schema became narrower. */
async function checkStored(
  crd: CustomResourceDefinition,
  before: Crd,
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  const { api, log, narrow } = dependencies
  const ours = crd.spec.versions.find(({ storage }) => storage)!
  const schema = schemaOf(ours)
  const narrowing = before.spec.versions.flatMap((theirs) => schemaChanges(schemaOf(theirs), schema)).find(isNarrowing)
  const served = before.spec.versions.find(({ served }) => served)
  if (!narrowing || !served) return
  const { group, scope, names: { kind, plural } } = crd.spec
  const { definition } = resources.find((resource) =>
    groupResourceOf(resource) === crd.metadata.name && resource.version === ours.name
  )!
  const broken: string[] = []
  let seen = 0, count = 0
  for await (
    const { items } of pages(api, { resource: { group, version: served.name, kind, plural, scope } }, { signal })
  ) {
    for (const object of items) {
      if (++seen % CHECKED_PER_TURN === 0) await nextTurn()
      const { metadata, ...rest } = object
      const [problem] = definition!.validate(object)
      const pruned = problem ? undefined : prunedField(rest, schema)
      if (!problem && pruned === undefined) continue
      count++
      if (count <= MAX_NAMED) {
        broken.push(
          `${kind} "${formatKey(keyOf({ metadata }))}" (${
            problem ? `${problem.field}: ${problem.message}` : `${pruned} would be lost`
          })`,
        )
      }
    }
  }
  if (count === 0) return
  const what = `its schema becomes narrower (${
    changeText(narrowing)
  }), and ${count} of ${seen} stored objects don't fit it: ${broken.join(', ')}${count > MAX_NAMED ? ', …' : ''}`
  if (!narrow) {
    throw new Error(
      `${
        cannotInstall(crd)
      }: ${what}; change the objects or the schema, or set crds: { mode: 'install', narrow: true }`,
    )
  }
  log.warn(`${titleOf(crd)}: ${what}`)
}

/**
 * Throws if versions differ and the server cannot convert: with strategy None it drops the fields that one of them
 * lacks.
 */
function refuseDifferentVersions({ metadata, spec }: CustomResourceDefinition, strategy: string | undefined): void {
  const [first, ...others] = spec.versions
  if (strategy === 'Webhook') return
  for (const other of others) {
    const [change] = schemaChanges(schemaOf(first!), schemaOf(other))
    if (!change) continue
    throw new TypeError(
      `Cannot serve versions ${
        first!.name
      } and ${other.name} of "${metadata.name}": their schemas differ (in ${other.name}, ${
        changeText(change)
      }), so the server would drop fields without a conversion; give all versions one schema, or define one version`,
    )
  }
}

function schemaOf(version: Partial<CustomResourceVersion>): JsonSchema {
  return version.schema?.openAPIV3Schema ?? {}
}

function titleOf({ metadata }: CustomResourceDefinition): string {
  return `CustomResourceDefinition "${metadata.name}"`
}

function cannotInstall(crd: CustomResourceDefinition): string {
  return `Cannot install ${titleOf(crd)}`
}

/** Throws if a CRD is missing or lacks something of ours. Without the right to read CRDs, logs a warning instead. */
export async function verifyCrds(
  resources: readonly AnyResource[],
  { api, log }: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  for (const crd of crdOf(resources)) {
    const { name } = crd.metadata
    const remedy = `install it: \`kubeloop crd FILE | kubectl apply -f -\` (crds: 'install' does that at start)`
    let found: Crd | undefined
    try {
      found = await find(api, name, signal)
    } catch (error) {
      if (!isReason(error, 'Forbidden')) throw error
      log.warn(`Cannot verify ${titleOf(crd)}: ${messageOf(error)}; starting anyway`)
      continue
    }
    if (!found) throw new Error(`Cannot start: ${titleOf(crd)} is not installed in this cluster; ${remedy}`)
    refuseDifferentVersions(crd, found.spec.conversion?.strategy)
    const differences = crdDifferences(crd, found)
    if (differences.length === 0) continue
    const what = firstOf(differences, MAX_NAMED).join('; ')
    throw new Error(
      `Cannot start: ${titleOf(crd)} in this cluster does not fit this operator: ${what}; ${remedy}`,
    )
  }
}

/** Returns a CRD of the cluster, or undefined. */
async function find(api: Api, name: string, signal: AbortSignal): Promise<Crd | undefined> {
  try {
    return (await api.get({ resource: CRD, name }, signal)) as Crd
  } catch (error) {
    if (isMissingObject(error)) return undefined
    throw error
  }
}

/** Returns a CRD, after a wait for its deletion if it is being deleted. */
async function untilDeleted(
  { metadata }: CustomResourceDefinition,
  api: Api,
  clock: Clock,
  signal: AbortSignal,
): Promise<Crd | undefined> {
  const deadline = clock.monotonic() + DELETION_MS
  for (;;) {
    const found = await find(api, metadata.name, signal)
    if (!found?.metadata.deletionTimestamp || clock.monotonic() >= deadline) return found
    await sleep(clock, 250, signal)
  }
}

async function untilServed(crd: CustomResourceDefinition, api: Api, clock: Clock, signal: AbortSignal): Promise<void> {
  const deadline = clock.monotonic() + ESTABLISH_MS
  for (let waitMs = 20;; waitMs = Math.min(waitMs * 2, 1000)) {
    const { status } = (await api.get({ resource: CRD, name: crd.metadata.name }, signal)) as Crd
    if (
      status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') &&
      (await isServed(crd, api, signal))
    ) return
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
async function isServed(crd: CustomResourceDefinition, api: Api, signal: AbortSignal): Promise<boolean> {
  const { group, scope, names, versions } = crd.spec
  for (const { name: version, served } of versions) {
    if (!served) continue
    const resource = { group, version, kind: names.kind, plural: names.plural, scope }
    try {
      await api.listPage({ resource }, { limit: 1 }, signal)
    } catch (error) {
      if (signal.aborted) throw error
      if (isReason(error, 'NotFound') || isReason(error, 'ServiceUnavailable') || isReason(error, 'TooManyRequests')) {
        return false
      }
      // Installation does not need the right to list; the informers report if they lack it.
      if (!isReason(error, 'Forbidden')) {
        throw new Error(`Cannot install ${groupResourceOf(resource)}: ${messageOf(error)}`, { cause: error })
      }
    }
  }
  return true
}
