/** Adds the annotations and Kubernetes' extensions that a schema's metadata, or a check, states. */
import type { JsonSchema } from '../core/resource.ts'
import { type Place, refuse } from './refusal.ts'

export const RULES = 'x-kubernetes-validations'

/** Returns the schema with the stated keywords. Other metadata is left out. */
export function annotate(schema: JsonSchema, stated: Readonly<Record<string, unknown>>, place: Place): JsonSchema {
  const added: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(stated)) {
    if (key === 'examples') added['example'] = (value as readonly unknown[])[0]
    else if (key === RULES) {
      added[key] = [...((schema[RULES] ?? []) as readonly unknown[]), ...(value as readonly unknown[])]
    } else if (key === 'atomic') added[`x-kubernetes-${schema['type'] === 'array' ? 'list' : 'map'}-type`] = key
    else if (STATED.test(key)) added[key] = value
    // The server would drop it silently, so a misspelled extension would never take effect.
    else if (key.startsWith('x-kubernetes-')) refuse(place, `given "${key}"`, 'there is no such extension')
    // Other metadata is a description; this is written to refuse names of fields, and a CRD would let them pass.
    else if (key === 'propertyNames' || key === 'patternProperties') {
      refuse(place, `given "${key}"`, 'check the names in a CEL rule, .check(cel(rule, message)) of kubeloop/schema')
    }
  }
  return { ...schema, ...added }
}

/**
 * @see
 * https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/#JSONSchemaProps
 */
const STATED =
  /^(?:description|title|example|m(?:in|ax)Properties|x-kubernetes-(?:preserve-unknown-fields|embedded-resource|int-or-string|list-type|list-map-keys|map-type))$/
