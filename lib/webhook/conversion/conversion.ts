/**
 * Converts objects between the versions of a kind: answers the ConversionReviews of the API server.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion
 */
import { isFields } from '../../core/clone.ts'
import { withDefaults } from '../../core/schema_defaults.ts'
import { jsonEqual } from '../../core/equal.ts'
import { messageOf } from '../../core/errors.ts'
import { parseExactList, stringifyExact } from '../../core/exact_json.ts'
import { formatKey, type KubeObject } from '../../core/objects.ts'
import { splitApiVersion } from '../../core/owners.ts'
import { apiVersionOf, type DefinedResource } from '../../core/resource.ts'
import type { TurnBudget } from '../../async/clock.ts'
import type { ConversionDescription } from '../../schema/conversions.ts'
import type { WebhookHandler, WebhookResponse } from '../common/handler.ts'
import { completed } from './pruned_objects.ts'

/** The path of conversions: that of controller-runtime. */
export const CONVERT_PATH = '/convert'

/** The part of {@link TurnBudget} that is used. */
export type Budget = Pick<TurnBudget, 'isSpent' | 'turn'>

export interface ConversionOptions {
  readonly conversions: readonly ConversionDescription[]
  /** The time that long-running work may take in one turn: `turnBudgetOf(clock)`, of the bundle that has the others. */
  readonly budget: Budget
  /** Called when a function of the user's throws, or returns what cannot be an object of the version. */
  readonly onThrow: (error: unknown, what: string) => void
}

/**
 * Returns a handler for the ConversionReviews of the kinds with conversions. All objects of a review are converted, in
 * order, or none. A review that can be read is answered with 200: its result is a Failure whose message names the
 * object and the reason. The API server shows the message to the client whose request needed the conversion.
 */
export function conversionHandler({ conversions, budget, onThrow }: ConversionOptions): WebhookHandler {
  const kinds = kindsOf(conversions)
  return async ({ body, signal }) => {
    const review = readReview(body)
    if (typeof review === 'string') return { status: 400, body: review }
    const { apiVersion, uid, desired, objects } = review
    const converted: string[] = []
    for (const [at, object] of objects.entries()) {
      try {
        converted.push(convertOne(kinds, object, desired, at))
      } catch (error) {
        if (error instanceof UserFailure) report(onThrow, error)
        return answer(apiVersion, uid, [], messageOf(error), error instanceof UserFailure)
      }
      // A large list must not delay the renewal of a lease.
      if (budget.isSpent) await budget.turn()
      // Without a client the result is not sent.
      if (signal.aborted) return answer(apiVersion, uid, [], 'the request was aborted')
    }
    return answer(apiVersion, uid, converted)
  }
}

/** The user's function failed. The message is for the client of the API server; the cause is what it threw. */
class UserFailure extends Error {}

function report(onThrow: ConversionOptions['onThrow'], { cause, message }: UserFailure): void {
  try {
    onThrow(cause, message)
  } catch {
    // The result reports the failure.
  }
}

interface Review {
  readonly apiVersion: string
  readonly uid: string
  readonly desired: string
  readonly objects: readonly unknown[]
}

const GROUP = 'apiextensions.k8s.io'

/** Returns the parts of a review, or why it is malformed. */
function readReview(body: Uint8Array): Review | string {
  const refuse = (problem: string): string => `Cannot read the ConversionReview: ${problem}`
  if (body.byteLength === 0) return refuse('the body is empty')
  let review: unknown
  try {
    review = parseExactList(new TextDecoder().decode(body), (value) => requestOf(value)?.['objects'] as unknown[])
  } catch {
    // The parser's message quotes the text, which may be part of an object.
    return refuse('the body is not JSON')
  }
  if (!isFields(review)) return refuse('it is not an object')
  const request = requestOf(review)
  if (!request) return refuse('it has no request')
  const { uid = '', desiredAPIVersion = '', objects = [] } = request
  if (typeof uid !== 'string') return refuse('request.uid is not a string')
  if (typeof desiredAPIVersion !== 'string') return refuse('request.desiredAPIVersion is not a string')
  if (objects !== null && !Array.isArray(objects)) return refuse('request.objects is not a list')
  const apiVersion = review['apiVersion'] === `${GROUP}/v1beta1` ? `${GROUP}/v1beta1` : `${GROUP}/v1`
  return { apiVersion, uid, desired: desiredAPIVersion, objects: objects ?? [] }
}

function requestOf(review: unknown): Readonly<Record<string, unknown>> | undefined {
  const request = isFields(review) ? review['request'] : undefined
  return isFields(request) ? request : undefined
}

function answer(
  apiVersion: string,
  uid: string,
  converted: readonly string[],
  problem?: string,
  failed = false,
): WebhookResponse {
  const result = problem === undefined ? { status: 'Success' } : { status: 'Failure', message: problem }
  const [head, tail] = [{ apiVersion, kind: 'ConversionReview' }, { uid, result }].map((part) => JSON.stringify(part))
  const response = `${tail!.slice(0, -1)},"convertedObjects":[${converted.join(',')}]}`
  return { status: 200, body: `${head!.slice(0, -1)},"response":${response}}`, ...(failed && { failed }) }
}

