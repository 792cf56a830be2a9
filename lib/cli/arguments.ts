/** Separates the options of a command line from its other words. */

/** Thrown for an invalid command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** How an option is given: alone, with one value, or with a value each time it is given. */
export type OptionKind = 'flag' | 'value' | 'list'

/** What a command accepts. */
export interface Shape {
  /** How many files the command takes. */
  readonly files: 0 | 1
  readonly options: Readonly<Record<string, OptionKind>>
  /** Whether the command takes arguments for the runtime. */
  readonly passes: boolean
}

/** The arguments of a command, apart. */
export interface Split {
  /** Those that are neither options nor their values. */
  readonly words: readonly string[]
  /** The values of each option; of a flag, `true`. */
  readonly values: ReadonlyMap<string, readonly string[]>
  /** The arguments for the runtime, after `--`. */
  readonly passed: readonly string[]
}

/**
 * Separates options and other words. Options may be anywhere before `--`; all arguments after it are for the runtime.
 *
 * @throws UsageError that names the command.
 */
export function splitArguments(name: string, { options, passes }: Shape, args: readonly string[]): Split {
  const words: string[] = []
  const values = new Map<string, string[]>()
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!
    if (arg === '--') {
      const passed = args.slice(at + 1)
      if (passed.length > 0 && !passes) {
        throw new UsageError(`Cannot run kubeloop ${name}: it takes no arguments after "--"`)
      }
      return { words, values, passed }
    }
    if (!arg.startsWith('-') || arg === '-') {
      words.push(arg)
      continue
    }
    const [option, inline] = arg === '-h' ? ['help', undefined] : optionOf(arg)
    const kind: OptionKind | undefined = option === 'help'
      ? 'flag'
      : Object.hasOwn(options, option)
      ? options[option]
      : undefined
    if (!kind) {
      const known = Object.keys(options).map((each) => `--${each}`)
      const knows = known.length > 0 ? `knows ${known.join(', ')}` : 'has no options'
      throw new UsageError(`Cannot understand "${arg}": kubeloop ${name} ${knows}`)
    }
    if (kind === 'flag') {
      if (inline !== undefined) throw new UsageError(`Cannot understand "${arg}": --${option} takes no value`)
      values.set(option, ['true'])
      continue
    }
    const value = inline ?? args[++at]
    const isMissing = value === undefined || value === '' || (inline === undefined && value.startsWith('--'))
    if (isMissing) throw new UsageError(`Cannot understand "${arg}": --${option} needs a value`)
    if (kind === 'value' && values.has(option)) {
      throw new UsageError(`Cannot understand "${arg}": --${option} is given twice`)
    }
    values.set(option, [...(values.get(option) ?? []), value])
  }
  return { words, values, passed: [] }
}

function optionOf(arg: string): readonly [string, string | undefined] {
  const at = arg.indexOf('=')
  return at < 0 ? [arg.replace(/^--/, ''), undefined] : [arg.slice(0, at).replace(/^--/, ''), arg.slice(at + 1)]
}
