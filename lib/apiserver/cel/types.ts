/** The types of CEL, and when a value of one can be used as another. */

type Kind =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'null'
  | 'dyn'
  | 'error'
  | 'duration'
  | 'timestamp'
  | 'list'
  | 'map'
  | 'type'
  | 'struct'
  | 'opaque'
  | 'param'

export interface CelType {
  readonly kind: Kind
  /** The name in messages. */
  readonly name: string
  readonly params: readonly CelType[]
}

function simple(kind: Kind, name: string = kind): CelType {
  return { kind, name, params: [] }
}

export const BOOL: CelType = simple('bool')
export const INT: CelType = simple('int')
export const DOUBLE: CelType = simple('double')
export const STRING: CelType = simple('string')
export const BYTES: CelType = simple('bytes')
export const NULL: CelType = simple('null')
export const DYN: CelType = simple('dyn')
export const ERROR: CelType = simple('error', '!error!')
export const DURATION: CelType = simple('duration')
export const TIMESTAMP: CelType = simple('timestamp')
const UINT: CelType = simple('uint')
const TYPE: CelType = simple('type')

const NAMED: ReadonlyMap<string, CelType> = new Map([
  ...[BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TYPE, DURATION, TIMESTAMP].map((each) =>
    [each.name, each] as const
  ),
  ['IP', simple('opaque', 'net.IP')],
  ['CIDR', simple('opaque', 'net.CIDR')],
  ['URL', simple('struct', 'kubernetes.URL')],
  ['Quantity', simple('struct', 'kubernetes.Quantity')],
  ['Semver', simple('struct', 'kubernetes.Semver')],
  ['Format', simple('struct', 'kubernetes.NamedFormat')],
])

export function listOf(item: CelType): CelType {
  return { kind: 'list', name: 'list', params: [item] }
}

export function mapOf(key: CelType, value: CelType): CelType {
  return { kind: 'map', name: 'map', params: [key, value] }
}

export function optionalOf(value: CelType): CelType {
  return { kind: 'opaque', name: 'optional_type', params: [value] }
}

export function typeOf(type: CelType): CelType {
  return { kind: 'type', name: 'type', params: [type] }
}

export function structOf(name: string): CelType {
  return simple('struct', name)
}

function paramOf(name: string): CelType {
  return simple('param', name)
}

/** Parses a type as the tables of functions write it, such as `map<K, list<string>>`; one capital is a parameter. */
export function parseType(text: string): CelType {
  const generic = /^(\w+)<(.+)>$/.exec(text)
  if (!generic) return /^[A-Z]$/.test(text) ? paramOf(text) : NAMED.get(text)!
  const params = splitTypes(generic[2]!).map(parseType)
  return generic[1] === 'optional' ? optionalOf(params[0]!) : { kind: generic[1] as Kind, name: generic[1]!, params }
}

/** Splits a list of types at the commas outside of angle brackets. */
export function splitTypes(text: string): string[] {
  return text.match(/(?:[^,<]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)+/g)?.map((each) => each.trim()) ?? []
}

/** Returns the name of a type in messages, such as `list(string)`. */
export function typeName({ kind, name, params }: CelType): string {
  if (params.length === 0) return name
  return kind === 'type' && params[0]!.kind === 'error' ? 'type' : `${name}(${params.map(typeName).join(', ')})`
}

export function isOptional({ kind, name }: CelType): boolean {
  return kind === 'opaque' && name === 'optional_type'
}

export function isDyn({ kind }: CelType): boolean {
  return kind === 'dyn' || kind === 'error'
}

export function sameType(a: CelType, b: CelType): boolean {
  return a.kind === b.kind && a.name === b.name && a.params.length === b.params.length &&
    a.params.every((each, index) => sameType(each, b.params[index]!))
}

