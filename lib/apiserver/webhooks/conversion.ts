/** Converts custom objects between the versions of their definition by its conversion webhook. */
import { type ApiObject, at, clone, isObject, type Json, type JsonObject, newUid } from '../model/json.ts'
import { errorWithoutReason } from '../model/status.ts'
import { annotationFaults, labelFaults } from '../model/names.ts'
import type { WebhookClientConfig } from '../../core/resource.ts'
import { CallError } from './call.ts'
import { Suspension } from '../model/suspension.ts'
import type { Webhooks } from './session.ts'

/** A real API server gives conversions the default timeout of its requests. */
const TIMEOUT_MS = 30_000

/** The conversion of one definition. */
export interface Conversion {
  /** Returns the object in a version. Suspends the request if a webhook must be called. */
  convert(object: ApiObject, apiVersion: string): ApiObject
  /** Converts objects together, for later calls of `convert`. Suspends the request if a webhook must be called. */
  prepare(objects: readonly ApiObject[], apiVersion: string): void
  /** Calls the webhook. Rejects with a StatusError if it fails, or if its answer breaks a rule. */
  convertAll(objects: readonly ApiObject[], apiVersion: string): Promise<readonly ApiObject[]>
}

/**
 * Returns the conversion of a definition with `strategy: Webhook`, otherwise undefined. `pruned` removes the fields
 * that the version of an object does not have; as on a real server, a conversion sets no defaults.
 */
export function conversionOf(
  webhooks: Webhooks,
  crd: ApiObject,
  pruned: (object: ApiObject) => ApiObject,
): Conversion | undefined {
  const spec = crd['spec'] as JsonObject
  return at(spec, 'conversion', 'strategy') === 'Webhook' ? new WebhookConversion(webhooks, spec, pruned) : undefined
}

class WebhookConversion implements Conversion {
  readonly #webhooks: Webhooks
  readonly #pruned: (object: ApiObject) => ApiObject
  readonly #client: WebhookClientConfig
  readonly #reviewVersions: readonly Json[]
  readonly #versions: readonly string[]

  constructor(webhooks: Webhooks, spec: JsonObject, pruned: (object: ApiObject) => ApiObject) {
    this.#webhooks = webhooks
    this.#pruned = pruned
    this.#client = at(spec, 'conversion', 'webhook', 'clientConfig') as unknown as WebhookClientConfig
    this.#reviewVersions = at(spec, 'conversion', 'webhook', 'conversionReviewVersions') as Json[]
    this.#versions = (spec['versions'] as JsonObject[]).map(({ name }) => `${String(spec['group'])}/${String(name)}`)
  }

  convert(object: ApiObject, apiVersion: string): ApiObject {
    this.prepare([object], apiVersion)
    return this.#webhooks.current?.converted(object, apiVersion) ?? object
  }

  prepare(objects: readonly ApiObject[], apiVersion: string): void {
    const session = this.#webhooks.current
    if (!session) return
    const pending = objects.filter((object) =>
      object.apiVersion !== apiVersion && session.converted(object, apiVersion) === undefined
    )
    if (pending.length === 0) return
    // The failure is reported by the run that needs the objects, so that it becomes its response.
    const failed = session.failure(apiVersion)
    if (failed) throw failed
    throw new Suspension(async () => {
      try {
        const results = await this.#webhooks.within(session, () => this.convertAll(pending, apiVersion))
        for (const [index, object] of pending.entries()) session.addConverted(object, apiVersion, results[index]!)
      } catch (error) {
        session.addFailure(apiVersion, error)
      }
    })
  }

