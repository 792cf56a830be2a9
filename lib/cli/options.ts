/** Declares commands: one declaration of an option gives its syntax, its checks, its type and its help. */
import { type Duration, toMs } from '../core/duration.ts'
import { isNamespace } from '../core/names.ts'
import { didYouMean } from '../core/option_names.ts'
import type { RuntimeName } from '../runtime/os/this_runtime.ts'

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

interface Form<T> {
  /** Returns undefined if the text is invalid. */
  readonly read: (text: string) => T | undefined
  /** What a valid text is, after "must be". */
  readonly expected: string
  /** All valid texts, if they are few. */
  readonly words?: readonly string[]
}

export interface Option<T> {
  readonly kind: 'flag' | 'value' | 'optional' | 'list'
  /** The placeholder of the value in the help. */
  readonly placeholder: string
  readonly help: string
  readonly form: Form<unknown>
  /** Returns the option's value from all that were given. */
  readonly valueOf: (given: readonly unknown[]) => T
}

/** The options of a command by their names in camelCase: `createNamespace` is `--create-namespace`. */
export type Options = Readonly<Record<string, Option<unknown>>>

export type Values<O extends Options> =
  & { readonly [Name in keyof O]: ReturnType<O[Name]['valueOf']> }
  & {
    /** The operator's file, or the command's only argument; empty if the command takes none. */
    readonly file: string
    /** The user's arguments for the runtime, after `--`. */
    readonly passed: readonly string[]
  }

export interface Context {
  /** The parent process at the start of the command: it may end while modules are loaded. */
  readonly parent: number
  /** Prints a line of the result. */
  readonly print: (line: string) => void
  /** Prints a hint. */
  readonly warn: (line: string) => void
}

export interface Command<O extends Options = Options> {
  /** An example of its only argument: a module, any other file, or a shell. Default: it takes none. */
  readonly file?: 'operator.ts' | 'crd.yaml' | 'bash'
  /** Paragraphs, with an empty line between two. */
  readonly about: string
  readonly options: O
  /** Whether it takes arguments for the runtime. Default: no. */
  readonly passes?: boolean
  /** The last line of the help. */
  readonly remark?: string
  /** Returns why these options do not fit each other. */
  check?(values: Values<O>): string | undefined
  /** Resolves with an exit code, or false if it failed and printed why. Throws an error to be printed. */
  run(values: Values<O>, context: Context): Promise<boolean | number | void>
}

/** Returns its argument, whose `check` and `run` have the types of its options. */
export function command<O extends Options>(declared: Command<O>): Command<O> {
  return declared
}

const TEXT: Form<string> = { read: (text) => text, expected: 'a text' }

export function flag(help: string): Option<boolean> {
  return { kind: 'flag', placeholder: '', help, form: TEXT, valueOf: (given) => given.length > 0 }
}

export function value(placeholder: string, help: string): Option<string | undefined>
export function value<T>(placeholder: string, help: string, form: Form<T>): Option<T | undefined>
export function value(placeholder: string, help: string, form: Form<unknown> = TEXT): Option<unknown> {
  return { kind: 'value', placeholder, help, form, valueOf: ([given]) => given }
}

/** Returns an option with or without a value, as in `--name` and `--name=VALUE`. Its value is '' without one. */
export function optional(placeholder: string, help: string, form: Form<string>): Option<string | undefined> {
  const read = (text: string): string | undefined => text === '' ? text : form.read(text)
  return { ...value(placeholder, help, { ...form, read }), kind: 'optional' }
}

export function list(placeholder: string, help: string, form: Form<string> = TEXT): Option<readonly string[]> {
  return { kind: 'list', placeholder, help, form, valueOf: (given) => given as readonly string[] }
}

export function textLike(isValid: (text: string) => boolean, expected: string): Form<string> {
  return { read: (text) => isValid(text) ? text : undefined, expected }
}

export function numberFrom(min: number, max: number): Form<number> {
  const read = (text: string): number | undefined =>
    /^[1-9]\d*$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined
  return { read, expected: `a number from ${min} to ${max}` }
}

/** The form of a duration, which is read as milliseconds. */
export const durationForm: Form<number> = {
  read(text) {
    try {
      return toMs(text as Duration)
    } catch {
      return undefined
    }
  },
  expected: 'a duration such as 30s or 5m',
}

export function oneOf<W extends string>(...words: readonly [W, ...W[]]): Form<W> {
  const expected = words.length === 1 ? words[0] : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
  return { read: (text) => words.find((word) => word === text), expected, words }
}

export const runtime: Option<RuntimeName | undefined> = value(
  'NAME',
  'node, bun or deno; default: the one that this command was called with',
  oneOf<RuntimeName>('node', 'bun', 'deno'),
)

export function namespaceOption(help: string): Option<string | undefined> {
  return value('NAME', help, textLike(isNamespace, 'a name of at most 63 lower-case letters, digits and dashes'))
}

/**
 * Returns the arguments of a command, or 'help'. Options may be anywhere before `--`. All arguments after it are for
 * the runtime.
 *
 * @throws UsageError that names the command.
 */
