/** Checks with random objects that conversions lose nothing. */
import type * as FastCheck from 'fast-check'
import type { $ZodType } from 'zod/v4/core'
import { deepFreeze, isFields } from '../core/clone.ts'
import { jsonEqual } from '../core/equal.ts'
import { messageOf } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { apiVersionOf, type DefinedResource } from '../core/resource.ts'
import type { ConversionDescription } from '../schema/conversions.ts'
import { isWithin } from '../schema/crd_differences.ts'
import { isRequired } from '../schema/structural.ts'
import {
  type Budget,
  conversionHandler,
  convertObjects,
  withVersionDefaults,
} from '../webhook/conversion/conversion.ts'
import type { WebhookHandler } from '../webhook/common/handler.ts'
import { arbitraryOf, type ArbitrarySetup, loadFastCheck } from './arbitrary_values.ts'

/** Options of {@link checkConversion}. */
export interface ConversionCheckOptions {
  /** The number of random objects of each version. Default: 200. */
  readonly runs?: number
  /** The seed of the random objects. Equal seeds give equal objects. Default: random; a failure names it. */
  readonly seed?: number
  /**
   * Whether objects of the hub must survive a conversion to the old version and back, too. Then clients of the old
   * version cannot drop fields of the hub that they do not know; `down` keeps such fields in an annotation. Default:
   * false.
   */
  readonly lossless?: boolean
  /**
   * Arbitraries of fast-check for fields that need other values than their schema says, by path: `spec.hosts[].port`,
   * `spec.labels{}`. Default: none.
   */
  readonly values?: Readonly<Record<string, unknown>>
}

/** What has conversions: an operator, or their descriptions. */
export type Converting =
  | readonly ConversionDescription[]
  | { readonly description: object }

/**
 * Checks each conversion of an operator with random objects of its schemas, as the API server converts them: from the
 * old version to the hub and back, nothing may be lost but the fields in `drops`; from the hub to the old version and
 * back twice, nothing more may be lost the second time. All results must be valid, must not depend on anything but the
 * object, and the functions must not change their argument.
 *
 * Needs fast-check, which is imported when this is called.
 *
 * @throws Error that names the field, its values, the smallest object found and the seed.
 * @throws ConfigError if fast-check is not installed.
 *
 * @example
 * ```ts
 * import { operator } from 'kubeloop'
 * import { checkConversion } from 'kubeloop/testing'
 * const app = operator({ name: 'sites' })
 * await checkConversion(app, { runs: 500 })
 * ```
 */
export async function checkConversion(app: Converting, options: ConversionCheckOptions = {}): Promise<void> {
  const conversions = 'description' in app ? (app.description as Described).conversions ?? [] : app
  const { runs = 200, seed, lossless = false, values = {} } = options
  const fc = await loadFastCheck('Cannot check conversions')
  const setup: ArbitrarySetup = { fc, values }
  for (const conversion of conversions) {
    const checks = roundTrips(conversion, lossless)
    for (const [from, check] of [[conversion.from, checks.old], [conversion.hub, checks.hub]] as const) {
      const property = fc.asyncProperty(objectsOf(from, setup), (object) => check(object as KubeObject))
      const result = await fc.check(property, { numRuns: runs, ...(seed !== undefined && { seed }) })
      if (result.failed) throw failure(result, from)
    }
  }
}

interface Described {
  readonly conversions?: readonly ConversionDescription[]
}

function failure(result: FastCheck.RunDetails<[unknown]>, { kind }: DefinedResource): Error {
  const { errorInstance, counterexample, seed } = result
  const object = counterexample ? `; the ${kind} is ${JSON.stringify(counterexample[0])}` : ''
  const text = messageOf(errorInstance ?? 'too many random values do not fit the schemas')
  return new Error(`${text}${object}; repeat it with checkConversion(app, { seed: ${seed} })`, { cause: errorInstance })
}