/** Returns whether the first type is equal to the second, or `dyn` where they differ. */
function isMoreGeneral(a: CelType, b: CelType): boolean {
  if (a.kind === 'dyn' || a.kind === 'param') return true
  if (b.kind === 'dyn' || b.kind === 'param' || a.kind !== b.kind) return false
  if (a.kind === 'list' || a.kind === 'map' || a.kind === 'opaque') {
    return a.name === b.name && a.params.length === b.params.length &&
      a.params.every((each, index) => isMoreGeneral(each, b.params[index]!))
  }
  return a.kind === 'type' || sameType(a, b)
}

export function mostGeneral(a: CelType, b: CelType): CelType {
  return isMoreGeneral(a, b) ? a : b
}

/** The types that type parameters stand for, found so far. */
export class Bindings {
  readonly #types: Map<string, CelType>
  /** What each parameter stood for before the assignment in work bound it, in the order of the bindings. */
  #changes: (readonly [name: string, before: CelType | undefined])[] = []
  #fresh = 0

  constructor(types: ReadonlyMap<string, CelType> = new Map()) {
    this.#types = new Map(types)
  }

  fresh(): CelType {
    return paramOf(`_var${this.#fresh++}`)
  }

  /** Returns whether values of the first types can be used as the second ones; if so, keeps what that binds. */
  assign(from: readonly CelType[], to: readonly CelType[]): boolean {
    this.#changes = []
    if (from.length === to.length && from.every((each, index) => this.#assign(each, to[index]!))) return true
    for (const [name, before] of this.#changes.reverse()) {
      if (before) this.#types.set(name, before)
      else this.#types.delete(name)
    }
    return false
  }

  #set(name: string, type: CelType): void {
    this.#changes.push([name, this.#types.get(name)])
    this.#types.set(name, type)
  }

  /** Replaces the bound parameters in a type; `freeAs` replaces the others. */
  resolve(type: CelType, freeAs?: CelType): CelType {
    const bound = type.kind === 'param' ? this.#types.get(type.name) : undefined
    if (bound) return this.resolve(bound, freeAs)
    if (type.kind === 'param') return freeAs ?? type
    if (type.params.length === 0) return type
    return { ...type, params: type.params.map((each) => this.resolve(each, freeAs)) }
  }

  #assign(from: CelType, to: CelType): boolean {
    if (to.kind === 'param') {
      const { valid, isBound } = this.#bind(from, to)
      if (valid) return true
      if (isBound) return false
    }
    if (from.kind === 'param') return this.#bind(to, from).valid
    if (isDyn(from) || isDyn(to)) return true
    if (from.kind === 'null') return isNullable(to)
    if (to.kind === 'null') return isNullable(from)
    if (from.kind === 'type') return to.kind === 'type'
    return from.kind === to.kind && from.name === to.name && from.params.length === to.params.length &&
      from.params.every((each, index) => this.#assign(each, to.params[index]!))
  }

  #bind(type: CelType, param: CelType): { readonly valid: boolean; readonly isBound: boolean } {
    if (type.kind === 'param' && type.name === param.name) return { valid: true, isBound: true }
    const bound = this.#types.get(param.name)
    if (bound) {
      if (sameType(bound, type)) return { valid: true, isBound: true }
      if (!this.#assign(type, bound)) return { valid: false, isBound: true }
      const general = mostGeneral(type, bound)
      if (!this.#occursIn(param, general)) this.#set(param.name, general)
      return { valid: true, isBound: true }
    }
    if (this.#occursIn(param, type)) return { valid: false, isBound: false }
    this.#set(param.name, type)
    return { valid: true, isBound: false }
  }

  #occursIn(param: CelType, type: CelType): boolean {
    if (type.kind !== 'param') return type.params.some((each) => this.#occursIn(param, each))
    if (type.name === param.name) return true
    const bound = this.#types.get(type.name)
    return bound !== undefined && this.#occursIn(param, bound)
  }
}

function isNullable({ kind }: CelType): boolean {
  return kind === 'null' || kind === 'opaque' || kind === 'struct' || kind === 'duration' || kind === 'timestamp'
}
