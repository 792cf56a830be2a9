/** Checks definitions and stored objects without a server, as it would at a write. */
import { applyDefaults } from '../../core/schema_defaults.ts'
import type { ApiObject, JsonObject } from '../model/json.ts'
import type { Cause } from '../model/status.ts'
import { Suspension } from '../model/suspension.ts'
import { prepareEngine } from '../cel/load.ts'
import { schemaOf } from './kinds.ts'
import { prune } from '../schema/prune.ts'
import { customFaults } from './validate.ts'
import { versionsFaults } from './versions.ts'

/** Resolves with what a server would refuse in the versions of a new definition: schemas, rules, costs, columns. */
export function faultsOfVersions(spec: JsonObject): Promise<readonly Cause[]> {
  return resumed(() => versionsFaults(spec, undefined))
}

/**
 * Resolves with a function that returns what is wrong with an object, which an earlier schema may have accepted, by the
 * schema of this version: the fields that would be dropped, and what a write of it would be refused for. Transition
 * rules do not run, nor do rules that do not compile.
 */
export async function objectCheckOf(version: JsonObject): Promise<(object: JsonObject) => readonly string[]> {
  const schema = schemaOf(version)
  await resumed(() => prepareEngine(schema))
  const rules = { schema, mayHaveRules: true }
  return ({ apiVersion, kind: name, metadata, ...fields }) => {
    const { object, unknown } = prune(schema, fields)
    applyDefaults(schema, object)
    const whole = { apiVersion, kind: name, metadata, ...object } as ApiObject
    const causes = customFaults(rules, whole, undefined, [], () => {}).filter(({ message }) =>
      !message.includes('rule compile error')
    )
    return [
      ...unknown.map((field) => `${field} would be lost`),
      ...causes.map(({ field, message }) => field === '<nil>' ? textOf(message) : `${field}: ${message}`),
    ]
  }
}

/** Returns a message about the object as a whole, which the server gives an empty value. */
function textOf(message: string): string {
  const isUnchecked = message.includes('some validation rules were not checked')
  return isUnchecked ? 'rules were not checked because of these problems' : message.replace(/^Invalid value: ""?: /, '')
}

/** Runs work again after each module that it lacks is loaded. */
async function resumed<T>(work: () => T): Promise<T> {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof Suspension)) throw error
      await error.work()
    }
  }
}
