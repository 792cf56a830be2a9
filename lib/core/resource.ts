/**
 * A Resource is a value that names a kind and carries its types: `T` is what is read, `D` what is written.
 * It holds no connection, so every operator, replica and test may share it.
 */
import type { KubeObject } from './objects.ts'
import type { Problem } from './errors.ts'

/** A kind as the API names it, with the type of its objects when read (`T`) and when written (`D`). */
export interface Resource<T extends KubeObject = KubeObject, D = unknown> {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** The lower-case name used in URLs. */
  readonly plural: string
  readonly scope: 'Namespaced' | 'Cluster'
  /** Made by {@link metadataOf}: what is read of the objects is their metadata alone. */
  readonly only?: 'metadata' | undefined
  /** Present on kinds made by `defineResource`. */
  readonly definition?: Definition
  /** Never set: it only carries the types. */
  readonly types?: { readonly read: T; readonly write: D }
}

// deno-lint-ignore no-explicit-any -- the one place where "some resource" is said; a bound would refuse every D
export type AnyResource = Resource<any, any>

/** What a kind that we define knows beyond its names. */
export interface Definition {
  /** The CustomResourceDefinition that makes a server serve this kind. */
  readonly crd: CustomResourceDefinition
  /** What is wrong with an object by its schema, field by field; empty when it is valid. */
  validate(object: unknown): readonly Problem[]
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
  }
}

export interface CustomResourceVersion {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly schema: { readonly openAPIV3Schema: JsonSchema }
  readonly subresources?: { readonly status?: Record<string, never> }
  readonly additionalPrinterColumns?: readonly {
    readonly name: string
    readonly type: string
    readonly jsonPath: string
  }[]
}

/** A structural OpenAPI v3 schema, as a CustomResourceDefinition states one. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/** The type of a kind; messages of the compiler show how it is written. */
// deno-lint-ignore no-explicit-any -- as above
export interface KindType<_Written> extends Resource<any, any> {}

/** The frozen object of a kind: `type Foo = ObjectOf<typeof Foo>`. */
// deno-lint-ignore no-explicit-any -- inferring T must not constrain D
export type ObjectOf<R extends KindType<'typeof Foo'>> = R extends Resource<infer T, any> ? T : never

/** What create and apply take: `function render(foo: Foo): Desired<typeof Deployment>`. */
// deno-lint-ignore no-explicit-any -- inferring D must not constrain T
export type Desired<R extends KindType<'typeof Foo'>> = R extends Resource<any, infer D> ? D : never

/** `group/version`, or `version` for the core group. */
export function apiVersionOf(resource: { readonly group: string; readonly version: string }): string {
  return resource.group ? `${resource.group}/${resource.version}` : resource.version
}

/** `plural.group`, the form in which RBAC, CRDs and error messages name a kind. */
export function groupResourceOf(resource: { readonly group: string; readonly plural: string }): string {
  return resource.group ? `${resource.plural}.${resource.group}` : resource.plural
}

/** The identity of a kind: two Resource values with the same one mean the same objects, and as much of them. */
export function resourceId(resource: AnyResource): string {
  return `${apiVersionOf(resource)}/${resource.plural}${resource.only ? ` (${resource.only})` : ''}`
}

/**
 * The same kind, of which only the metadata is fetched, watched and kept: for objects that are many or large, of which one
 * wants to know that they exist. It is watched beside the whole kind, if that is watched too. Patches and deletions are possible;
 * writes of whole objects and of their status are a TypeError, as they would delete what was not read.
 */
// deno-lint-ignore no-explicit-any -- what is written does not matter to what is read
export function metadataOf<T extends KubeObject>(resource: Resource<T, any>): Resource<MetadataOf<T>, never> {
  const { group, version, kind, plural, scope } = resource
  return { group, version, kind, plural, scope, only: 'metadata' }
}

/** The kind itself, of one that may be of {@link metadataOf}. */
export function wholeOf({ group, version, kind, plural, scope }: AnyResource): AnyResource {
  return { group, version, kind, plural, scope }
}

/** Throws a TypeError for a kind of {@link metadataOf}: an object that is written whole would lose all but its metadata. */
export function checkWritable({ kind, only }: AnyResource): void {
  if (!only) return
  const lost = 'only the metadata is read, and a write of the whole object would delete the rest'
  throw new TypeError(`Cannot write metadataOf(${kind}): ${lost}; write ${kind} itself, or send a patch`)
}

/** In the types, what {@link checkWritable} checks: a kind that can't be written has `never` in place of what is written. */
export type Writable<D> = [D] extends [never] ? { readonly only: 'a kind that can be written, not its metadata alone' }
  : unknown

/** What is read of an object through {@link metadataOf}. */
export type MetadataOf<T extends KubeObject> = Pick<T, 'apiVersion' | 'kind' | 'metadata'>
