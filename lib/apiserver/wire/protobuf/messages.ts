/** Looks up the protobuf messages of the built-in kinds in the generated table. */
import { PROTOBUF_TABLE } from './table.ts'

/** What a field holds: string, bool, 32-bit or 64-bit integer, exact 64-bit integer, double, bytes, message. */
type FieldType = 's' | 'b' | 'i' | 'l' | 'L' | 'd' | 'y' | 'm'

export interface Field {
  /** The place of its value in the slots of a message. */
  readonly index: number
  /** The name in JSON. */
  readonly name: string
  /** The name in Go's errors. */
  readonly goName: string
  readonly type: FieldType
  readonly many: '' | 'list' | 'map'
  /** The message of a field of type `m`. */
  readonly ref: number
  /** Whether Go holds a pointer: then a zero value is in the JSON, and no value is not. */
  readonly pointer: boolean
  /** Whether the fields of the message are fields of its owner in JSON. */
  readonly inline: boolean
  /** Whether a missing value is in the JSON, as null or zero. */
  readonly keep: boolean
  /** Whether a null is left out, as a zero time is. */
  readonly omitNull: boolean
}

/** The types whose JSON differs from their fields. */
export type Special =
  | 'quantity'
  | 'int-or-string'
  | 'time'
  | 'micro-time'
  | 'duration'
  | 'json'
  | 'raw'
  | 'fields'
  | 'schema-or-array'
  | 'schema-or-bool'
  | 'schema-or-strings'
  | 'items'

export interface Message {
  /** The name in Go's errors. */
  readonly name: string
  readonly special: Special | undefined
  readonly fields: readonly Field[]
  /** The fields by number; numbers without a field are undefined. */
  readonly byNumber: readonly (Field | undefined)[]
}

/** The message of a body: its kind, and the bytes of the object. */
export const ENVELOPE = 0

interface Table {
  readonly lines: string[]
  readonly messages: (Message | undefined)[]
  /** References by `apiVersion kind`. */
  readonly kinds: ReadonlyMap<string, number>
  readonly groupVersions: ReadonlySet<string>
}

let table: Table | undefined

/** Splits the table; each of its lines is parsed when it is first needed. */
function open(): Table {
  if (table) return table
  const lines: string[] = []
  const kinds = new Map<string, number>()
  const groupVersions = new Set<string>()
  let groupVersion = ''
  for (const line of PROTOBUF_TABLE.split('\n')) {
    if (line.startsWith('#')) {
      groupVersion = line.slice(1)
      if (groupVersion) groupVersions.add(groupVersion)
    } else if (line) {
      if (line.startsWith('+')) kinds.set(`${groupVersion} ${line.slice(1, line.indexOf(' '))}`, lines.length)
      lines.push(line.replace('+', ''))
    }
  }
  return table = { lines, messages: [], kinds, groupVersions }
}

export function messageAt(ref: number): Message {
  const { lines, messages } = open()
  return messages[ref] ??= parseMessage(lines[ref]!)
}

const META = 'meta.k8s.io/v1'

/** Returns the message of a kind; undefined for an unknown one. Every group version has the kinds of meta.k8s.io/v1. */
export function messageOfKind(apiVersion: string, kind: string): Message | undefined {
  const { kinds, groupVersions } = open()
  const ref = kinds.get(`${apiVersion} ${kind}`) ??
    (groupVersions.has(apiVersion) ? kinds.get(`${META} ${kind}`) : undefined)
  return ref === undefined ? undefined : messageAt(ref)
}

/** Returns all kinds of the table as `apiVersion kind`. */
export function knownKinds(): readonly string[] {
  return [...open().kinds.keys()]
}

function parseMessage(line: string): Message {
  const words = line.split(' ')
  const special = words[0]!.startsWith('@') ? words.shift()!.slice(1) as Special : undefined
  const name = words.shift()!
  const byNumber: (Field | undefined)[] = []
  let number = 0
  const fields = words.map((word, index) => {
    const parsed = parseField(word, index)
    number = parsed.number ?? number + 1
    return byNumber[number] = parsed.field
  })
  return { name, special, fields, byNumber }
}

const FIELD = /^(\d*)([%*]?)([sbilLdym])(\d*)([?<]?)([!~]?):([^=]+)=?(.*)$/

/** Parses `[number][%*]type[?<][!~]:name[=GoName]`. Without a number, it is that of the field before plus one. */
function parseField(word: string, index: number): { readonly number: number | undefined; readonly field: Field } {
  const match = FIELD.exec(word)
  if (!match) throw new TypeError(`The table of protobuf messages has the invalid field "${word}"`)
  const [, number, many, type, ref, kind, flag, name, goName] = match
  return {
    number: number ? Number(number) : undefined,
    field: {
      index,
      name: name!,
      goName: goName || name![0]!.toUpperCase() + name!.slice(1),
      type: type as FieldType,
      many: many === '*' ? 'list' : many === '%' ? 'map' : '',
      ref: Number(ref),
      pointer: kind === '?',
      inline: kind === '<',
      keep: flag === '!',
      omitNull: flag === '~',
    },
  }
}
