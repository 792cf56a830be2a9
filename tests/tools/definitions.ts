/** Definitions of custom kinds, for tests. */

export const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

// deno-lint-ignore no-explicit-any -- tests read and replace any part
type Body = any

interface DefinitionOptions {
  readonly kind?: string
  readonly group?: string
  readonly scope?: 'Cluster' | 'Namespaced'
  readonly plural?: string
  /** The schema of the objects; by default they have any field. */
  readonly schema?: unknown
  /** The same, if it is only that of their fields. */
  readonly properties?: object
  readonly versions?: readonly string[] | readonly object[]
  readonly version?: object
  readonly spec?: object
}

/** Returns the definition of a kind, by default of `foos.example.com/v1`. The first version is stored. */
export function definitionOf({
  kind = 'Foo',
  plural = `${kind.toLowerCase()}s`,
  group = 'example.com',
  scope = 'Cluster',
  properties,
  schema = { type: 'object', ...(properties ? { properties } : { 'x-kubernetes-preserve-unknown-fields': true }) },
  versions = ['v1'],
  version,
  spec,
}: DefinitionOptions = {}): Body {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind },
      versions: versions.map((each, at) => ({
        served: true,
        storage: at === 0,
        schema: { openAPIV3Schema: schema },
        ...version,
        ...(typeof each === 'string' ? { name: each } : each),
      })),
      ...spec,
    },
  }
}
