/** `kubeloop completion SHELL`: made from the declarations of the commands. */
import { type Command, command, dashed, flag, oneOf, type Option } from '../options.ts'

type Declared = readonly { readonly name: string; readonly summary: string; readonly command: Command }[]

const SHELLS = oneOf('bash', 'zsh', 'fish')

/** `commands` loads all commands, as the script has the options of each. */
export function completionOf(commands: () => Promise<Declared>): Command {
  return command({
    file: 'bash',
    about: `Prints a script that completes commands and options, for bash, zsh or fish: "source <(kubeloop completion
      bash)" in ~/.bashrc, the same with zsh in ~/.zshrc, after compinit, or "kubeloop completion fish >
      ~/.config/fish/completions/kubeloop.fish".`,
    options: {},
    check: ({ file }) => SHELLS.read(file) ? undefined : `the shell is "${file}", and must be ${SHELLS.expected}`,
    async run({ file }, { print }) {
      print(SCRIPTS[SHELLS.read(file)!](await commands()))
    },
  })
}

/** Returns the options of a command by their names, with their help in one line. */
function optionsOf({ options }: Command): (readonly [name: string, Option<unknown>])[] {
  return [...Object.entries(options), ['help', flag('print the options')] as const]
    .map(([key, option]) => [dashed(key), { ...option, help: option.help.replace(/\s+/g, ' ') }])
}

/** Returns the words that the argument of a command may be; none for a file. */
function argumentOf(command: Command): string {
  return command.file === 'bash' ? SHELLS.words!.join(' ') : ''
}

function summariesOf(commands: Declared): (readonly [name: string, summary: string])[] {
  return [...commands.map(({ name, summary }) => [name, summary] as const), ['help', 'print the options of a command']]
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

const SCRIPTS: Readonly<Record<'bash' | 'zsh' | 'fish', (commands: Declared) => string>> = {
  bash(commands) {
    const line = (pattern: string, words: string): string => `    ${pattern}) words='${words}' ;;`
    // Without words, files are completed.
    const values = commands.flatMap(({ name, command }) =>
      optionsOf(command).filter(([, { kind }]) => kind === 'value' || kind === 'list')
        .map(([option, { form }]) => line(`"${name} --${option}"`, form.words?.join(' ') ?? ''))
    )
    const options = commands.map(({ name, command }) =>
      line(
        `"${name} "*`,
        [argumentOf(command), ...optionsOf(command).map(([option]) => `--${option}`)].join(' ').trim(),
      )
    )
    return `# bash completion of kubeloop
_kubeloop() {
  local words='${summariesOf(commands).map(([name]) => name).join(' ')}'
  [ "$COMP_CWORD" -eq 1 ] || case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD-1]}" in
${[...values, ...options].join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _kubeloop kubeloop`
  },
  zsh(commands) {
    const plain = (text: string): string => text.replace(/[[\]:\\]/g, String.raw`\$&`)
    const actionOf = (words: string): string => words === '' ? '_files' : `(${words})`
    const cases = commands.map(({ name, command }) => {
      const specs = optionsOf(command).map(([option, { kind, help, placeholder, form }]) => {
        const value = kind === 'flag' ? '' : `:${placeholder}:${actionOf(form.words?.join(' ') ?? '')}`
        const mark = kind === 'flag' ? '' : kind === 'optional' ? '=-' : '='
        return quoted(`*--${option}${mark}[${plain(help)}]${kind === 'optional' ? ':' : ''}${value}`)
      })
      return `    ${name}) _arguments ${[...specs, quoted(`*:file:${actionOf(argumentOf(command))}`)].join(' ')} ;;`
    })
    return `#compdef kubeloop
_kubeloop() {
  local -a commands=(${summariesOf(commands).map((each) => quoted(each.map(plain).join(':'))).join(' ')})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join('\n')}
    help) _describe command commands ;;
  esac
}
compdef _kubeloop kubeloop`
  },
  fish(commands) {
    const first = summariesOf(commands).map(([name, summary]) =>
      `complete -c kubeloop -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`
    )
    const lines = commands.flatMap(({ name, command }) =>
      [
        ...optionsOf(command).map(([option, { kind, help, form }]) => {
          const value = form.words ? ` -x -a '${form.words.join(' ')}'` : /value|list/.test(kind) ? ' -r' : ''
          return `-l ${option}${value} -d ${quoted(help)}`
        }),
        ...(argumentOf(command) === '' ? [] : [`-f -a '${argumentOf(command)}'`]),
      ].map((line) => `complete -c kubeloop -n '__fish_seen_subcommand_from ${name}' ${line}`)
    )
    return ['# fish completion of kubeloop', ...first, ...lines].join('\n')
  },
}
