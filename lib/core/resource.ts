/** A Resource names a kind and carries its types. It has no connection, so operators, replicas and tests share it. */
import type { KubeObject } from './objects.ts'
import type { Problem } from './errors.ts'

/** The names of a kind, with the type of its objects when read (`T`) and when written (`D`). */
export interface Resource<T extends KubeObject = KubeObject, D = unknown> {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** The lower-case name used in URLs. */
  readonly plural: string
  readonly scope: 'Namespaced' | 'Cluster'
  /** Set by {@link metadataOf}: only the metadata of the objects is read. */
  readonly only?: 'metadata' | undefined
  /** Present on kinds made by `defineResource`: see {@link DefinedResource}. */
  readonly definition?: Definition
  /** Never set. It carries the types. */
  readonly types?: { readonly read: T; readonly write: D }
}

/**
 * The result of `defineResource`: a kind with its definition.
 *
 * @example
 * ```ts
 * import { defineResource } from 'kubeloop'
 * import * as z from 'zod'
 * const Foo = defineResource({ group: 'example.com', version: 'v1', kind: 'Foo', spec: z.object({}) })
 * console.log(JSON.stringify(Foo.definition.crd))
 * ```
 */
export interface DefinedResource<T extends KubeObject = KubeObject, D = unknown> extends Resource<T, D> {
  readonly definition: Definition
}

/** A kind whose objects are read as `T`, whatever is written. */
// deno-lint-ignore no-explicit-any -- a bound on D would be inferred from, and refuse kinds that can be read
export type ResourceOf<T extends KubeObject> = Resource<T, any>

/** A resource of any kind. */
// deno-lint-ignore no-explicit-any -- any resource; a bound would refuse every D
export type AnyResource = Resource<any, any>

/** The schema of a kind made by `defineResource`. */
export interface Definition {
  /** The CustomResourceDefinition to install. */
  readonly crd: CustomResourceDefinition
  /** The schemas of zod or zod/mini, for tools. Default: none, for a definition that defineResource did not make. */
  readonly schemas?: { readonly spec: unknown; readonly status?: unknown }
  /**
   * Whether the schema has refinements that the CustomResourceDefinition cannot express, so that only the operator's
   * admission checks them. They are accepted with `refinements: 'admission'`.
   */
  readonly hasRefinements: boolean
  /**
   * Validates an object by the schema. Returns one problem for each invalid field; empty if the object is valid. It
   * needs no `this`, and takes the context of a validating function, so that it is one itself.
   *
   * @example
   * ```ts
   * import { defineResource } from 'kubeloop'
   * import * as z from 'zod'
   * const Foo = defineResource({
   *   group: 'example.com', version: 'v1', kind: 'Foo', refinements: 'admission',
   *   spec: z.object({ min: z.int(), max: z.int() }).refine(({ min, max }) => min <= max, 'max is below min'),
   * })
   * const [problem] = Foo.definition.validate({ spec: { min: 2, max: 1 } })
   * if (problem?.message !== 'max is below min') throw new Error('unexpected')
   * ```
   */
  validate(object: unknown, options?: ValidateOptions): readonly Problem[]
}

/** Options of {@link Definition.validate}. */
export interface ValidateOptions {
  /**
   * The object before an update, which an earlier schema may have accepted: a spec or a status that is equal in it is
   * not checked, and an equal field not for its limits (sizes, patterns, formats). Default: everything is checked.
   *
   * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting
   */
  readonly old?: unknown
  /** Whether the schema's refinements are checked. Default: true. */
  readonly refinements?: boolean
}

/** The part of apiextensions.k8s.io/v1 CustomResourceDefinition that kubeloop writes. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1'
  readonly kind: 'CustomResourceDefinition'
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly spec: {
    readonly group: string
    readonly scope: 'Namespaced' | 'Cluster'
    readonly names: {
      readonly kind: string
      readonly listKind: string
      readonly plural: string
      readonly singular: string
      readonly shortNames?: readonly string[]
      readonly categories?: readonly string[]
    }
    readonly versions: readonly CustomResourceVersion[]
    /** How the server converts between the versions. Default: it renames the apiVersion alone. */
    readonly conversion?: CustomResourceConversion
  }
}

/** The part of `spec.conversion` of a CustomResourceDefinition that kubeloop writes: a webhook that converts. */
export interface CustomResourceConversion {
  readonly strategy: 'Webhook'
  readonly webhook: {
    readonly conversionReviewVersions: readonly string[]
    readonly clientConfig: WebhookClientConfig
  }
}