/** A kind with its hub and the conversions of its other versions, by their names. */
interface Kind {
  readonly hub: DefinedResource
  readonly spokes: Map<string, ConversionDescription>
}

type Kinds = ReadonlyMap<string, Kind>

/** Returns the kinds by group and name. */
function kindsOf(conversions: readonly ConversionDescription[]): Kinds {
  const kinds = new Map<string, Kind>()
  for (const conversion of conversions) {
    const { hub, from } = conversion
    const id = `${hub.group}/${hub.kind}`
    const kind = kinds.get(id) ?? { hub, spokes: new Map<string, ConversionDescription>() }
    kind.spokes.set(from.version, conversion)
    kinds.set(id, kind)
  }
  return kinds
}

/** Returns the JSON of an object in the desired version. */
function convertOne(kinds: Kinds, object: unknown, desired: string, at: number): string {
  const title = titleOf(object)
  if (title === undefined) {
    throw new TypeError(`Cannot convert item ${at} to ${desired}: it has no apiVersion, kind or metadata`)
  }
  const { apiVersion, kind: name } = object as KubeObject
  const cannot = `Cannot convert ${title} from ${apiVersion} to ${desired}`
  const { group, version } = splitApiVersion(apiVersion)
  const { group: desiredGroup, version: desiredVersion } = splitApiVersion(desired)
  if (group !== desiredGroup) throw new TypeError(`${cannot}: they are of different API groups`)
  if (version === desiredVersion) throw new TypeError(`${cannot}: it has that version`)
  const kind = kinds.get(`${group}/${name}`)
  if (!kind) throw new TypeError(`${cannot}: this operator does not convert ${name}`)
  const [from, to] = [version, desiredVersion].map((one) => kind.spokes.get(one)) as [Spoke, Spoke]
  for (const [wanted, spoke] of [[version, from], [desiredVersion, to]] as const) {
    if (spoke || wanted === kind.hub.version) continue
    const known = [kind.hub.version, ...kind.spokes.keys()].join(', ')
    throw new TypeError(`${cannot}: this operator has no version ${wanted} of ${name}; it has ${known}`)
  }
  const convert = (old: KubeObject): KubeObject => {
    const current = from ? step(from, 'up', old, cannot) : old
    return to ? step(to, 'down', current, cannot) : current
  }
  const current = convertWhole(convert, from?.from ?? kind.hub, object as KubeObject)
  try {
    return stringifyExact(current, cannot.replace(/^Cannot /, ''), object as KubeObject)
  } catch (error) {
    const text = messageOf(error)
    throw text.startsWith(cannot) ? error : new TypeError(`${cannot}: ${text}`, { cause: error })
  }
}

/** Converts an object with the defaults of its version; if that fails and it lacks required fields, with empty ones. */
function convertWhole(
  convert: (object: KubeObject) => KubeObject,
  version: DefinedResource,
  object: KubeObject,
): KubeObject {
  const known = withVersionDefaults(version, object)
  try {
    return convert(known)
  } catch (error) {
    const whole = completed(schemaOf(version), known)
    if (whole === known) throw error
    try {
      return convert(withVersionDefaults(version, whole as KubeObject))
    } catch {
      throw error
    }
  }
}

type Spoke = ConversionDescription | undefined

/** Returns `Kind "namespace/name"`. Undefined for what is not an object of the API. */
function titleOf(object: unknown): string | undefined {
  if (!isFields(object)) return undefined
  const { apiVersion, kind, metadata } = object
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !apiVersion || !kind) return undefined
  if (!isFields(metadata)) return undefined
  const { namespace, name, generateName } = metadata as { readonly [field: string]: string | undefined }
  return `${kind} "${formatKey({ namespace, name: name ?? generateName ?? '' })}"`
}

/** The characters of a thrown error's message that a result repeats. */
const MAX_MESSAGE = 1000

/** Calls a function of the user's, and returns the object in the other version. */
function step(conversion: ConversionDescription, by: 'up' | 'down', object: KubeObject, cannot: string): KubeObject {
  const to = by === 'up' ? conversion.hub : conversion.from
  try {
    return withVersionDefaults(to, combined(object, conversion[by](object), to))
  } catch (error) {
    const text = messageOf(error).slice(0, MAX_MESSAGE)
    throw new UserFailure(`${cannot}: ${by}() of ${conversion.from.version} failed: ${text}`, { cause: error })
  }
}

/** Returns why an object of the old version cannot be converted to the hub, or undefined. */
export function upFailure(conversion: ConversionDescription, object: KubeObject): string | undefined {
  try {
    step(conversion, 'up', withVersionDefaults(conversion.from, object), '')
    return undefined
  } catch (error) {
    return messageOf((error as Error).cause).slice(0, MAX_MESSAGE)
  }
}

