/** Compares the table of protobuf messages with the schemas of the kinds that are served. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinKinds } from '../../lib/apiserver/kinds/kinds.ts'
import { apiVersionOf } from '../../lib/core/resource.ts'
import { type Field, type Message, messageAt, messageOfKind } from '../../lib/apiserver/wire/protobuf/messages.ts'
import { resolve, type Schema } from '../../lib/apiserver/model/schema.ts'

test('each built-in kind has a message with the fields of its schema', () => {
  const found: string[] = []
  for (const kind of builtinKinds()) {
    const name = `${apiVersionOf(kind)} ${kind.kind}`
    const message = messageOfKind(apiVersionOf(kind), kind.kind)
    if (message) compare(message, kind.schema, name, new Set(), found)
    else found.push(`${name} has no message`)
  }
  assert.deepEqual(found, [])
})

function compare(message: Message, schema: Schema, path: string, seen: Set<Message>, found: string[]): void {
  if (message.special || seen.has(message)) return
  seen.add(message)
  const { properties } = resolve(schema)
  if (!properties) return
  const fields = new Map(flat(message).map((field) => [field.name, field]))
  for (const name of Object.keys(properties)) {
    // A type with a TypeMeta has these in JSON only.
    if (!fields.has(name) && name !== 'apiVersion' && name !== 'kind') found.push(`${path}.${name} has no field`)
  }
  for (const [name, field] of fields) {
    const property = properties[name]
    if (!property) found.push(`${path}.${name} has no schema`)
    else compareField(field, property, `${path}.${name}`, seen, found)
  }
}

/** Returns the fields of a message in JSON: with those of its inline messages. */
function flat({ fields }: Message): readonly Field[] {
  return fields.flatMap((field) => field.inline ? flat(messageAt(field.ref)) : field)
}

/** The types of a schema by those of a field. */
const TYPES: Readonly<Record<string, string>> = {
  s: 'string',
  y: 'string',
  b: 'boolean',
  i: 'integer',
  l: 'integer',
  d: 'number',
}

function compareField(field: Field, property: Schema, path: string, seen: Set<Message>, found: string[]): void {
  const { items, additionalProperties } = resolve(property)
  const element = field.many === 'list' ? items : field.many === 'map' ? additionalProperties : property
  if (typeof element !== 'object') found.push(`${path} is no ${field.many}`)
  else if (field.type === 'm') compare(messageAt(field.ref), element, path, seen, found)
  else if (resolve(element).type !== TYPES[field.type]) found.push(`${path} is a ${resolve(element).type}`)
}
