/** Installs or verifies the CustomResourceDefinitions of an operator's kinds at its start. */
import { jsonEqual } from '../core/equal.ts'
import { firstOf, isReason, messageOf } from '../core/errors.ts'
import { formatKey, keyOf, type KubeObject } from '../core/objects.ts'
import {
  type AnyResource,
  CRD,
  type CustomResourceConversion,
  type CustomResourceDefinition,
  type CustomResourceVersion,
  groupResourceOf,
  type JsonSchema,
} from '../core/resource.ts'
import { type Clock, sleep } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import { isMissingKind, isMissingObject } from '../client/codec.ts'
import { pages } from '../client/pages.ts'
import { type ConversionDescription, withConverted } from '../schema/conversions.ts'
import { crdDifferences } from '../schema/crd_differences.ts'
import { crdOf } from '../schema/crds.ts'
import { changeText, isNarrowing, prunedField, type SchemaChange, schemaChanges } from '../schema/schema_changes.ts'
import { findObject, treatLeftovers } from '../webhook/leftovers.ts'
import { isOwnConversion } from '../webhook/ownership.ts'
import { upFailure } from '../webhook/conversion.ts'
import { forEachStored, resourceOf, storedVersions } from './stored_objects.ts'

type Spec = CustomResourceDefinition['spec']

interface Crd extends KubeObject {
  readonly spec: Omit<Spec, 'conversion'> & {
    readonly conversion?: CustomResourceConversion | { readonly strategy: 'None' }
  }
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
    readonly storedVersions?: readonly string[]
  }
}

export interface Dependencies {
  /** Fenced for the leader. */
  readonly api: Api
  readonly clock: Clock
  readonly log: Log
  readonly fieldManager: string
  /** Whether to install a schema that stored objects do not fit. Default: false. */
  readonly narrow?: boolean | undefined
  /** Whether the operator works without the cluster, so only the leader refuses definitions there. Default: false. */
  readonly optional?: boolean | undefined
  /** The operator's conversions. Default: none. */
  readonly conversions?: readonly ConversionDescription[] | undefined
  /** The `spec.conversion` of kinds with conversions. Without a `caBundle`, the one in the cluster is kept. */
  readonly conversion?: CustomResourceConversion | undefined
  /** Adds our CAs to those of a stored conversion that calls our server. Default: ours replace them. */
  readonly mergeCas?: ((stored: string, ours: string) => string) | undefined
  /** The namespace of the Service of the operator's webhooks, for the command that errors name. */
  readonly serviceNamespace?: string | undefined
  /** What the caches of this replica need. Default: all. */
  readonly watched?: readonly AnyResource[] | undefined
  /** Where what an earlier release may have left is called. Default: nothing is left. */
  readonly leftovers?: Leftovers | undefined
}

interface Leftovers {
  /** The namespace of the operator's Services. Undefined where it has none. */
  readonly namespace: string | undefined
  /** Whether this release has webhooks, which treats what is left of others. */
  readonly hasWebhooks: boolean
}

/** The time limit for the server to serve a kind after its CRD was written. */
const ESTABLISH_MS = 30_000

/** The time limit for the deletion of a CRD, as its objects may wait for this operator to remove a finalizer. */
const DELETION_MS = 10_000

/** The time limit for the server to use a new address of the conversion. */
const CONVERTED_MS = 10_000

/** The maximum number of tries to write a CRD after conflicts. */
const MAX_TRIES = 5

