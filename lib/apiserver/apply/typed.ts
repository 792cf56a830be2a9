/** Reads values by their schema: shapes, names of list items, fields, and the differences of two values. */
import { jsonEqual } from '../../core/equal.ts'
import { field, isObject, type Json, type JsonObject } from '../model/json.ts'
import { type FieldNode, type FieldSet, FieldSetBuilder, formatPath } from './field_set.ts'
import { jsonType } from '../model/go_text.ts'
import { MAX_FAULTS } from '../model/status.ts'
import { fieldSchema, resolve, type Schema } from '../model/schema.ts'

/** A value: `undefined` is absent, `null` is present. */
export type Maybe = Json | undefined

/** The unit of ownership of a value: the whole value, each field, or each item. */
export type Shape = 'leaf' | 'map' | 'list'

/** Returns the shape of a value. Without a rule in the schema, objects are maps and lists are leaves. */
export function shapeOf(schema: Schema, value: Maybe): Shape {
  if (typeof value !== 'object' || value === null) return 'leaf'
  const target = resolve(schema)
  if (Array.isArray(value)) {
    const listType = target['x-kubernetes-list-type']
    return target.type === 'array' && (listType === 'map' || listType === 'set') ? 'list' : 'leaf'
  }
  // A map type beside a reference overrides that of the definition.
  return (schema['x-kubernetes-map-type'] ?? target['x-kubernetes-map-type']) === 'atomic' ? 'leaf' : 'map'
}

const UNTYPED: Schema = { 'x-kubernetes-preserve-unknown-fields': true }

/** The fields of an embedded object that its schema need not name. */
const EMBEDDED: Schema = {
  properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { $ref: 'meta.v1.ObjectMeta' } },
}

function declared(schema: Schema, name: string): Schema | undefined {
  const isEmbedded = schema['x-kubernetes-embedded-resource']
  return (isEmbedded ? fieldSchema(EMBEDDED, name) : undefined) ?? fieldSchema(schema, name)
}

/** Returns the schema of a field. */
export function childSchema(schema: Schema, name: string): Schema {
  return declared(schema, name) ?? UNTYPED
}

export function itemsOf(schema: Schema): Schema {
  return resolve(schema).items ?? UNTYPED
}

/** Returns whether the schema names a field; false for a key of a map. */
function isNamedField(schema: Schema, name: string): boolean {
  const { additionalProperties } = resolve(schema)
  return !additionalProperties && declared(schema, name) !== undefined
}

/** Returns the path element of an item in a keyed list or a set. Throws UntypableError if it has none. */
export function itemElement(schema: Schema, item: Json): string {
  const target = resolve(schema)
  if (target['x-kubernetes-list-type'] === 'set') {
    if (isObject(item) || item === null) {
      throw new UntypableError("associative list without keys has an element that's a map type")
    }
    return `v:${JSON.stringify(item)}`
  }
  const keys = target['x-kubernetes-list-map-keys'] ?? []
  if (!isObject(item)) throw new UntypableError('associative list with keys may not have non-map elements')
  const named: JsonObject = {}
  for (const key of keys.length > 1 ? [...keys].sort() : keys) {
    named[key] = field(item, key) ?? resolve(childSchema(itemsOf(schema), key)).default ?? null
  }
  return `k:${JSON.stringify(named)}`
}

/** A field of a map or an item of a list. */
export interface Part {
  /** Its path element. */
  readonly element: string
  readonly schema: Schema
  readonly value: Json
}

/** Returns the parts of a value; none of a leaf. */
export function partsOf(schema: Schema, value: Maybe): readonly Part[] {
  const shape = shapeOf(schema, value)
  if (shape === 'leaf') return []
  if (shape === 'list') {
    const items = itemsOf(schema)
    return (value as Json[]).map((item) => ({ element: itemElement(schema, item), schema: items, value: item }))
  }
  const parts: Part[] = []
  for (const [name, child] of Object.entries(value as JsonObject)) {
    if (child !== undefined) parts.push({ element: `f:${name}`, schema: childSchema(schema, name), value: child })
  }
  return parts
}

/** Returns the items of a list by path element. Of repeated elements, the first item is kept. */
export function itemsByElement(schema: Schema, list: readonly Json[]): Map<string, Json> {
  const items = new Map<string, Json>()
  for (const item of list) {
    const element = itemElement(schema, item)
    if (!items.has(element)) items.set(element, item)
  }
  return items
}

