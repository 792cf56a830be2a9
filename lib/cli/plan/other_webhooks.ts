/** Answers for webhooks that are not the operator's: plan cannot call them, and only dry runs tell what they do. */
import type { WebhookAnswer } from 'kubeloop/apiserver'
import type { KubeObject } from '../../core/objects.ts'
import { splitApiVersion } from '../../core/owners.ts'
import type { WebhookClientConfig } from '../../core/resource.ts'
import type { OperatorDescription } from '../../operator/description/description.ts'
import { pathOfCall, type Replica } from '../../testing/world/replica.ts'
import { serverOf } from '../../webhook/common/ownership.ts'

/** The fields of an AdmissionReview and of a ConversionReview that are read here. */
interface Review {
  readonly apiVersion: string
  readonly kind: string
  readonly request: {
    readonly uid: string
    readonly desiredAPIVersion: string
    readonly objects: readonly KubeObject[]
  }
}

/**
 * Returns the answer in place of another's webhook: the write is allowed, or the objects get their version alone.
 * Undefined for one that `replicas` serve.
 */
export function answerOfOthers(
  address: WebhookClientConfig,
  body: string,
  { replicas, conversions, note }: {
    readonly replicas: readonly Pick<Replica, 'webhooks'>[]
    /** Those of the operator. */
    readonly conversions: OperatorDescription['conversions']
    readonly note: (text: string) => void
  },
): WebhookAnswer | undefined {
  const { apiVersion, kind, request: { uid, desiredAPIVersion, objects = [] } } = JSON.parse(body) as Review
  const isServed = replicas.some(({ webhooks }) => webhooks.has(pathOfCall(address)))
  const answer = (response: object): WebhookAnswer => ({
    status: 200,
    body: JSON.stringify({ apiVersion, kind, response: { uid, ...response } }),
  })
  if (kind === 'AdmissionReview') {
    if (isServed) return undefined
    note(`The webhooks of ${serverOf(address)} are not called: they are not the operator's`)
    return answer({ allowed: true })
  }
  const [converted, { group }] = [objects[0]!.kind, splitApiVersion(desiredAPIVersion)]
  if (replicas.length > 0 && conversions.some(({ hub }) => hub.kind === converted && hub.group === group)) {
    return undefined
  }
  note(`Versions of ${converted} (${group}) are not converted: their webhook is not the operator's`)
  const convertedObjects = objects.map((each) => ({ ...each, apiVersion: desiredAPIVersion }))
  return answer({ result: { status: 'Success' }, convertedObjects })
}