/** The maximum number of differences, or of objects that do not fit a schema, in a message. */
const MAX_NAMED = 5

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
  const { log, watched = resources } = dependencies
  await writeCrds(resources, dependencies, signal, async (crd, before, isBroken) => {
    await refuseEarly(crd, before, resources, dependencies, signal)
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
      log.info(
        `${titleOf(crd)} in this cluster differs from that of this replica: ${
          changeText(difference)
        }; the leader installs its own`,
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

/** Throws for a kind of another cluster with refinements: only the operator's own cluster calls its webhooks. */
export function refuseUnchecked(elsewhere: readonly AnyResource[]): void {
  const found = elsewhere.find(({ definition }) => definition?.hasRefinements)
  if (!found) return
  throw new TypeError(
    `Cannot start: nothing checks the refinements in the schema of ${found.kind} in another cluster, which does not ` +
      "call this operator's webhooks; define it there without them, or watch it with optional: true if another " +
      'operator there admits it',
  )
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
 * the conversion of a kind for which the operator has none.
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
  await writeCrds(resources, dependencies, signal, async (crd, before) => {
    refuseLostVersion(crd, before)
    before = await checkedByLeader(crd, before, resources, dependencies, signal)
    const { annotations } = crd.metadata
    const metadata = {
      ...before.metadata,
      ...(annotations && { annotations: { ...before.metadata.annotations, ...annotations } }),
    }
    const conversion = wantedConversion(crd, before, dependencies)
    return { ...before, metadata, spec: { ...before.spec, ...crd.spec, ...(conversion && { conversion }) } }
  })
  const { leftovers, fieldManager: operator } = dependencies
  if (leftovers && !leftovers.hasWebhooks) {
    await treatLeftovers(true, { ...dependencies, ...leftovers, operator }, signal)
  }
}

/**
 * Checks stored objects, which are read by the conversion that is there, and by our own if that does not answer. After
 * a refusal, the address is as it was.
 */
async function checkedByLeader(
  crd: CustomResourceDefinition,
  before: Crd,
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<Crd> {
  const check = async (): Promise<string | undefined> =>
    await checkUp(crd, before, dependencies, signal) ??
      await checkStored(crd, before, resources, dependencies, signal)
  const early = await check().then((refusal) => ({ refusal }), (error: unknown) => {
    if (signal.aborted || !isUnconverted(error)) throw error
    return undefined
  })
  const moved = early ? before : await withOurAddress(crd, before, dependencies, signal)
  try {
    const refusal = early ? early.refusal : await untilConverted(check, dependencies.clock, signal)
    if (refusal !== undefined) throw new Error(refusal)
    return moved
  } catch (error) {
    const now = moved === before || signal.aborted ? undefined : await find(dependencies.api, crd.metadata.name, signal)
    const conversion = before.spec.conversion!
    if (now) await write({ ...now, spec: { ...now.spec, conversion } }, dependencies, signal)
    throw error
  }
}

/**
 * Writes the address of our webhooks into a CRD whose conversion has another one, which may not answer: the check of
 * stored objects reads them in all versions.
 */
async function withOurAddress(
  crd: CustomResourceDefinition,
  before: Crd,
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<Crd> {
  const conversion = conversionOf(crd, before, dependencies.mergeCas)
  const there = before.spec.conversion
  if (!conversion || there?.strategy !== 'Webhook' || jsonEqual(conversion, there)) return before
  return await write({ ...before, spec: { ...before.spec, conversion } }, dependencies, signal)
}

async function write(next: Crd, { api, fieldManager }: Dependencies, signal: AbortSignal): Promise<Crd> {
  return (await api.update({ resource: CRD, name: next.metadata.name }, next, { fieldManager }, signal)).object as Crd
}

/**
 * Throws what {@link installCrds} would throw, and writes nothing. The check is left to the leader while the webhook of
 * the conversion, which may be this replica's own, does not answer, and while a new kind is not served yet.
 */
async function refuseEarly(
  crd: CustomResourceDefinition,
  before: Crd,
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  if (dependencies.optional) return
  refuseLostVersion(crd, before)
  const early = async (check: typeof checkUp): Promise<void> => {
    const refusal = await check(crd, before, dependencies, signal).catch((error: unknown) => {
      if (signal.aborted || !(isUnconverted(error) || isMissingKind(error))) throw error
      return undefined
    })
    if (refusal !== undefined) throw new Error(refusal)
  }
  await early(checkUp)
  if (!dependencies.narrow) await early(() => checkStored(crd, before, resources, dependencies, signal))
}

/** Throws if objects may be stored in a version that the operator does not define. */
function refuseLostVersion(crd: CustomResourceDefinition, { status }: Crd): void {
  const ours = new Set(crd.spec.versions.map(({ name }) => name))
  const lost = status?.storedVersions?.find((name) => !ours.has(name))
  if (lost === undefined) return
  throw new Error(
    `${
      cannotInstall(crd)
    }: objects may be stored as ${lost}, which this operator does not define; define it, too, until it is gone from status.storedVersions`,
  )
}

/** Tests whether a request failed because the webhook of the conversion did not answer. */
function isUnconverted(error: unknown): boolean {
  return messageOf(error).includes('conversion webhook')
}

/** Calls `work` again for at most 10 s while the server cannot convert: it uses a new address after a moment. */
async function untilConverted<T>(work: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const deadline = clock.monotonic() + CONVERTED_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isUnconverted(error) || clock.monotonic() >= deadline) throw error
    }
    await sleep(clock, 250, signal)
  }
}

/** Returns our conversion. Without CAs it has the stored ones, which another writer injects. */
function conversionOf(
  { spec: { conversion: ours } }: CustomResourceDefinition,
  { spec }: Crd,
  mergeCas: Dependencies['mergeCas'],
): Crd['spec']['conversion'] {
  if (!ours || spec.conversion?.strategy !== 'Webhook') return ours
  const { caBundle: stored, ...there } = spec.conversion.webhook.clientConfig
  const { caBundle: own, ...here } = ours.webhook.clientConfig
  if (stored === undefined) return ours
  const caBundle = own === undefined ? stored : mergeCas && jsonEqual(there, here) ? mergeCas(stored, own) : own
  return { ...ours, webhook: { ...ours.webhook, clientConfig: { ...here, caBundle } } }
}

/** Returns our conversion, or none in place of that of an earlier release. Undefined: what is there is of others. */
function wantedConversion(
  crd: CustomResourceDefinition,
  before: Crd,
  { fieldManager, leftovers, mergeCas }: Pick<Dependencies, 'fieldManager' | 'leftovers' | 'mergeCas'>,
): Crd['spec']['conversion'] {
  const there = before.spec.conversion
  if (crd.spec.conversion || !leftovers || there?.strategy !== 'Webhook') return conversionOf(crd, before, mergeCas)
  const isOwn = isOwnConversion(before, there.webhook.clientConfig, fieldManager, leftovers.namespace)
  return isOwn ? { strategy: 'None' } : undefined
}

/** Returns the new state of an existing CRD. `isBroken`: its webhook does not convert. */
type Change = (crd: CustomResourceDefinition, before: Crd, isBroken: boolean) => Promise<Crd>

async function writeCrds(
  resources: readonly AnyResource[],
  { api, clock, log, fieldManager, leftovers, conversions = [], conversion, mergeCas }: Dependencies,
  signal: AbortSignal,
  change: Change,
): Promise<void> {
  for (const crd of crdOf(resources, { conversions, conversion })) {
    const target = { resource: CRD, name: crd.metadata.name }
    const query = { fieldManager }
    if (!crd.spec.conversion && conversions.some(({ hub }) => groupResourceOf(hub) === crd.metadata.name)) {
      throw new Error(`${cannotInstall(crd)}: its versions are converted, and the operator serves no webhooks`)
    }
    refuseDifferentVersions(crd, crd.spec.conversion?.strategy)
    let isBroken = false
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
        const next = before && (await change(crd, before, isBroken))
        const isChanged = next && !jsonEqual(next, before)
        const written = !next
          ? await api.create(target, crd, query, signal)
          : isChanged
          ? await api.update(target, next, query, signal)
          : undefined
        const converts = await untilServed(crd, api, clock, signal)
        const what = !before
          ? 'Installed'
          : written && before.metadata.generation !== written.object.metadata.generation
          ? 'Updated'
          : undefined
        if (what) log.info(`${what} ${crd.metadata.name}/${crd.spec.versions.map(({ name }) => name).join(',')}`)
        const ours = next && wantedConversion(crd, next, { fieldManager, leftovers, mergeCas })
        if (converts || isBroken || !ours || jsonEqual(ours, next.spec.conversion)) break
        isBroken = true
      } catch (error) {
        const isRace = isReason(error, 'Conflict') || isReason(error, 'AlreadyExists') || isMissingObject(error)
        if (!isRace || tries === MAX_TRIES) throw error
      }
    }
  }
}

