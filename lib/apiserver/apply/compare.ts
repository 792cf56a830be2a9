/** Collects the fields of an object, and compares the fields of two states. */
import { isObject, type JsonObject } from '../json.ts'
import { jsonEqual } from '../../core/equal.ts'
import type { Schema } from '../schema/schema.ts'
import { type FieldNode, type FieldSet, FieldSetBuilder } from './field_set.ts'
import { childSchema, isNamedField, itemElement, itemsByElement, itemsOf, type Maybe, shapeOf } from './typed.ts'

/** Returns the fields that an applied configuration contains. */
export function fieldsOf(schema: Schema, value: Maybe): FieldSet {
  const builder = new FieldSetBuilder()
  collect(schema, value, [], builder)
  return builder.build()
}

function collect(schema: Schema, value: Maybe, path: readonly string[], builder: FieldSetBuilder): void {
  switch (shapeOf(schema, value)) {
    case 'leaf':
      if (path.length > 0) builder.insert(path)
      return
    case 'map':
      for (const [name, child] of Object.entries(value as JsonObject)) {
        if (child === undefined) continue
        const childPath = [...path, `f:${name}`]
        collect(childSchema(schema, name), child, childPath, builder)
        const isEmptyMap = isObject(child) && Object.keys(child).length === 0
        if (isEmptyMap || !isNamedField(schema, name)) builder.insert(childPath)
      }
      return
    case 'list':
      for (const item of value as never[]) {
        const childPath = [...path, itemElement(schema, item)]
        collect(itemsOf(schema), item, childPath, builder)
        builder.insert(childPath)
      }
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

function walk(schema: Schema, before: Maybe, after: Maybe, path: readonly string[], builders: Builders): void {
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

function descend(schema: Schema, before: Maybe, after: Maybe, path: readonly string[], builders: Builders): void {
  if (shapeOf(schema, before ?? after) === 'map') {
    const left = isObject(before) ? before : {}
    const right = isObject(after) ? after : {}
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const leftField = Object.hasOwn(left, name) ? left[name] : undefined
      const rightField = Object.hasOwn(right, name) ? right[name] : undefined
      if (leftField === undefined && rightField === undefined) continue
      walk(childSchema(schema, name), leftField, rightField, [...path, `f:${name}`], builders)
    }
    return
  }
  const left = itemsByElement(schema, Array.isArray(before) ? before : [])
  const right = itemsByElement(schema, Array.isArray(after) ? after : [])
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    walk(itemsOf(schema), left.get(element), right.get(element), [...path, element], builders)
  }
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