/** Thrown for a value that cannot be merged by its schema. */
export class UntypableError extends Error {
  override readonly name = 'UntypableError'
}

/** Returns the first value that the schema does not allow, with its path; undefined if it allows all of them. */
export function typeProblem(schema: Schema, value: Maybe): string | undefined {
  return typeProblemAt(schema, value, [], false)
}

/**
 * `path`: from the root to the value. Elements below are added and removed again, as a copy for each takes longer.
 * `isOpen`: what holds the value allows any field. That holds for all that is below it, but for built-in definitions.
 */
function typeProblemAt(schema: Schema, value: Maybe, path: string[], isOpen: boolean): string | undefined {
  const target = resolve(schema)
  const isKept = target['x-kubernetes-preserve-unknown-fields'] === true || (isOpen && schema.$ref === undefined)
  if (value === null || value === undefined) return undefined
  const refuse = (text: string): string => `${formatPath(path)}: ${text}`
  if (target.type === 'array') {
    if (!Array.isArray(value)) return refuse(`expected list, got ${jsonType(value)}`)
    const isLeaf = shapeOf(schema, value) === 'leaf'
    const isMap = target['x-kubernetes-list-type'] === 'map'
    return firstOf(value, (item, index) => {
      // Items without keys, and items of a set, have problems of their own.
      if (!isLeaf && !(isMap && isObject(item))) return undefined
      const element = isLeaf ? `i:${index}` : itemElement(schema, item)
      return below(path, element, () => typeProblemAt(itemsOf(schema), item, path, isKept))
    })
  }
  if (target.type === 'object' || target.properties) {
    if (!isObject(value)) return refuse(`expected map, got ${jsonType(value)}`)
    return firstOf(Object.entries(value), ([name, child]) => {
      const property = declared(schema, name)
      if (property) return below(path, `f:${name}`, () => typeProblemAt(property, child, path, isKept))
      return isKept || (!target.properties && !target.additionalProperties)
        ? undefined
        : `${formatPath([...path, `f:${name}`])}: field not declared in schema`
    })
  }
  return scalarProblem(target, value, refuse)
}

function scalarProblem(target: Schema, value: Json, refuse: (text: string) => string): string | undefined {
  if (target['x-kubernetes-int-or-string']) return undefined
  switch (target.type) {
    case 'integer':
    case 'number':
      return typeof value === 'number' ? undefined : refuse(`expected numeric (int or float), got ${jsonType(value)}`)
    case 'string':
      if (typeof value === 'string') return undefined
      return refuse(`expected string, got ${jsonType(value)}`)
    case 'boolean':
      return typeof value === 'boolean' ? undefined : refuse(`expected boolean, got ${jsonType(value)}`)
    default:
      return undefined
  }
}

/** Calls with an element at the end of the path. */
function below<T>(path: string[], element: string, call: () => T): T {
  path.push(element)
  const result = call()
  path.pop()
  return result
}