/**
 * Returns an error about stored objects that do not fit the new schema; with `narrow`, logs a warning instead. Reads
 * objects only if a schema became narrower.
 */
async function checkStored(
  crd: CustomResourceDefinition,
  before: Crd,
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { theirs, ours, served } of storedVersions(crd, before.spec.versions)) {
    const narrowing = schemaChanges(schemaOf(theirs), schemaOf(ours)).find(isNarrowing)
    if (!narrowing) continue
    const refusal = served && await checkObjects(crd, served, ours, narrowing, resources, dependencies, signal)
    if (refusal !== undefined || !crd.spec.conversion) return refusal
  }
  return undefined
}

/**
 * Returns an error about stored objects that `up` cannot convert, before the hub is stored: one of them would fail each
 * list in the hub, and could not be deleted. Each is read in the versions in which it may be stored.
 */
async function checkUp(
  crd: CustomResourceDefinition,
  { spec, status }: Crd,
  { api, log, conversions = [] }: Dependencies,
  signal: AbortSignal,
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
      const seen = await forEachStored(pages(api, { resource: resourceOf(crd, version) }, { signal }), check)
      if (count === 0) continue
      return `${
        cannotInstall(crd)
      }: up() of ${version} fails for ${count} of ${seen} stored objects, and no list in ${hub} could show any: ${
        broken.join(', ')
      }${count > MAX_NAMED ? ', …' : ''}; change or delete them, or mend up()`
    } catch (error) {
      // A role may have the right to list in some namespaces only.
      if (!isReason(error, 'Forbidden')) throw error
      log.warn(`Cannot verify ${titleOf(crd)}: ${messageOf(error)}; starting anyway`)
    }
  }
  return undefined
}

