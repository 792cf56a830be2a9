/** Which fields an object has, and which differ between two: the measures of ownership. */
import { isObject, type JsonObject } from '../json.ts'
import { jsonEqual } from '../../core/equal.ts'
import type { Schema } from '../schema/schema.ts'
import { type FieldNode, type FieldSet, FieldSetBuilder } from './field_set.ts'
import { below, isNamedField, itemElement, itemsByElement, itemsOf, type Maybe, shapeOf } from './typed.ts'

/** The fields that an applied configuration states. */
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
        collect(below(schema, name), child, childPath, builder)
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

/** The fields that two states of an object differ in. */
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
    // Values of two shapes: what was below the one is gone, what is below the other is new.
    if (before !== undefined && after !== undefined) {
      if (shapeOf(schema, before) !== 'leaf') descend(schema, before, undefined, path, builders)
      if (shapeOf(schema, after) !== 'leaf') descend(schema, undefined, after, path, builders)
    }
    return
  }
  descend(schema, before, after, path, builders)
}

/** The shape in which two values are compared: nothing and null take that of the other; both empty are one field. */
function sharedShape(schema: Schema, before: Maybe, after: Maybe): 'leaf' | 'map' | 'list' {
  const left = before ?? undefined
  const right = after ?? undefined
  if (isVoid(left) && isVoid(right)) return 'leaf'
  const shape = shapeOf(schema, left ?? right)
  return left !== undefined && right !== undefined && shapeOf(schema, right) !== shape ? 'leaf' : shape
}

function isVoid(value: Maybe): boolean {
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
      walk(below(schema, name), leftField, rightField, [...path, `f:${name}`], builders)
    }
    return
  }
  const left = itemsByElement(schema, Array.isArray(before) ? before : [])
  const right = itemsByElement(schema, Array.isArray(after) ? after : [])
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    walk(itemsOf(schema), left.get(element), right.get(element), [...path, element], builders)
  }
}

/** A set with the fields that the schema names made members where something below them is one. */
export function withNamedFields(schema: Schema, set: FieldSet): FieldSet {
  const result = new Map<string, FieldNode>()
  for (const [element, node] of set) {
    const isField = element.startsWith('f:')
    const name = element.slice(2)
    const child = isField ? below(schema, name) : itemsOf(schema)
    const isNamed = isField && node.below.size > 0 && isNamedField(schema, name)
    result.set(element, { member: node.member || isNamed, below: withNamedFields(child, node.below) })
  }
  return result
}