function firstOf<T>(items: readonly T[], find: (item: T, index: number) => string | undefined): string | undefined {
  for (const [index, item] of items.entries()) {
    const found = find(item, index)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the problems of the lists in an applied configuration: items without keys, and repeated items. */
export function listProblems(schema: Schema, value: Maybe): readonly string[] {
  const problems: string[] = []
  for (const problem of problemsAt(schema, value, [])) if (problems.push(problem) === MAX_FAULTS) break
  return problems
}

function* problemsAt(schema: Schema, value: Maybe, path: readonly string[]): Generator<string> {
  const shape = shapeOf(schema, value)
  if (shape === 'list') yield* itemProblems(schema, value as Json[], path)
  else if (shape === 'map') {
    for (const { element, schema: own, value: child } of partsOf(schema, value)) {
      yield* problemsAt(own, child, [...path, element])
    }
  }
}

function* itemProblems(schema: Schema, list: readonly Json[], path: readonly string[]): Generator<string> {
  const seen = new Set<string>()
  for (const [index, item] of list.entries()) {
    let element: string
    try {
      element = itemElement(schema, item)
    } catch (error) {
      if (!(error instanceof UntypableError)) throw error
      yield `${formatPath(path)}: element ${index}: ${error.message}`
      continue
    }
    if (seen.has(element)) yield `${formatPath(path)}: duplicate entries for key ${formatPath([element])}`
    else yield* problemsAt(itemsOf(schema), item, [...path, element])
    seen.add(element)
  }
}

/** Returns the fields that an applied configuration contains. */
export function fieldsOf(schema: Schema, value: Maybe): FieldSet {
  const builder = new FieldSetBuilder()
  collect(schema, value, [], builder)
  return builder.build()
}

function collect(schema: Schema, value: Maybe, path: string[], builder: FieldSetBuilder): void {
  if (shapeOf(schema, value) === 'leaf' && path.length > 0) builder.insert(path)
  for (const { element, schema: own, value: child } of partsOf(schema, value)) {
    below(path, element, () => {
      collect(own, child, path, builder)
      const isEmptyMap = isObject(child) && Object.keys(child).length === 0
      if (!element.startsWith('f:') || isEmptyMap || !isNamedField(schema, element.slice(2))) builder.insert(path)
    })
  }
}

/** The differences between two states of an object, by field. */
export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

interface Builders {
  readonly added: FieldSetBuilder
  readonly modified: FieldSetBuilder
  readonly removed: FieldSetBuilder
}

export function compare(schema: Schema, before: Maybe, after: Maybe): Comparison {
  const builders: Builders = {
    added: new FieldSetBuilder(),
    modified: new FieldSetBuilder(),
    removed: new FieldSetBuilder(),
  }
  walk(schema, before, after, [], builders)
  return { added: builders.added.build(), modified: builders.modified.build(), removed: builders.removed.build() }
}

function walk(schema: Schema, before: Maybe, after: Maybe, path: string[], builders: Builders): void {
  if (before === after && path.length > 0 && before !== undefined) return
  if (path.length > 0) {
    if (before === undefined) builders.added.insert(path)
    else if (after === undefined) builders.removed.insert(path)
  }
  const shape = sharedShape(schema, before, after)
  if (shape === 'leaf') {
    if (before !== undefined && after !== undefined && !jsonEqual(before, after)) builders.modified.insert(path)
    // The shapes differ: what is below the old value is removed, what is below the new value is added.
    if (before !== undefined && after !== undefined) {
      if (shapeOf(schema, before) !== 'leaf') descend(schema, before, undefined, path, builders)
      if (shapeOf(schema, after) !== 'leaf') descend(schema, undefined, after, path, builders)
    }
    return
  }
  descend(schema, before, after, path, builders)
}

/** Returns the shape for a comparison: undefined and null take the other value's shape; two empty values are a leaf. */
function sharedShape(schema: Schema, before: Maybe, after: Maybe): 'leaf' | 'map' | 'list' {
  const left = before ?? undefined
  const right = after ?? undefined
  if (isEmptyValue(left) && isEmptyValue(right)) return 'leaf'
  const shape = shapeOf(schema, left ?? right)
  return left !== undefined && right !== undefined && shapeOf(schema, right) !== shape ? 'leaf' : shape
}

function isEmptyValue(value: Maybe): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function descend(schema: Schema, before: Maybe, after: Maybe, path: string[], builders: Builders): void {
  const step = (element: string, child: Schema, left: Maybe, right: Maybe): void => {
    if (left !== undefined || right !== undefined) below(path, element, () => walk(child, left, right, path, builders))
  }
  if (shapeOf(schema, before ?? after) === 'map') {
    const left = isObject(before) ? before : {}
    const right = isObject(after) ? after : {}
    for (const [name, value] of Object.entries(left)) {
      step(`f:${name}`, childSchema(schema, name), value, Object.hasOwn(right, name) ? right[name] : undefined)
    }
    for (const [name, value] of Object.entries(right)) {
      if (!Object.hasOwn(left, name)) step(`f:${name}`, childSchema(schema, name), undefined, value)
    }
    return
  }
  const items = itemsOf(schema)
  const left = itemsByElement(schema, Array.isArray(before) ? before : [])
  const right = itemsByElement(schema, Array.isArray(after) ? after : [])
  for (const [element, item] of left) step(element, items, item, right.get(element))
  for (const [element, item] of right) if (!left.has(element)) step(element, items, undefined, item)
}

/** Returns a set that also contains each field named by the schema that has members below it. */
export function withNamedFields(schema: Schema, set: FieldSet): FieldSet {
  const result = new Map<string, FieldNode>()
  for (const [element, node] of set) {
    const isField = element.startsWith('f:')
    const name = element.slice(2)
    const child = isField ? childSchema(schema, name) : itemsOf(schema)
    const isNamed = isField && node.children.size > 0 && isNamedField(schema, name)
    result.set(element, { member: node.member || isNamed, children: withNamedFields(child, node.children) })
  }
  return result
}
