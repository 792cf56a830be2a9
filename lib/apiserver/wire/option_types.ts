/** The types of DeleteOptions, by the names that Go's errors have. */
import { jsonType } from '../model/go_text.ts'
import type { JsonObject } from '../model/json.ts'
import { badRequest } from '../model/status.ts'

/** The fields of DeleteOptions with their Go types. */
const OPTION_TYPES: Readonly<Record<string, readonly [type: string, goType: string]>> = {
  gracePeriodSeconds: ['number', 'int64'],
  propagationPolicy: ['string', 'v1.DeletionPropagation'],
  orphanDependents: ['bool', 'bool'],
  preconditions: ['object', 'v1.Preconditions'],
  dryRun: ['array', '[]string'],
}

/** Refuses options of a wrong type, in Go's words. */
export function checkOptionTypes(body: JsonObject): void {
  for (const [name, [type, goType]] of Object.entries(OPTION_TYPES)) {
    const value = body[name]
    if (value === undefined || value === null) continue
    const given = jsonType(value)
    if (given === type) continue
    throw badRequest(`json: cannot unmarshal ${given} into Go struct field DeleteOptions.${name} of type ${goType}`)
  }
}
