/** Defines a kind from zod schemas: the types of its objects, its CustomResourceDefinition and its validation. */
import { refuse } from './refusal.ts'
import { isProtectedGroup } from '../core/names.ts'
import { nameProblem, pluralOf } from './names.ts'
import { type ColumnDefinition, printerColumns } from './columns.ts'
import { isRequired, type Refinements, structuralSchema } from './structural.ts'
import { type ScaleDefinition, scaleOf } from './subresources.ts'
import { refuseUnknown, type ShapeOf } from '../core/option_names.ts'
import { problemsOf } from './validate.ts'
import { userFrames } from '../observe/stack.ts'
import type { $ZodType } from 'zod/v4/core'
import type { CustomObject, DesiredObject } from '../core/objects.ts'
import type { CustomResourceDefinition, DefinedResource, Definition, JsonSchema } from '../core/resource.ts'

/** A schema of zod 4 or zod/mini. Declared here, so that these declarations do not import zod. */
export interface ZodSchema<Output = unknown, Input = unknown> {
  readonly _zod: { readonly output: Output; readonly input: Input }
}

/** The definition of a kind. Schemas can be made with zod or zod/mini. */
export interface ResourceDefinition<Spec extends ZodSchema, Status extends ZodSchema, Cluster extends boolean> {
  /** A domain, such as `example.com`. */
  group: string
  /** Such as `v1` or `v1alpha1`. */
  version: string
  /** In CamelCase, such as `Foo`. */
  kind: string
  /** Default: the kind in lower case with an English plural ending. */
  plural?: string
  /** Further names for kubectl. Default: none. */
  shortNames?: string[]
  /** Groups of kinds that kubectl lists together, such as `all`. Default: none. */
  categories?: string[]
  /**
   * Columns of `kubectl get`, as headings with JSON paths: `{ Ready: '.status.ready' }`, or with a path and more:
   * `{ Node: { path: '.status.node', priority: 1 } }`. Types follow from the schema. An `Age` comes last, unless a
   * column has the path `.metadata.creationTimestamp`. Default: the server's own, the age.
   */
  columns?: Record<string, string | ColumnDefinition>
  /**
   * The scale subresource, for `kubectl scale`, HorizontalPodAutoscalers and `client.scale`. Needs a status. Default:
   * none.
   */
  scale?: ScaleDefinition
  /**
   * At most 8 paths of strings, integers or booleans, such as `.spec.color`, that field selectors may have:
   * `client.list(Foo, { fields: 'spec.color=blue' })`. The server refuses other paths; `kubeloop crd` reports them.
   * Default: none; names and namespaces are always selectable.
   */
  selectableFields?: string[]
  /** Whether the kind is cluster-scoped. Default: false. */
  cluster?: Cluster
  /** Whether the API server serves this version. Default: true. False: it may only be stored, or is no longer used. */
  served?: boolean
  /**
   * Whether this version is deprecated. A text of at most 256 bytes is the warning that its clients see; by default it
   * names the version. Default: false.
   */
  deprecated?: boolean | string
  /** The schema of `spec`: its output is the type that is read, its input the type that is written. */
  spec: Spec
  /** The schema of `status`. Default: no status subresource. */
  status?: Status
  /**
   * What happens to refinements (`refine`, `superRefine`, `check`) without a CEL rule, which a CustomResourceDefinition
   * cannot express. Default: they are refused with a TypeError. With `'admission'` they are left out of the
   * CustomResourceDefinition, so that the API server stores objects that break them, unless the operator's admission
   * checks them: `app.admission(Foo, { validate: Foo.definition.validate })`.
   */
  refinements?: 'admission'
}

/**
 * Defines a kind.
 *
 * @throws TypeError if the API server would refuse a name, or if a CRD schema cannot express a part of a zod schema:
 * transforms, coercions, refinements without CEL. Its stack begins with the caller.
 *
 * @example
 * ```ts
 * import { defineResource } from 'kubeloop'
 * import * as z from 'zod'
 * const Foo = defineResource({
 *   group: 'example.com', version: 'v1', kind: 'Foo',
 *   spec: z.object({ replicas: z.int32().min(0).default(1) }),
 * })
 * if (Foo.plural !== 'foos') throw new Error('unexpected')
 * ```
 */
export function defineResource<
  Spec extends ZodSchema,
  Status extends ZodSchema = ZodSchema<never, never>,
  Cluster extends boolean = false,
>(
  definition: ResourceDefinition<Spec, Status, Cluster>,
): DefinedResource<
  CustomObject<Spec['_zod']['output'], Status['_zod']['output'], Cluster extends true ? undefined : string>,
  DesiredObject<Spec['_zod']['input']>