/** Reads the objects in a served version, and returns an error about those that do not fit the new schema of `ours`. */
async function checkObjects(
  crd: CustomResourceDefinition,
  served: CustomResourceVersion,
  ours: CustomResourceVersion,
  narrowing: SchemaChange,
  resources: readonly AnyResource[],
  { api, log, narrow, conversions = [] }: Dependencies,
  signal: AbortSignal,
): Promise<string | undefined> {
  const schema = schemaOf(ours)
  const { kind } = crd.spec.names
  const { definition } = withConverted(resources, conversions).find((resource) =>
    groupResourceOf(resource) === crd.metadata.name && resource.version === ours.name
  )!
  const broken: string[] = []
  let count = 0
  const stored = pages(api, { resource: resourceOf(crd, served.name) }, { signal })
  const seen = await forEachStored(stored, (object) => {
    const { metadata, ...rest } = object
    const [problem] = definition!.validate(object)
    const pruned = problem ? undefined : prunedField(rest, schema)
    if (!problem && pruned === undefined) return
    count++
    if (count > MAX_NAMED) return
    broken.push(
      `${kind} "${formatKey(keyOf({ metadata }))}" (${
        problem ? `${problem.field}: ${problem.message}` : `${pruned} would be lost`
      })`,
    )
  })
  if (count === 0) return undefined
  const which = crd.spec.conversion ? `the schema of ${ours.name}` : 'its schema'
  const what = `${which} becomes narrower (${
    changeText(narrowing)
  }), and ${count} of ${seen} stored objects don't fit it: ${broken.join(', ')}${count > MAX_NAMED ? ', …' : ''}`
  if (!narrow) {
    return `${
      cannotInstall(crd)
    }: ${what}; change the objects or the schema, or set crds: { mode: 'install', narrow: true }`
  }
  log.warn(`${titleOf(crd)}: ${what}`)
  return undefined
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
      }), so the server would drop fields without a conversion; declare one with app.convert(), or give all versions one schema`,
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

/**
 * Throws if a CRD is missing or lacks something of ours. Of a conversion, only the strategy is compared: the address of
 * the webhook may be another. Without the right to read CRDs, logs a warning instead.
 */
export async function verifyCrds(
  resources: readonly AnyResource[],
  dependencies: Dependencies,
  signal: AbortSignal,
): Promise<void> {
  const { api, log, conversions, serviceNamespace } = dependencies
  const conversion = { strategy: 'Webhook' } as CustomResourceConversion
  // The command prints the webhook configurations, too.
  const command = `kubeloop crd FILE${serviceNamespace === undefined ? '' : ` --namespace ${serviceNamespace}`}`
  const remedy = `install it: \`${command} | kubectl apply -f -\` (crds: 'install' does that at start)`
  for (const crd of crdOf(resources, { conversions, conversion })) {
    const { name } = crd.metadata
    let found: Crd | undefined
    try {
      found = await find(api, name, signal)
    } catch (error) {
      if (!isReason(error, 'Forbidden')) throw error
      log.warn(`Cannot verify ${titleOf(crd)}: ${messageOf(error)}; starting anyway`)
      continue
    }
    if (!found) throw new Error(`Cannot start: ${titleOf(crd)} is not installed in this cluster; ${remedy}`)
    if (!crd.spec.conversion) {
      refuseDifferentVersions(crd, found.spec.conversion?.strategy)
      if (wantedConversion(crd, found, dependencies)) {
        const stored = found.spec.versions.find(({ storage }) => storage)!.name
        // A rollout would end the replicas that convert.
        if (!crd.spec.versions.some(({ name }) => name === stored)) {
          throw new Error(
            `Cannot start: ${titleOf(crd)} stores ${stored}, which this operator does not define, and calls it to ` +
              'convert: run a release that converts',
          )
        }
        log.error(
          `${
            titleOf(crd)
          } has the conversion of an earlier release, and the operator has none, so reads and writes can ` +
            `fail; remove it: kubectl patch crd ${name} --type json -p ` +
            '\'[{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]\'',
        )
      }
    }
    const differences = crdDifferences(crd, found)
    if (differences.length === 0) continue
    const what = firstOf(differences, MAX_NAMED).join('; ')
    throw new Error(
      `Cannot start: ${titleOf(crd)} in this cluster does not fit this operator: ${what}; ${remedy}`,
    )
  }
  const { leftovers, fieldManager: operator } = dependencies
  if (leftovers && !leftovers.hasWebhooks) {
    await treatLeftovers(false, { ...dependencies, ...leftovers, operator }, signal)
  }
}

async function find(api: Api, name: string, signal: AbortSignal): Promise<Crd | undefined> {
  return (await findObject(api, { resource: CRD, name }, signal)) as Crd | undefined
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

/** Resolves when a kind is served, with whether its versions are converted, too. */
async function untilServed(
  crd: CustomResourceDefinition,
  api: Api,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = clock.monotonic() + ESTABLISH_MS
  for (let waitMs = 20;; waitMs = Math.min(waitMs * 2, 1000)) {
    const { spec, status } = (await api.get({ resource: CRD, name: crd.metadata.name }, signal)) as Crd
    const isEstablished = status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True')
    const served = isEstablished && (await isServed(crd, spec, status?.storedVersions ?? [], api, signal))
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
  api: Api,
  signal: AbortSignal,
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
      const objects = pages(api, { resource }, { limit: isOneEnough ? 1 : undefined, signal })
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
