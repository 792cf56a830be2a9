import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ROOT } from '../tools/tree.ts'
import { hiddenTypes } from './public_types.ts'

const entries = Object.values(
  (JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { exports: Record<string, string> }).exports,
)
  .filter((path) => path.endsWith('.ts')).map((path) => path.slice(2))

test('every type that the public declarations mention is exported by an entry', () => {
  assert.ok(entries.includes('mod.ts') && entries.length > 3, entries.join())
  const remedy =
    'export each as a type from mod.ts, or from the mod.ts of its entry, under "Types that those above mention"'
  assert.deepEqual(hiddenTypes(entries), [], remedy)
})

test('mod.ts exports at most 120 types: those that few operators name are in kubeloop/parts', () => {
  const lists = readFileSync(`${ROOT}/mod.ts`, 'utf8').matchAll(/^export (type )?\{([^}]*)\}/gm)
  const types = [...lists].flatMap(([, all, names = '']) =>
    names.split(',').map((name) => name.trim()).filter((name) => name !== '' && (all || name.startsWith('type ')))
  )
  assert.ok(types.length > 100 && types.length <= 120, `${types.length} types`)
})

function hiddenIn(mod: string, inner: string): string[] {
  return hiddenTypes(['lib/core/virtual.ts'], new Map([['lib/core/virtual.ts', mod], ['lib/core/inner.ts', inner]]))
    .map((line) => line.replace(' (lib/core/inner.ts), mentioned by', ' by'))
}

test('a hidden type is found wherever a declaration can mention it, with the types that it mentions', () => {
  const inner = `
    export interface Deep { readonly a: string }
    export interface Hidden { readonly deep: Deep }
    export interface Base { readonly b: string }
    export class Parent<T> { readonly of?: T }
    export interface Options { readonly hidden?: Hidden }
    export type Result = Promise<readonly Hidden[]>
    export class Class extends Parent<Base> { constructor(options: Options) { super(); void options } }
    export const value: (hidden: Hidden) => void = () => {}
    export function f<T extends Base>(of: T): T { return of }`
  const all = hiddenIn(`export { Class, value, f } from './inner.ts'\nexport type { Result } from './inner.ts'`, inner)
  assert.deepEqual(all.map((line) => line.split(' ', 1)[0]), ['Base', 'Deep', 'Hidden', 'Options', 'Parent'])
  assert.deepEqual(
    hiddenIn(
      `export { Class, Parent, value, f, type Base, type Deep, type Hidden, type Options, type Result } from './inner.ts'`,
      inner,
    ),
    [],
  )
  assert.deepEqual(hiddenIn(`export * as inner from './inner.ts'`, inner), [])
  assert.deepEqual(hiddenIn(`export { value } from './inner.ts'`, inner), ['Deep by Hidden', 'Hidden by value'])
})

test("bodies, initializers, private members and a file's own types are not checked", () => {
  const inner = `
    export interface Hidden { readonly a: string }
    interface Own { readonly a: string }
    export class Class {
      #a: Hidden | undefined
      private readonly b: Hidden | undefined
      #c(): Hidden | undefined { return this.#a ?? this.b }
      d(): Own | undefined { const hidden: Hidden | undefined = this.#c(); return hidden }
    }
    export const value: string = ((hidden: Hidden) => hidden.a)({ a: '' })`
  assert.deepEqual(hiddenIn(`export { Class, value } from './inner.ts'`, inner), [])
})