  async convertAll(objects: readonly ApiObject[], apiVersion: string): Promise<readonly ApiObject[]> {
    const pending = objects.filter((object) => object.apiVersion !== apiVersion)
    if (pending.length === 0) return objects
    const unknown = pending.find((object) => !this.#versions.includes(object.apiVersion))
    if (unknown) {
      throw errorWithoutReason(500, `request to convert CR from an invalid group/version: ${unknown.apiVersion}`)
    }
    const results = await this.#review(pending, apiVersion)
    let next = 0
    return objects.map((object) => object.apiVersion === apiVersion ? object : this.#pruned(results[next++]!))
  }

  async #review(objects: readonly ApiObject[], apiVersion: string): Promise<readonly ApiObject[]> {
    const [first] = objects
    const of = `conversion webhook for ${first!.apiVersion}, Kind=${first!.kind}`
    try {
      const converted = await this.#post(objects, apiVersion)
      if (converted.length !== objects.length) {
        throw errorWithoutReason(500, `${of} returned ${converted.length} objects, expected ${objects.length}`)
      }
      return objects.map((object, index) => checked(of, object, converted[index]!, apiVersion, index))
    } catch (error) {
      throw error instanceof CallError
        ? Object.assign(errorWithoutReason(500, `${of} failed: ${error.message}`), { cause: error })
        : error
    }
  }

  async #post(objects: readonly ApiObject[], apiVersion: string): Promise<readonly Json[]> {
    if (!this.#reviewVersions.includes('v1')) {
      throw new CallError('the embedded API sends ConversionReview v1 only')
    }
    const uid = newUid(this.#webhooks.random)
    const request = { uid, desiredAPIVersion: apiVersion, objects: objects.map(withoutVersion) as unknown as Json }
    const review = {
      kind: 'ConversionReview',
      apiVersion: 'apiextensions.k8s.io/v1',
      request,
      response: { uid: '', convertedObjects: null, result: { metadata: {} } },
    }
    const answer = await this.#webhooks.post(this.#client, review, TIMEOUT_MS, this.#webhooks.current?.signal)
    return convertedObjects(answer, uid)
  }
}

/** Stored objects have no resourceVersion, as in etcd. */
function withoutVersion(object: ApiObject): ApiObject {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata } as ApiObject
}

function convertedObjects(review: JsonObject, uid: string): readonly Json[] {
  const { apiVersion, kind, response } = review
  if (apiVersion !== 'apiextensions.k8s.io/v1' || kind !== 'ConversionReview') {
    const [group, version] = String(apiVersion ?? '').includes('/')
      ? String(apiVersion).split('/')
      : ['', apiVersion ?? '']
    throw new CallError(
      'expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, ' +
        `got ${String(group)}/${String(version)}, Kind=${String(kind ?? '')}`,
    )
  }
  if (!isObject(response)) throw new CallError('no response provided')
  const given = response['uid'] ?? ''
  if (given !== uid) throw new CallError(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(given)}`)
  const { status, message } = isObject(response['result']) ? response['result'] : {} as JsonObject
  if (status !== 'Success') {
    throw new CallError(
      message ? String(message) : `response.result.status was '${String(status ?? '')}', not 'Success'`,
    )
  }
  return Array.isArray(response['convertedObjects']) ? response['convertedObjects'] : []
}

/** Returns a converted object with the metadata of the original: only labels and annotations may change. */
function checked(
  of: string,
  original: ApiObject,
  converted: Json,
  apiVersion: string,
  index: number,
): ApiObject {
  const refuse = (reason: string): Error =>
    errorWithoutReason(500, `${of} returned invalid object at index ${index}: ${reason}`)
  if (!isObject(converted)) throw refuse('it is not an object')
  for (const [field, wanted] of [['apiVersion', apiVersion], ['kind', original.kind]] as const) {
    const received = converted[field]
    if (received !== wanted) throw refuse(`invalid ${field} (expected ${wanted}, received ${String(received ?? '')})`)
  }
  const { metadata } = converted
  if (!isObject(metadata)) throw refuse('missing or invalid metadata')
  for (const field of ['name', 'namespace', 'uid'] as const) {
    const [before, after] = [original.metadata[field] ?? '', metadata[field] ?? '']
    if (before !== after) throw refuse(`must have the same ${field}: ${before} != ${String(after)}`)
  }
  const restored = clone(original.metadata)
  for (const field of ['labels', 'annotations'] as const) {
    const texts = metadata[field] ?? undefined
    delete restored[field]
    if (texts === undefined) continue
    if (!isObject(texts) || Object.values(texts).some((each) => typeof each !== 'string')) {
      throw refuse(`invalid metadata.${field}`)
    }
    const given = texts as Record<string, string>
    const [fault] = (field === 'labels' ? labelFaults : annotationFaults)(given, `metadata.${field}`)
    if (fault) throw refuse(`${fault.field}: ${fault.message}`)
    restored[field] = given
  }
  return { ...converted, metadata: restored } as ApiObject
}
