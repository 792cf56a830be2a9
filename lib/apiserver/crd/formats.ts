/** The formats of schemas that the server does not check: the writer of a definition is warned of them. */
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../model/json.ts'

/** Of strings, without hyphens (k8s.io/apiextensions-apiserver, pkg/apiserver/validation/formats.go). */
const OF_STRINGS: ReadonlySet<string> = new Set(
  ('bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn ' +
    'hexcolor rgbcolor byte password date duration datetime').split(' '),
)
const OF_NUMBERS: Readonly<Record<string, readonly string[]>> = {
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
}

/** Returns the unknown formats of a definition that the definition before did not have. */
export function unrecognizedFormats(crd: ApiObject, old: ApiObject | undefined): readonly string[] {
  const before = new Set(old ? formatsOf(old) : [])
  return [...new Set(formatsOf(crd))].filter((format) => !before.has(format))
}

function formatsOf(crd: ApiObject): string[] {
  const versions = at(crd, 'spec', 'versions')
  return (Array.isArray(versions) ? versions : []).flatMap((version) =>
    unknownIn(at(version, 'schema', 'openAPIV3Schema'))
  )
}

function unknownIn(schema: Json | undefined): string[] {
  if (!isObject(schema)) return []
  const { format, type = '' } = schema
  const isUnknown = typeof format === 'string' && format !== '' && !isKnown(format, String(type))
  return [...(isUnknown ? [format] : []), ...partsOf(schema).flatMap(unknownIn)]
}

function isKnown(format: string, type: string): boolean {
  if (type === '' || type === 'string') {
    return OF_STRINGS.has(format.replaceAll('-', '')) || format === 'k8s-short-name' || format === 'k8s-long-name'
  }
  return OF_NUMBERS[type]?.includes(format) ?? false
}

/** Returns the schemas within a schema. */
function partsOf(
  { items, additionalProperties, not, properties, allOf, anyOf, oneOf }: JsonObject,
): (Json | undefined)[] {
  const listed = [allOf, anyOf, oneOf].flatMap((each) => (Array.isArray(each) ? each : []))
  return [items, additionalProperties, not, ...listed, ...Object.values(isObject(properties) ? properties : {})]
}