/** The address of a webhook, as in a webhook configuration or the `conversion` of a CustomResourceDefinition. */
export interface WebhookClientConfig {
  /** `https://host[:port]/path`. Either this or `service` is set. */
  readonly url?: string
  readonly service?: {
    readonly namespace: string
    readonly name: string
    readonly path?: string
    readonly port?: number
  }
  /** The CAs that sign the webhook's certificate: PEM in base64. Default: the system's CAs. */
  readonly caBundle?: string
}

/** One version of a CustomResourceDefinition. */
export interface CustomResourceVersion {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly deprecated?: boolean
  readonly deprecationWarning?: string
  readonly schema: { readonly openAPIV3Schema: JsonSchema }
  readonly subresources?: { readonly status?: Record<string, never>; readonly scale?: ScaleSubresource }
  readonly additionalPrinterColumns?: readonly PrinterColumn[]
  readonly selectableFields?: readonly { readonly jsonPath: string }[]
}

/** The scale subresource of a version: where the server finds the numbers of replicas, and the selector. */
export interface ScaleSubresource {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** A column of `kubectl get`, as a CustomResourceDefinition states one. */
export interface PrinterColumn {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
}

/** A structural OpenAPI v3 schema, as a CustomResourceDefinition states one. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** The resource of CustomResourceDefinitions. */
export const CRD: AnyResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
}

/** The type of a kind. The parameter shows in the compiler's messages how to write one. */
// deno-lint-ignore no-explicit-any -- as above
export interface KindType<_Written> extends Resource<any, any> {}

/** The type of a kind's objects as they are read: `type Foo = ObjectOf<typeof Foo>`. */
// deno-lint-ignore no-explicit-any -- inferring T must not constrain D
export type ObjectOf<R extends KindType<'typeof Foo'>> = R extends Resource<infer T, any> ? T : never

/** The type that create and apply take: `function render(foo: Foo): Desired<typeof Deployment>`. */
// deno-lint-ignore no-explicit-any -- inferring D must not constrain T
export type Desired<R extends KindType<'typeof Foo'>> = R extends Resource<any, infer D> ? D : never

/** Returns `group/version`, or `version` for the core group. */
export function apiVersionOf(resource: { readonly group: string; readonly version: string }): string {
  return resource.group ? `${resource.group}/${resource.version}` : resource.version
}

/** Returns `plural.group`: the name of a kind in RBAC, CRDs and error messages. */
export function groupResourceOf(resource: { readonly group: string; readonly plural: string }): string {
  return resource.group ? `${resource.plural}.${resource.group}` : resource.plural
}

/** Returns the identity of a kind. Resources with the same identity read the same objects and the same part of them. */
export function resourceId(resource: AnyResource): string {
  return `${apiVersionOf(resource)}/${resource.plural}${resource.only ? ` (${resource.only})` : ''}`
}

/**
 * Returns the kind with its metadata alone: only that is fetched, watched and cached. For objects that are many or
 * large and only counted or listed. If the whole kind is watched as well, there are two watches. Patches and deletions
 * work. Writes of whole objects and of status throw a TypeError, as they would delete the fields that were not read.
 * The option `crds` neither installs nor verifies the kind.
 */
export function metadataOf<T extends KubeObject>(resource: ResourceOf<T>): Resource<MetadataOf<T>, never> {
  const { group, version, kind, plural, scope } = resource
  return { group, version, kind, plural, scope, only: 'metadata' }
}

/** Returns the kind without {@link metadataOf}. */
export function wholeOf({ group, version, kind, plural, scope }: AnyResource): AnyResource {
  return { group, version, kind, plural, scope }
}

/** Throws a TypeError for a kind of {@link metadataOf}: a whole write would delete all fields but the metadata. */
export function checkWritable({ kind, only }: AnyResource): void {
  if (!only) return
  const lost = 'only the metadata is read, and a write of the whole object would delete the rest'
  throw new TypeError(`Cannot write metadataOf(${kind}): ${lost}; write ${kind} itself, or send a patch`)
}

/** {@link checkWritable} for the compiler: a kind that cannot be written has `never` as its written type. */
export type Writable<D> = [D] extends [never] ? { readonly only: 'a kind that can be written, not its metadata alone' }
  : unknown

/** The type of an object read through {@link metadataOf}. */
export type MetadataOf<T extends KubeObject> = Pick<T, 'apiVersion' | 'kind' | 'metadata'>

/** Returns ` in cluster "west"` for error texts, or nothing for a cluster without a name. */
export function clusterSuffix({ cluster }: { readonly cluster?: string | undefined }): string {
  return cluster === undefined ? '' : ` in cluster "${cluster}"`
}
