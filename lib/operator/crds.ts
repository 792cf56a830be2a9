/** The CustomResourceDefinitions of an operator's own kinds, at its start: installed, or seen to be there. */
import { jsonEqual } from '../core/equal.ts'
import { isReason, messageOf } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import {
  type AnyResource,
  type CustomResourceDefinition,
  type CustomResourceVersion,
  groupResourceOf,
  type JsonSchema,
  type Resource,
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

const CRD: Resource<Crd> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
}

interface Dependencies {
  /** Of the leader: fenced. */
  readonly api: Api
  readonly clock: Clock
  readonly log: Log
  readonly fieldManager: string
  /** Whether a schema may become narrower than stored objects are. Default: false. */
  readonly narrow?: boolean | undefined
}

/** How long a server may take to serve a kind after its definition was written. */
const ESTABLISH_MS = 30_000

/** How long the end of a definition that is being deleted is awaited: its objects may be waiting for us to take off a finalizer. */
const DELETION_MS = 10_000

/** How many times a definition is read and written again when another writer was faster. */
const MAX_TRIES = 5

/** How many objects are checked in one turn of the event loop: the lease is renewed beside it. */
const CHECKED_PER_TURN = 50

/** How many differences, and objects that a narrower schema would break, are named. */
const MAX_NAMED = 5

/**
 * Creates what is missing, and changes nothing: definitions, and the versions without which a cache could never sync. Every
 * replica may do so without a lease: a version that is added has the schema of the stored one, so that nothing can get lost
 * between the two. What else differs is logged, and left to {@link installCrds}.
 */
export async function createCrds(
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  const { log } = dependencies
  await bring(resources, dependencies, signal, (crd, before) => {
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
        `${titleOf(crd)} in this cluster is not that of this replica: ${
          changeText(difference)
        }; the replica that leads installs its own`,
      )
    }
    return Promise.resolve({ ...before, spec: { ...before.spec, versions } })
  })
}

/**
 * Makes the definitions in the cluster those of our kinds, and waits until the server serves them. What others added beside the
 * versions stays: labels, annotations, the conversion.
 *
 * @throws Error if several versions of a kind have different schemas, as no conversion can be declared; and, unless `narrow`, if a
 * stored object would be invalid or lose fields by the new schema. Objects are judged as they are read: defaults of the old schema
 * are in them. CEL rules are not evaluated; the server checks them at the next write of each object.
 */
export async function installCrds(
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  await bring(resources, dependencies, signal, async (crd, before) => {
    const ours = new Set(crd.spec.versions.map(({ name }) => name))
    const lost = before.status?.storedVersions?.find((name) => !ours.has(name))
    if (lost) {
      throw new Error(
        `${
          cannotInstall(crd)
        }: objects may be stored as ${lost}, which this operator does not define; define it, too, until status.storedVersions is without it`,
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

/** What becomes of a definition that is there. */
type Change = (crd: CustomResourceDefinition, before: Crd) => Promise<Crd>

async function bring(
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
          log.warn(`${titleOf(crd)} is being deleted, and objects hold it by their finalizers; starting all the same`)
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
        await established(crd, api, clock, signal)
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

/** Throws for stored objects that the new schemas would break. Nothing is read unless a schema became narrower. */
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

/** Throws where the server would have to convert between versions and cannot: with strategy None it drops what one of them does not know. */
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
      }), and without a conversion the server drops what one of them does not know; give all versions of ${spec.names.kind} one schema, or define one version`,
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

/** Throws when a kind of ours is not served as we need it. Without the right to look, says so and goes on. */
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
      log.warn(`Cannot verify ${titleOf(crd)}: ${messageOf(error)}; starting all the same`)
      continue
    }
    if (!found) throw new Error(`Cannot start: ${titleOf(crd)} is not installed in this cluster; ${remedy}`)
    refuseDifferentVersions(crd, found.spec.conversion?.strategy)
    const differences = crdDifferences(crd, found)
    if (differences.length === 0) continue
    const others = differences.length > MAX_NAMED ? [`and ${differences.length - MAX_NAMED} more`] : []
    const what = [...differences.slice(0, MAX_NAMED), ...others].join('; ')
    throw new Error(
      `Cannot start: ${titleOf(crd)} in this cluster is not the one this operator was written for: ${what}; ${remedy}`,
    )
  }
}

/** The definition as it is in the cluster, if it is there. */
async function find(api: Api, name: string, signal: AbortSignal): Promise<Crd | undefined> {
  try {
    return (await api.get({ resource: CRD, name }, signal)) as Crd
  } catch (error) {
    if (isMissingObject(error)) return undefined
    throw error
  }
}

/** The definition, when it is not (or no longer) being deleted; after a while as it is. */
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

async function established(crd: CustomResourceDefinition, api: Api, clock: Clock, signal: AbortSignal): Promise<void> {
  const deadline = clock.monotonic() + ESTABLISH_MS
  for (let waitMs = 20;; waitMs = Math.min(waitMs * 2, 1000)) {
    const { status } = (await api.get({ resource: CRD, name: crd.metadata.name }, signal)) as Crd
    if (
      status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') &&
      (await serves(crd, api, signal))
    ) return
    if (clock.monotonic() >= deadline) {
      const refused = status?.conditions?.find(({ status }) => status === 'False')?.message
      throw new Error(
        `${cannotInstall(crd)}: the server does not serve it after ${ESTABLISH_MS / 1000} s${
          refused ? `: ${refused}` : ''
        }`,
      )
    }
    await sleep(clock, waitMs, signal)
  }
}

/** "Established" comes a moment before the first request is answered. */
async function serves(crd: CustomResourceDefinition, api: Api, signal: AbortSignal): Promise<boolean> {
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
      // Installing needs no right to list; the informers will say what they lack.
      if (!isReason(error, 'Forbidden')) {
        throw new Error(`Cannot install ${groupResourceOf(resource)}: ${messageOf(error)}`, { cause: error })
      }
    }
  }
  return true
}
