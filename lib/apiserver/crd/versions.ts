/** Checks the versions of a CustomResourceDefinition: schemas, subresources, columns and selectable fields. */
import { jsonEqual } from '../../core/equal.ts'
import { fieldOf } from '../cel/field_path.ts'
import { celEngine, hasRules } from '../cel/load.ts'
import type { RuleSchema } from '../cel/schema.ts'
import { at, isObject, type Json, type JsonObject, list, objectAt } from '../model/json.ts'
import { type Cause, fault } from '../model/status.ts'
import type { Schema } from '../model/schema.ts'
import { nameProblems } from '../model/names.ts'
import { defaultFaults } from './defaults.ts'
import { schemaFormFaults } from './schema_form.ts'
import { structuralFaults } from './structural.ts'
import { type Check, checked, type Checks, fields, ifSet, must, required } from '../model/checks.ts'

export function versionsFaults(spec: JsonObject, old: JsonObject | undefined): Cause[] {
  const versions = Array.isArray(spec['versions']) ? spec['versions'].filter(isObject) : []
  const faults: Cause[] = []
  const names = versions.map((version) => String(version['name'] ?? ''))
  for (const [index, version] of versions.entries()) {
    if (!isObject(schemaOf(version))) faults.push(fault.required(`spec.versions[${index}].schema.openAPIV3Schema`))
  }
  for (const [index, version] of versions.entries()) {
    const path = `spec.versions[${index}]`
    const problems = nameProblems(names[index]!, 'label1035')
    if (problems.length > 0) faults.push(fault.invalid(`${path}.name`, names[index], problems.join(',')))
    faults.push(...deprecationFaults(version, `${path}.deprecationWarning`))
  }
  if (new Set(names).size < names.length) {
    faults.push(fault.invalid('spec.versions', names, 'must contain unique version names'))
  }
  if (versions.filter((version) => version['storage'] === true).length !== 1) {
    const detail = 'must have exactly one version marked as storage version'
    faults.push(fault.invalid('spec.versions', names, detail))
  }
  const firstProblems = versions.length > 0 ? nameProblems(names[0]!, 'label1035') : []
  if (firstProblems.length > 0) faults.push(fault.invalid('spec.version', names[0], firstProblems.join(',')))
  return [...faults, ...partsFaults(versions, old)]
}

function schemaOf(version: JsonObject): Json | undefined {
  return at(version, 'schema', 'openAPIV3Schema')
}

const MAX_WARNING_BYTES = 256

function deprecationFaults({ deprecated, deprecationWarning: text }: JsonObject, path: string): Cause[] {
  if (typeof text !== 'string') return []
  if (deprecated !== true) return [fault.invalid(path, text, 'can only be set for deprecated versions')]
  const isPrintable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(text)
  const isShort = new TextEncoder().encode(text).length <= MAX_WARNING_BYTES
  return isPrintable && isShort
    ? []
    : [fault.invalid(path, text, `must be 1 to ${MAX_WARNING_BYTES} printable characters`)]
}

type Part = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields'

/** Checks the parts of the versions. Those that all versions have in common are reported once, outside of them. */
function partsFaults(versions: readonly JsonObject[], old: JsonObject | undefined): Cause[] {
  const isCommon = (part: Part): boolean =>
    versions.every((each) => jsonEqual(each[part] ?? null, versions[0]![part] ?? null))
  const each = (
    part: Part,
    common: string,
    check: (version: JsonObject, path: string) => readonly Cause[],
  ): Cause[] => {
    if (versions.length === 0) return []
    if (isCommon(part)) return [...check(versions[0]!, `spec.${common}`)]
    return versions.flatMap((version, index) => check(version, `spec.versions[${index}].${part}`))
  }
  const hasStatus = versions.some((version) => isObject(at(version, 'subresources', 'status')))
  return [
    ...each('schema', 'validation', (version, path) => {
      const schema = schemaOf(version)
      const before = schemaOfVersion(old, String(version['name']))
      return isObject(schema) ? schemaFaults(schema, `${path}.openAPIV3Schema`, before, hasStatus) : []
    }),
    ...each(
      'subresources',
      'subresources',
      (version, path) => checked(objectAt(version['subresources']), [['scale', fields(SCALE)]], path),
    ),
    ...each(
      'additionalPrinterColumns',
      'additionalPrinterColumns',
      (version, path) =>
        list(version['additionalPrinterColumns']).flatMap((column, index) =>
          checked({ ...column, JSONPath: column['jsonPath'] ?? '' }, COLUMN, `${path}[${index}]`)
        ),
    ),
    // Selectable fields and schemas are both common to all versions, or both of each version.
    ...each(
      'selectableFields',
      'selectableFields',
      (version, path) =>
        isCommon('schema') !== isCommon('selectableFields')
          ? list(version['selectableFields']).slice(0, 1).map(() => fault.invalid(path, '', NO_OWN_SCHEMA))
          : selectableFaults(version, path),
    ),
  ]
}