/** Returns objects of a version. Names and times are constant: failures are easier to read. */
function objectsOf(resource: DefinedResource, setup: ArbitrarySetup): FastCheck.Arbitrary<unknown> {
  const { fc } = setup
  const { spec, status } = resource.definition.schemas as { readonly spec: $ZodType; readonly status?: $ZodType }
  const texts = fc.dictionary(fc.constantFrom('a', 'b.dev/c'), fc.constantFrom('', 'x'), { maxKeys: 2 })
  const optional = { labels: texts, annotations: texts }
  const metadata = fc.record(optional, { requiredKeys: [] }).map((some) => ({
    name: 'example',
    ...(resource.scope === 'Namespaced' && { namespace: 'default' }),
    uid: '00000000-0000-4000-8000-000000000000',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...some,
  }))
  const parts = {
    metadata,
    spec: arbitraryOf(spec, 'spec', setup),
    ...(status && { status: arbitraryOf(status, 'status', setup) }),
  }
  const head = { apiVersion: apiVersionOf(resource), kind: resource.kind }
  return fc.record(parts, { requiredKeys: isRequired(spec) ? ['metadata', 'spec'] : ['metadata'] })
    .map((object) => withVersionDefaults(resource, JSON.parse(JSON.stringify({ ...head, ...object })) as KubeObject))
}

/** A review of one object takes no turn. */
const UNLIMITED: Budget = { isSpent: false, turn: () => Promise.resolve() }

/** Returns checks of an object of the old version, and of the hub, by round trips through the bytes of reviews. */
function roundTrips(conversion: ConversionDescription, lossless: boolean): Record<'old' | 'hub', Check> {
  const { from, hub, drops, up, down } = conversion
  const frozen = {
    ...conversion,
    up: (object: KubeObject) => up(deepFreeze(object)),
    down: (object: KubeObject) => down(deepFreeze(object)),
  }
  const handler = conversionHandler({ conversions: [frozen], budget: UNLIMITED, onThrow: () => {} })
  return {
    async old(object) {
      const there = await converted(handler, object, hub)
      const back = await converted(handler, there, from)
      compare(object, back, [from, hub, from], there, drops)
    },
    async hub(object) {
      const there = await converted(handler, object, from)
      const back = await converted(handler, there, hub)
      if (lossless) return compare(object, back, [hub, from, hub], there, [])
      const again = await converted(handler, back, from)
      compare(there, again, [from, hub, from], back, drops)
    },
  }
}

type Check = (object: KubeObject) => Promise<void>

async function converted(handler: WebhookHandler, object: KubeObject, to: DefinedResource): Promise<KubeObject> {
  const [result] = await convertObjects(handler, [object], apiVersionOf(to))
  const [again] = await convertObjects(handler, [object], apiVersionOf(to))
  const cannot = `Cannot convert ${object.kind} from ${object.apiVersion} to ${to.version}`
  const [change] = differences(result, again)
  if (change) throw new Error(`${cannot}: the same object gives two results: ${change.text}`)
  const [problem] = to.definition.validate(result)
  if (problem) throw new Error(`${cannot}: the result is not valid: ${problem.field}: ${problem.message}`)
  return result!
}

function compare(
  before: KubeObject,
  after: KubeObject,
  way: readonly DefinedResource[],
  between: KubeObject,
  drops: readonly string[],
): void {
  const change = differences(before, after).find(({ path }) => !drops.some((drop) => isWithin(path, drop)))
  if (!change) return
  const versions = way.map(({ version }) => version).join(' → ')
  const { metadata: _, ...rest } = between
  throw new Error(
    `${before.kind} does not survive ${versions}: ${change.text}; between, it is ${JSON.stringify(rest)}`,
  )
}

interface Difference {
  /** With `[]` for the items of lists. */
  readonly path: string
  readonly text: string
}

/** Returns the fields in which two JSON values differ. */
function differences(before: unknown, after: unknown, path = '', place = ''): readonly Difference[] {
  if (jsonEqual(before, after)) return []
  const isList = Array.isArray(before) && Array.isArray(after)
  if (isList ? before.length === after.length : isFields(before) && isFields(after)) {
    return [...new Set([...Object.keys(before as object), ...Object.keys(after as object)])].flatMap((name) => {
      const [a, b] = [before, after].map((value) => (value as Record<string, unknown>)[name])
      const dot = path ? '.' : ''
      return differences(
        a,
        b,
        isList ? `${path}[]` : `${path}${dot}${name}`,
        isList ? `${place}[${name}]` : `${place}${dot}${name}`,
      )
    })
  }
  const [was, is] = [before, after].map((value) => JSON.stringify(value) ?? 'absent')
  // The API server stores no empty labels and annotations.
  if (
    /^metadata\.(?:labels|annotations)$/.test(path) && [was, is].every((text) => text === '{}' || text === 'absent')
  ) {
    return []
  }
  return [{ path, text: `${place} is ${is} after it, and was ${was}` }]
}
