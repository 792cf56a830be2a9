/** Describes conversions between the versions of a kind. */
import { checkOptionNames } from '../core/option_names.ts'
import type { KubeObject } from '../core/objects.ts'
import { apiVersionOf, type DefinedResource, groupResourceOf, type Resource } from '../core/resource.ts'

/**
 * The functions that convert between an older version of a kind and its hub, which is stored.
 *
 * The API server calls them for every read and write of an object in a version other than the one in which it is
 * stored, so they must be fast, must not depend on anything but the object, and must lose nothing: `down(up(object))`
 * equals the object. `checkConversion` of `kubeloop/testing` tests that.
 *
 * Objects reach the functions with the defaults of their version's schema filled in; they are not validated. What the
 * functions return is completed in the same way, so a field with a default may be left out. The functions are
 * synchronous. What they throw fails the request that needed the conversion, with the error's message.
 *
 * @example
 * ```ts
 * import { type Conversion, defineResource } from 'kubeloop'
 * import * as z from 'zod'
 * const common = { group: 'example.com', kind: 'Site' }
 * const Old = defineResource({ ...common, version: 'v1alpha1', spec: z.object({ host: z.string() }) })
 * const Site = defineResource({ ...common, version: 'v1', spec: z.object({ hosts: z.array(z.string()) }) })
 * const conversion: Conversion<typeof Old, typeof Site> = {
 *   up: ({ spec }) => ({ spec: { hosts: [spec.host] } }),
 *   down: ({ spec }) => ({ spec: { host: spec.hosts[0] ?? '' } }),
 * }
 * ```
 */
export interface Conversion<Old extends ConvertibleKind, Hub extends ConvertibleKind> {
  /** Converts an object of the old version to the hub. */
  up(object: Read<Old>): Converted<Old, Hub>
  /** Converts an object of the hub to the old version. */
  down(object: Read<Hub>): Converted<Hub, Old>
  /**
   * Fields that are dropped on purpose, such as `spec.legacy`: those of the old version by `up`, which the checks of
   * round trips ignore, and those of the hub by `down`, of which a start then does not warn. Default: none.
   */
  readonly drops?: readonly string[]
}

/**
 * The result of a conversion. All metadata is kept, except for labels and annotations that are stated here: these
 * replace those of the object.
 */
export type Converted<From extends ConvertibleKind, To extends ConvertibleKind> =
  & {
    readonly spec: Written<To>['spec']
    readonly metadata?: {
      readonly labels?: Readonly<Record<string, string>> | undefined
      readonly annotations?: Readonly<Record<string, string>> | undefined
    }
  }
  & ConvertedStatus<StatusIn<Read<From>>, StatusIn<Read<To>>>

/**
 * The status of a conversion's result. One that is not stated is carried over as it is, so it must be stated where the
 * types differ. `undefined` drops it.
 */
export type ConvertedStatus<From, To> = [To] extends [never] ? { readonly status?: undefined }
  : [From] extends [never] ? { readonly status?: To | undefined }
  : [From] extends [To] ? { readonly status?: To | undefined }
  : { readonly status: To | undefined }

/** A kind of `defineResource`. */
// deno-lint-ignore no-explicit-any -- any kind; bounds would refuse all
export type ConvertibleKind = DefinedResource<any, any>

/** @internal */
// deno-lint-ignore no-explicit-any -- inferring T must not constrain D
type Read<R extends ConvertibleKind> = R extends Resource<infer T, any> ? T : never
/** @internal */
// deno-lint-ignore no-explicit-any -- inferring D must not constrain T
type Written<R extends ConvertibleKind> = R extends Resource<any, infer D extends { readonly spec: unknown }> ? D
  : never
/** @internal */
type StatusIn<T> = NonNullable<T['status' & keyof T]>

/** The description of a conversion between an old version and the hub of its kind. */
export interface ConversionDescription {
  readonly from: DefinedResource
  readonly hub: DefinedResource
  readonly up: (object: KubeObject) => unknown
  readonly down: (object: KubeObject) => unknown
  readonly drops: readonly string[]
}

/**
 * Checks a conversion, and returns its description. `known`: the operator's other conversions.
 *
 * @throws TypeError if a function is missing, if the two are not versions of one kind, or if the conversions of the
 * kind have different hubs.
 */
export function describeConversion<Old extends ConvertibleKind, Hub extends ConvertibleKind>(
  from: Old,
  hub: Hub,
  conversion: NoInfer<Conversion<Old, Hub>>,
  known: readonly ConversionDescription[] = [],
): ConversionDescription {
  const cannot = `Cannot convert ${titleOf(from)} to ${titleOf(hub)}`
  const refuse = (problem: string): never => {
    throw new TypeError(`${cannot}: ${problem}`)
  }
  for (const each of [from, hub]) {
    if (!(each as Partial<ConvertibleKind>).definition) refuse(`${titleOf(each)} is not made by defineResource`)
  }
  for (const name of ['group', 'kind', 'plural', 'scope'] as const) {
    if (from[name] !== hub[name]) {
      refuse(`they are not versions of one kind, as their ${name} differs: "${from[name]}" and "${hub[name]}"`)
    }
  }
  if (from.version === hub.version) refuse('they are the same version')
  checkOptionNames(conversion, { up: 0, down: 0, drops: [[]] }, refuse)
  for (const name of ['up', 'down'] as const) {
    if (typeof conversion[name] !== 'function') refuse(`${name} must be a function`)
  }
  for (const other of known) {
    if (groupResourceOf(other.hub) !== groupResourceOf(hub)) continue
    if (other.hub.version !== hub.version) {
      refuse(`${titleOf(other.from)} is converted to ${other.hub.version}; all versions of a kind convert to one hub`)
    }
    if (other.from.version === from.version) refuse('this conversion is declared already')
  }
  const { up, down, drops = [] } = conversion as unknown as ConversionDescription
  return { from, hub, up, down, drops }
}

function titleOf(resource: ConvertibleKind): string {
  return `${apiVersionOf(resource)} ${resource.kind}`
}

/** Returns the resources with the kinds of the conversions, each version once. */
export function withConverted<R extends Resource>(
  resources: Iterable<R>,
  conversions: Iterable<ConversionDescription>,
): readonly (R | DefinedResource)[] {
  const all = new Set<R | DefinedResource>(resources)
  for (const { from, hub } of conversions) all.add(from).add(hub)
  return [...all]
}
