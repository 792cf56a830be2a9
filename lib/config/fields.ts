/** Reads fields of an external document. Errors name file and field, and never quote values. */
import { ConfigError } from '../core/errors.ts'

export class Fields {
  /** The path of the file, for messages and relative paths. */
  readonly file: string
  /** The place of the mapping in it, such as `users["dev"].user`; empty at the root. */
  readonly path: string
  readonly #values: Readonly<Record<string, unknown>>

  /** @throws ConfigError if `value` is not a mapping. */
  constructor(value: unknown, file: string, path: string) {
    this.file = file
    this.path = path
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      throw new ConfigError(`Cannot read ${file}: ${path || 'the document'} must be a mapping${found(value)}`)
    }
    this.#values = value as Record<string, unknown>
  }

  /** Returns a text. An empty one counts as absent, as in client-go. */
  text(name: string): string | undefined {
    const value = this.#values[name]
    if (value === undefined || value === null || value === '') return undefined
    if (typeof value === 'string') return value
    throw this.wrong(name, `must be text${found(value)}${typeof value === 'object' ? '' : '; put it in quotes'}`)
  }

  flag(name: string): boolean {
    const value = this.#values[name] ?? false
    if (typeof value === 'boolean') return value
    throw this.wrong(name, `must be true or false${found(value)}`)
  }

  texts(name: string): string[] {
    return this.list(name).map((value) => {
      if (typeof value === 'string') return value
      throw this.wrong(name, `must be a list of texts, but has an entry that is ${kindOf(value)}`)
    })
  }

  list(name: string): readonly unknown[] {
    const value = this.#values[name] ?? []
    if (Array.isArray(value)) return value
    throw this.wrong(name, `must be a list${found(value)}`)
  }

  child(name: string): Fields | undefined {
    const value = this.#values[name]
    return value === undefined || value === null ? undefined : new Fields(value, this.file, this.at(name))
  }

  /** Returns the keys, for mappings whose keys are data. */
  keys(): string[] {
    return Object.keys(this.#values)
  }

  /** Returns the value without validation. */
  raw(name: string): unknown {
    return this.#values[name]
  }

  at(name: string): string {
    return this.path ? `${this.path}.${name}` : name
  }

  wrong(name: string, what: string): ConfigError {
    return new ConfigError(`Cannot read ${this.file}: ${this.at(name)} ${what}`)
  }
}

function found(value: unknown): string {
  return value === undefined ? '' : `, but is ${kindOf(value)}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return { object: 'a mapping', string: 'text', number: 'a number', boolean: 'a boolean' }[typeof value as string] ??
    typeof value
}