/**
 * Returns the object in the other version: what the function returned, with the metadata of the object except for
 * labels and annotations, and with its status if none is stated.
 *
 * @throws TypeError if the result lacks the spec, changes other metadata, or has values that JSON has no form for.
 */
function combined(object: KubeObject, result: unknown, to: DefinedResource): KubeObject {
  if (result instanceof Promise) throw new TypeError('it returned a Promise; a conversion must be synchronous')
  if (!isFields(result)) throw new TypeError('it returned no object; it must return { spec }')
  const { spec } = result
  // Of an object without a spec, in a version that needs none.
  const isAbsent = spec === undefined && (object as { readonly spec?: unknown }).spec === undefined && !needsSpec(to)
  if (!isFields(spec) && !isAbsent) throw new TypeError('it returned no spec')
  const hasStatus = statesStatus(to)
  const status = 'status' in result ? result['status'] : (object as { readonly status?: unknown }).status
  const problem = notJson({ spec, status: hasStatus ? status : undefined })
  if (problem !== undefined) throw new TypeError(`it returned ${problem}, for which JSON has no form`)
  return {
    // Numbers that JavaScript cannot represent are known by the object.
    ...object,
    apiVersion: apiVersionOf(to),
    metadata: metadataOf(object.metadata, result['metadata']),
    spec,
    status: hasStatus ? status : undefined,
  } as KubeObject
}

const CHANGEABLE: readonly string[] = ['labels', 'annotations']

function metadataOf(metadata: KubeObject['metadata'], stated: unknown): KubeObject['metadata'] {
  if (stated === undefined || stated === metadata) return metadata
  if (!isFields(stated)) throw new TypeError('it returned metadata that is no object')
  const changed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(stated)) {
    const before = (metadata as unknown as Record<string, unknown>)[name]
    if (value === undefined || value === before) continue
    if (CHANGEABLE.includes(name)) {
      if (!isFields(value) || !Object.values(value).every((text) => typeof text === 'string')) {
        throw new TypeError(`it returned metadata.${name} that are not strings by name`)
      }
      changed[name] = value
    } else if (!jsonEqual(value, before)) {
      throw new TypeError(`it changed metadata.${name}; a conversion may change labels and annotations only`)
    }
  }
  return { ...metadata, ...changed }
}

function schemaOf({ definition }: DefinedResource): Readonly<Record<string, unknown>> {
  return definition.crd.spec.versions[0]!.schema.openAPIV3Schema
}

function needsSpec(resource: DefinedResource): boolean {
  return (schemaOf(resource)['required'] as readonly string[] | undefined)?.includes('spec') === true
}

function statesStatus(resource: DefinedResource): boolean {
  return Object.hasOwn(schemaOf(resource)['properties'] as object, 'status')
}

/** Returns the object with the defaults of its version's schema. */
export function withVersionDefaults(resource: DefinedResource, object: KubeObject): KubeObject {
  return withDefaults(schemaOf(resource), object) as KubeObject
}

/** Returns the path and the value of what JSON.stringify would change, or undefined. Bounded by no depth. */
function notJson(root: object): string | undefined {
  const rest: (readonly [value: object, path: string])[] = [[root, '']]
  for (let next = rest.pop(); next; next = rest.pop()) {
    const [within, path] = next
    const isList = Array.isArray(within)
    for (const [name, value] of Object.entries(within) as [string, unknown][]) {
      const at = (): string => isList ? `${path}[${name}]` : path ? `${path}.${name}` : name
      switch (typeof value) {
        case 'string':
        case 'boolean':
          break
        case 'number':
          if (!Number.isFinite(value)) return `${at()} as ${value}`
          break
        case 'undefined':
          if (isList) return `${at()} as undefined`
          break
        case 'object':
          if (value === null) break
          if ('toJSON' in value && typeof value.toJSON === 'function') return `${at()} as a ${value.constructor.name}`
          rest.push([value, at()])
          break
        default:
          return `${at()} as a ${typeof value}`
      }
    }
  }
  return undefined
}

/**
 * Converts objects by a handler, through the same bytes as the API server's requests: for tests.
 *
 * @throws Error with the message of the result if one of them cannot be converted.
 */
export async function convertObjects(
  handler: WebhookHandler,
  objects: readonly object[],
  desiredAPIVersion: string,
): Promise<readonly KubeObject[]> {
  const uid = 'test'
  const request = { uid, desiredAPIVersion, objects }
  const text = JSON.stringify({ apiVersion: `${GROUP}/v1`, kind: 'ConversionReview', request })
  const { status, body } = await handler({
    contentType: 'application/json',
    body: new TextEncoder().encode(text),
    signal: new AbortController().signal,
  })
  if (status !== 200) throw new Error(body)
  const { response } = JSON.parse(body) as {
    readonly response: {
      readonly result: { readonly status: string; readonly message?: string }
      readonly convertedObjects: readonly KubeObject[]
    }
  }
  if (response.result.status !== 'Success') throw new Error(response.result.message)
  return response.convertedObjects
}