> {
  try {
    return defined(definition)
  } catch (error) {
    // V8 and JavaScriptCore keep the 10 innermost frames: below a nested schema, none of them is the user's. Frames
    // that are the user's own, such as a getter's in the schema, are kept.
    if (error instanceof Error && userFrames(error.stack).length === 0) Error.captureStackTrace(error, defineResource)
    throw error
  }
}

const BOOLEAN = [true, false]
const LIST = [[]] as const
const SHAPE: ShapeOf<ResourceDefinition<ZodSchema, ZodSchema, boolean>> = {
  ...{ group: 0, version: 0, kind: 0, plural: 0, shortNames: LIST, categories: LIST, selectableFields: LIST },
  columns: { '*': { path: 0, type: 0, format: 0, priority: 0, description: 0 } },
  scale: { specReplicas: 0, statusReplicas: 0, labelSelector: 0 },
  ...{ cluster: BOOLEAN, served: BOOLEAN, deprecated: 0, spec: 0, status: 0, refinements: ['admission'] },
}

// deno-lint-ignore no-explicit-any -- the types of the objects are those of the schemas, which `defineResource` states
function defined(definition: ResourceDefinition<ZodSchema, ZodSchema, boolean>): DefinedResource<any, any> {
  refuseUnknown(`Cannot define resource "${definition?.kind}": `, definition, SHAPE)
  const { group, version, kind } = definition
  for (const [name, value] of Object.entries({ group, version, kind })) {
    if (typeof value !== 'string') throw new TypeError(`Cannot define a resource: its ${name} must be a string`)
  }
  const { spec, status } = definition as unknown as { readonly spec: $ZodType; readonly status?: $ZodType }
  const plural = definition.plural ?? pluralOf(kind)
  const problem = nameProblem({ ...definition, plural }) ?? deprecationProblem(definition.deprecated)
  if (problem) throw new TypeError(`Cannot define resource "${kind}": ${problem}`)
  const scope = definition.cluster ? 'Cluster' : 'Namespaced'
  const refinements = definition.refinements && { found: false }
  const root = rootSchema(kind, spec, status, refinements)
  const crd = customResourceDefinition({ ...definition, plural, scope, root })
  const described: Definition = {
    crd,
    schemas: { spec, ...(status && { status }) },
    hasRefinements: refinements?.found === true,
    validate: (object, options) => problemsOf(object, spec, status, options),
  }
  return { group, version, kind, plural, scope, definition: described }
}

function deprecationProblem(deprecated: boolean | string | undefined): string | undefined {
  if (typeof deprecated !== 'string') return undefined
  const isText = deprecated !== '' && new TextEncoder().encode(deprecated).length <= 256 && !/\p{C}/u.test(deprecated)
  return isText ? undefined : 'the warning of deprecated must be one line of 1 to 256 bytes'
}

function rootSchema(
  kind: string,
  spec: $ZodType,
  status: $ZodType | undefined,
  refinements: Refinements | undefined,
): JsonSchema {
  const partOf = (path: 'spec' | 'status', schema: $ZodType): JsonSchema => {
    const part = structuralSchema(schema, { kind, path }, refinements)
    return part['type'] === 'object' ? part : refuse({ kind, path }, 'not an object', 'begin with z.object()')
  }
  return {
    type: 'object',
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: partOf('spec', spec),
      ...(status && { status: partOf('status', status) }),
    },
    ...(isRequired(spec) && { required: ['spec'] }),
  }
}

interface CrdParts extends ResourceDefinition<ZodSchema, ZodSchema, boolean> {
  readonly plural: string
  readonly scope: 'Namespaced' | 'Cluster'
  readonly root: JsonSchema
}

function customResourceDefinition(parts: CrdParts): CustomResourceDefinition {
  const { group, version, kind, plural, scope, shortNames, categories, columns = {}, status, root } = parts
  const { served = true, deprecated, scale, selectableFields } = parts
  const printed = printerColumns(columns, root, kind)
  const subresources = {
    ...(status !== undefined && { status: {} }),
    ...(scale && { scale: scaleOf(scale, root, kind) }),
  }
  const metadata = {
    name: `${plural}.${group}`,
    // The server requires this annotation for groups of the Kubernetes project.
    ...(isProtectedGroup(group) && { annotations: { 'api-approved.kubernetes.io': 'unapproved, experimental-only' } }),
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata,
    spec: {
      group,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames?.length && { shortNames }),
        ...(categories?.length && { categories }),
      },
      versions: [{
        name: version,
        served,
        storage: true,
        ...(deprecated && { deprecated: true }),
        ...(typeof deprecated === 'string' && { deprecationWarning: deprecated }),
        schema: { openAPIV3Schema: root },
        ...(Object.keys(subresources).length > 0 && { subresources }),
        ...(printed.length > 0 && { additionalPrinterColumns: printed }),
        ...(selectableFields?.length && { selectableFields: selectableFields.map((jsonPath) => ({ jsonPath })) }),
      }],
    },
  }
}
