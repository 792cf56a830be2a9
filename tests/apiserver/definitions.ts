/** A definition of a custom kind, for tests of the embedded API. */

/** Returns the definition of `foos.example.com`, in one version, whose objects have these properties. */
export function fooDefinition(scope: 'Cluster' | 'Namespaced', properties?: object): object {
  const openAPIV3Schema = { type: 'object', ...(properties && { properties }) }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'foos.example.com' },
    spec: {
      group: 'example.com',
      scope,
      names: { plural: 'foos', kind: 'Foo' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  }
}