/** The keywords that concern only an object as a whole: the others would be lost for a status by itself. */
const AT_ROOT = [
  ...['description', 'type', 'format', 'title', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  ...['maxLength', 'minLength', 'pattern', 'maxItems', 'minItems', 'uniqueItems', 'multipleOf', 'required', 'items'],
  ...['properties', 'externalDocs', 'example', 'x-kubernetes-preserve-unknown-fields', 'x-kubernetes-validations'],
]

/** Returns the faults of a schema. Its rules are checked only if it is structural and its defaults are valid. */
function schemaFaults(
  schema: JsonObject,
  path: string,
  old: Json | undefined,
  hasStatus: boolean,
): readonly Cause[] {
  const faults: Cause[] = []
  const { type } = schema
  if (hasStatus && type !== undefined && type !== 'object') {
    const detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
    faults.push(fault.invalid(`${path}.type`, type, detail))
  }
  if (hasStatus && Object.keys(schema).some((keyword) => !AT_ROOT.includes(keyword))) {
    const detail = `only ${AT_ROOT.join(', ')} are allowed at the root of a schema with the status subresource`
    faults.push(fault.invalid(path, schema, detail))
  }
  if (schema['nullable'] === true) {
    faults.push(fault.forbidden(`${path}.nullable`, 'nullable cannot be true at the root'))
  }
  const form = schemaFormFaults(schema, path)
  const structural = form.some(({ message }) => message.endsWith(' is not supported'))
    ? []
    : structuralFaults(schema, path)
  const inner = structural.length > 0 ? structural : defaultFaults(schema as unknown as Schema, path)
  faults.push(...inner, ...form)
  if (inner.length > 0 || !hasRules(schema)) return faults
  const isUnchanged = old !== undefined && jsonEqual(schema, old)
  return [...faults, ...celEngine().definitionFaults(schema as RuleSchema, path, isUnchanged, faults)]
}

function schemaOfVersion(spec: JsonObject | undefined, name: string): Json | undefined {
  const version = list(spec?.['versions']).find((each) => each['name'] === name)
  return version && schemaOf(version)
}

/** A path that starts with a dot. */
const simplePath: Check = must((path) => String(path).startsWith('.'), 'must be a simple json path starting with .')

function below(...places: readonly string[]): Check {
  const isBelow = (path: Json): boolean => places.some((each) => String(path).startsWith(`${each}.`))
  return must(isBelow, `must be a json path under ${places.join(' or ')}`)
}

const SCALE: Checks = [
  ['specReplicasPath', required(), below('.spec')],
  ['statusReplicasPath', required(), below('.status')],
  ['labelSelectorPath', ifSet(below('.spec', '.status'))],
]

/** Unlike {@link oneOf}, another value is `Invalid`. */
function among(...values: readonly string[]): Check {
  return must((value) => values.includes(String(value)), `must be one of ${values.join(',')}`)
}

const COLUMN: Checks = [
  ['name', required()],
  ['type', required(), among('boolean', 'date', 'integer', 'number', 'string')],
  ['format', ifSet(among('byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'))],
  // The real server writes the field as its struct does.
  ['JSONPath', required(), simplePath],
]

const MAX_SELECTABLE = 8
const NO_OWN_SCHEMA = 'may only be set when `version.schema.openAPIV3Schema` is not included'

function selectableFaults(version: JsonObject, path: string): Cause[] {
  const schema = schemaOf(version)
  if (!isObject(schema)) return []
  const known = new Set<string>()
  const faults = list(version['selectableFields']).flatMap(({ jsonPath }, index): Cause[] => {
    const at = `${path}[${index}].jsonPath`
    const text = String(jsonPath ?? '')
    if (text === '') return [fault.required(at)]
    const field = fieldOf(text, schema as RuleSchema, false)
    if (typeof field === 'string') return [fault.invalid(at, text, `is an invalid path: ${field}`)]
    const wrong: Cause[] = []
    if (field.path.startsWith('metadata')) {
      wrong.push(fault.invalid(at, text, 'must not point to fields in metadata'))
    }
    if (!isSelectable(field.schema)) {
      const detail = 'must point to a field of type string, boolean or integer. Enum string fields and strings with ' +
        'formats are allowed.'
      wrong.push(fault.invalid(at, text, detail))
    }
    if (known.has(field.path)) wrong.push(fault.duplicate(at, text))
    known.add(field.path)
    return wrong
  })
  return known.size > MAX_SELECTABLE ? [...faults, fault.tooMany(path, known.size, MAX_SELECTABLE)] : faults
}

function isSelectable({ type }: RuleSchema): boolean {
  return type === 'string' || type === 'boolean' || type === 'integer'
}
