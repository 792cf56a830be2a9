/** What the work on CustomResourceDefinitions needs, and words for its messages. */
import type { KubeObject } from '../core/objects.ts'
import {
  type AnyResource,
  CRD,
  type CustomResourceConversion,
  type CustomResourceDefinition,
  type CustomResourceVersion,
  type JsonSchema,
} from '../core/resource.ts'
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import type { ConversionDescription } from '../schema/conversions.ts'
import { findObject, treatLeftovers } from '../webhook/configurations/leftovers.ts'

type Spec = CustomResourceDefinition['spec']

export interface Crd extends KubeObject {
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
  /** Whether replicas, perhaps of two releases, write objects and install at the same time. Default: false. */
  readonly shared?: boolean | undefined
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

export interface Work extends Dependencies {
  readonly resources: readonly AnyResource[]
  readonly signal: AbortSignal
}

interface Leftovers {
  /** The namespace of the operator's Services. Undefined where it has none. */
  readonly namespace: string | undefined
  /** Whether this release has webhooks, which treats what is left of others. */
  readonly hasWebhooks: boolean
}

/** The maximum number of differences, or of objects that do not fit a schema, in a message. */
export const MAX_NAMED = 5

export async function find(api: Api, name: string, signal: AbortSignal): Promise<Crd | undefined> {
  return (await findObject(api, { resource: CRD, name }, signal)) as Crd | undefined
}

/** Treats what an earlier release has left, if the operator has no webhooks any more. */
export async function treatEarlier(installs: boolean, work: Work): Promise<void> {
  const { leftovers, fieldManager: operator, signal } = work
  if (leftovers && !leftovers.hasWebhooks) await treatLeftovers(installs, { ...work, ...leftovers, operator }, signal)
}

export function schemaOf(version: Partial<CustomResourceVersion>): JsonSchema {
  return version.schema?.openAPIV3Schema ?? {}
}

export function titleOf({ metadata }: CustomResourceDefinition): string {
  return `CustomResourceDefinition "${metadata.name}"`
}

export function cannotInstall(crd: CustomResourceDefinition): string {
  return `Cannot install ${titleOf(crd)}`
}