export function parseArguments<O extends Options>(
  name: string,
  { file: example, options, passes = false, check }: Command<O>,
  args: readonly string[],
): Values<O> | 'help' {
  const cannot = (why: string): UsageError => new UsageError(`Cannot run kubeloop ${name}: ${why}`)
  const end = args.indexOf('--')
  const [own, passed] = end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)]
  if (passed.length > 0 && !passes) throw cannot('it takes no arguments after "--"')
  const known = new Map(Object.entries(options).map(([key, option]) => [dashed(key), option]))
  const { words, texts } = split(name, known, own)
  if (texts.has('help')) return 'help'
  const wrong = problemOfWords(name, example, words)
  if (wrong !== undefined) throw cannot(wrong)
  const values = Object.fromEntries(
    Object.entries(options).map(([key, { form: { read, expected }, valueOf }]) => {
      const given = (texts.get(dashed(key)) ?? []).map((text) => {
        const parsed = read(text)
        if (parsed === undefined) throw cannot(`--${dashed(key)} is "${text}", and must be ${expected}`)
        return parsed
      })
      return [key, valueOf(given)]
    }),
  )
  const all = { ...values, file: words[0] ?? '', passed } as Values<O>
  const problem = check?.(all)
  if (problem !== undefined) throw cannot(problem)
  return all
}

export function dashed(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** Separates the texts of options from the other words. */
function split(
  name: string,
  known: ReadonlyMap<string, Option<unknown>>,
  args: readonly string[],
): { readonly words: readonly string[]; readonly texts: ReadonlyMap<string, readonly string[]> } {
  const words: string[] = []
  const texts = new Map<string, string[]>()
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!
    if (!arg.startsWith('-') || arg === '-') {
      words.push(arg)
      continue
    }
    const wrong = (why: string): UsageError => new UsageError(`Cannot understand "${arg}": ${why}`)
    const [, option = '', inline] = /^(?:--)?([^=]*)(?:=(.*))?$/s.exec(arg === '-h' ? '--help' : arg) ?? []
    const kind = option === 'help' ? 'flag' : known.get(option)?.kind
    if (!kind) {
      const names = [...known.keys()]
      const all = names.map((each) => `--${each}`).join(', ')
      const knows = `kubeloop ${name} ${all === '' ? 'has no options' : `knows ${all}`}`
      throw wrong(didYouMean(option, names, '--') ?? knows)
    }
    if (kind === 'flag') {
      if (inline !== undefined) throw wrong(`--${option} takes no value`)
      texts.set(option, ['true'])
      continue
    }
    const isOptional = kind === 'optional'
    const text = inline ?? (isOptional ? '' : args[++at] ?? '')
    if (!isOptional && (text === '' || (inline === undefined && text.startsWith('--')))) {
      throw wrong(`--${option} needs a value`)
    }
    if (kind !== 'list' && texts.has(option)) throw wrong(`--${option} is given twice`)
    texts.set(option, [...(texts.get(option) ?? []), text])
  }
  return { words, texts }
}

function problemOfWords(name: string, example: string | undefined, [file, surplus]: readonly string[]) {
  if (example === undefined) return file === undefined ? undefined : `it takes no file, but "${file}" is given`
  const what = example === 'bash' ? 'shell' : 'file'
  if (file === undefined) return `it needs a ${what}, as in "kubeloop ${name} ${example}"`
  if (surplus !== undefined) {
    return `it takes one ${what}, but "${surplus}" is given as well; put arguments for the runtime after "--"`
  }
  if (example !== 'operator.ts' || /\.[cm]?[jt]sx?$/.test(file)) return undefined
  return `"${file}" is not a module; an operator's file ends in .ts, .mts, .js or .mjs`
}

/** The column of the text beside an option or a command, and the last column. */
const [COLUMN, WIDTH] = [24, 104]

/** Returns the text of `kubeloop NAME --help`. */
export function helpOf(name: string, { file, about, options, passes, remark }: Command): string {
  const entries = Object.entries(options).map(([key, { kind, placeholder, help }]) =>
    helpEntry(`--${dashed(key)}${kind === 'optional' ? `[=${placeholder}]` : ` ${placeholder}`}`, help)
  )
  if (passes) entries.push(helpEntry('-- ARGUMENTS', 'arguments for the runtime, as in "-- --allow-net=example.org"'))
  return [
    ['kubeloop', name, file && (file === 'bash' ? 'SHELL' : 'FILE'), entries.length > 0 && '[options]'].filter(Boolean)
      .join(' '),
    ...about.split('\n\n').map((paragraph) => wrapped(paragraph.trim(), 0)),
    ...(entries.length > 0 ? [entries.join('\n')] : []),
    ...(remark === undefined ? [] : [remark]),
  ].join('\n\n')
}

/** Returns a term with its text beside it. */
export function helpEntry(term: string, text: string): string {
  const left = `  ${term}`.trimEnd()
  const right = wrapped(text, COLUMN)
  return left.length >= COLUMN ? `${left}\n${' '.repeat(COLUMN)}${right}` : left.padEnd(COLUMN) + right
}

/** Breaks a text into lines, all but the first with this margin. */
function wrapped(text: string, margin: number): string {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && longer.length <= WIDTH - margin) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines.join(`\n${' '.repeat(margin)}`)
}
