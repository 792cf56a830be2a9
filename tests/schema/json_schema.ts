/**
 * Judges structural schemas and values by the code of the embedded API, which the conformance suite compares with a
 * real server. It shares nothing with lib/schema.
 */
import { celEngine } from '../../lib/apiserver/cel/load.ts'
import { customFaults } from '../../lib/apiserver/crd/validate.ts'
import { versionsFaults } from '../../lib/apiserver/crd/versions.ts'
import type { Json, JsonObject } from '../../lib/apiserver/model/json.ts'
import type { Schema } from '../../lib/apiserver/model/schema.ts'
import { Suspension } from '../../lib/apiserver/model/suspension.ts'
import { prune } from '../../lib/apiserver/schema/prune.ts'
import { applyDefaults } from '../../lib/core/schema_defaults.ts'

try {
  celEngine()
} catch (error) {
  if (!(error instanceof Suspension)) throw error
  await error.work()
}

/** The schemas of objects with a schema as their spec. A server compiles the rules of each once. */
const roots = new WeakMap<object, Schema>()

function rootOf(schema: object): Schema {
  let root = roots.get(schema)
  if (!root) {
    const identity = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' } }
    root = { type: 'object', properties: { ...identity, spec: schema } } as Schema
    roots.set(schema, root)
  }
  return root
}

/** Returns what a server stores of a value: forbidden nulls dropped, unknown fields pruned, defaults filled in. */
export function stored(schema: object, value: unknown): unknown {
  const { object } = prune(rootOf(schema), { spec: structuredClone(value) as Json })
  applyDefaults(rootOf(schema), object)
  return object['spec']
}

export function isValid(schema: object, value: unknown): boolean {
  const object = { apiVersion: 'example.com/v1', kind: 'Foo', metadata: { name: 'a' }, spec: value as Json }
  return customFaults({ schema: rootOf(schema), mayHaveRules: true }, object as never, undefined, [], () => {})
    .length === 0
}

/** Returns what a server refuses in a schema: its form, its defaults, and rules that are wrong or cost too much. */
export function structuralFaults(schema: object): readonly string[] {
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: rootOf(schema) } }
  return versionsFaults({ versions: [version] } as unknown as JsonObject, undefined)
    .map(({ field, message }) => `${field}: ${message}`)
}
