/** What a cluster must have for the webhooks of an operator. */
import { type CustomResourceConversion, groupResourceOf } from '../../core/resource.ts'
import {
  configurationsOf,
  conversionOf,
  type OwnObjects,
  type WebhookConfiguration,
  type WebhookTarget,
} from '../../webhook/configurations/configurations.ts'
import { leaseOf, type OperatorDescription } from '../description/description.ts'
import { ownKinds } from '../description/used_kinds.ts'
import { serviceOf } from './address.ts'
import { configured, groupsOf } from './admissions.ts'
import { checkWebhooks } from './checks.ts'

/** What a cluster must have for an operator's webhooks. */
export interface WebhookDefinitions {
  /** Undefined without conversions. */
  readonly conversion: CustomResourceConversion | undefined
  /** The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration, as far as they are needed. */
  readonly configurations: readonly WebhookConfiguration[]
  /** How the API server calls the operator. */
  readonly target: WebhookTarget
}

/**
 * Returns what a cluster must have, without CAs, for an operator that runs there. `namespace`: where it runs.
 *
 * @throws TypeError for invalid options, with the place in the user's file.
 */
export function describeWebhooks(description: OperatorDescription, namespace: string): WebhookDefinitions {
  const { options, conversions } = description
  const { url, service } = options.webhooks ?? {}
  checkWebhooks(options.webhooks ?? {})
  const target = url === undefined ? serviceOf(service, options.name, namespace) : { url }
  const { mutating, validating } = configurationsOf({
    operator: options.name,
    admissions: groupsOf(description).flatMap(configured),
    target,
    own: ownObjects(description, namespace),
  })
  return {
    conversion: conversions.length > 0 ? conversionOf(target) : undefined,
    configurations: [mutating, validating].filter((each) => each !== undefined),
    target,
  }
}

/** What the operator needs before it can answer: its Lease, the Secrets of its certificates, and its definitions. */
export function ownObjects(description: OperatorDescription, configured: string | undefined): OwnObjects {
  const { options } = description
  const { certs } = options.webhooks ?? {}
  const { lease, namespace: leases = 'default' } = leaseOf(options, configured)
  const namespace = configured || 'default'
  const self = typeof certs === 'object' ? [certs, ...(certs.ca ? [certs.ca] : [])] : []
  return {
    namespace,
    lease: { namespace: leases, name: options.sharding ? undefined : lease },
    secrets: self.map((each) => ({ namespace: each.namespace ?? self[0]?.namespace ?? namespace, name: each.secret })),
    crds: [...new Set(ownKinds(description).map(groupResourceOf))],
  }
}
