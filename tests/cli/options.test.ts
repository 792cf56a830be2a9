/** Tests the options of all commands: their values, the errors of invalid ones, and the help. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import process from 'node:process'
import { test } from 'node:test'
import fc from 'fast-check'
import { commandNamed, runCommand } from '../../lib/cli/commands.ts'
import { dashed, parseArguments, UsageError } from '../../lib/cli/options.ts'
import { tries } from '../tools/fuzz.ts'
import { mutatedText, ODD_TEXTS } from '../tools/hostile.ts'
import { golden } from './golden.ts'

const COMMANDS = [
  'dev',
  'demo',
  'new',
  'crd',
  'manifests',
  'rights',
  'build',
  'types',
  'apiserver',
  'completion',
  'version',
]

/** Returns the values that differ from those without options. */
async function parsed(line: string): Promise<unknown> {
  const [name = '', ...args] = line.split(' ')
  const command = await commandNamed(name)
  const values = parseArguments(name, command, args)
  if (values === 'help') return values
  const none = parseArguments(name, command, command.file ? [command.file] : [])
  const ofNone = new Map(Object.entries(none).map(([key, value]) => [key, JSON.stringify(value)]))
  return Object.fromEntries(Object.entries(values).filter(([key, value]) => ofNone.get(key) !== JSON.stringify(value)))
}

for (
  const [line, values] of [
    ['dev a.ts', { file: 'a.ts' }],
    ['dev operator.ts', {}],
    ['dev --elect --apply x.yaml operator.ts --apply=y.json --port=8443 --runtime deno --fresh --no-workloads --json', {
      elect: true,
      apply: ['x.yaml', 'y.json'],
      port: 8443,
      runtime: 'deno',
      fresh: true,
      noWorkloads: true,
      json: true,
    }],
    ['dev --as-service-account operator.ts', { asServiceAccount: '' }],
    ['dev operator.ts --as-service-account=team/op', { asServiceAccount: 'team/op' }],
    ['dev operator.ts --apply - --apply a=b --apply=--c', { apply: ['-', 'a=b', '--c'] }],
    ['dev operator.ts -- --allow-net=example.org --help --', { passed: ['--allow-net=example.org', '--help', '--'] }],
    ['dev operator.ts -h', 'help'],
    ['dev --help --port 1', 'help'],
    ['demo --elect', { elect: true }],
    ['new b.ts', { file: 'b.ts' }],
    ['new operator.ts --name a --group b.c --kind D', { name: 'a', group: 'b.c', kind: 'D' }],
    ['new operator.ts --webhook --kind D', { webhook: true, kind: 'D' }],
    ['new operator.ts --controller D --group b.c', { controller: 'D', group: 'b.c' }],
    ['manifests operator.ts --port 8082 --port=65535', { port: ['8082', '65535'] }],
    ['completion zsh', { file: 'zsh' }],
    ['types -', { file: '-' }],
    ['apiserver --port=1 --host ::1 --state s --write-kubeconfig k --garbage-collector --json --apply a --apply b', {
      port: 1,
      host: '::1',
      state: 's',
      writeKubeconfig: 'k',
      garbageCollector: true,
      json: true,
      apply: ['a', 'b'],
    }],
    ['manifests operator.ts --out base --namespace 1st --replicas=2 --create-namespace', {
      out: 'base',
      namespace: '1st',
      replicas: 2,
      createNamespace: true,
    }],
    ['manifests operator.ts --webhooks-from 10.0.0.0/28 --webhooks-from fd00::/64', {
      webhooksFrom: ['10.0.0.0/28', 'fd00::/64'],
    }],
    ['crd operator.ts --check crds --namespace prod', { check: 'crds', namespace: 'prod' }],
    ['crd operator.ts --against=live --kubeconfig k --context c', { against: 'live', kubeconfig: 'k', context: 'c' }],
    ['rights operator.ts --namespace prod --cluster west', { namespace: 'prod', cluster: 'west' }],
    ['build operator.ts --out a/b/', { out: 'a/b/' }],
  ] as const
) test(`options: ${line}`, async () => assert.deepEqual(await parsed(line), values))

const REFUSED = [
  'deploy',
  'constructor',
  'manifst',
  'verson',
  'dev a.ts --aply x',
  'manifests a.ts --createnamespace',
  'completion',
  'completion sh',
  'completion bash zsh',
  'new a.ts --name A',
  'new a.ts --group example',
  'new a.ts --kind foo',
  'new a.ts --controller Deployment',
  'new a.ts --webhook --controller Foo',
  'new a.ts --webhook --name a',
  'new a.ts --controller Foo --kind Bar',
  'manifests a.ts --port 65536',
  'dev a.ts --prot 1',
  'dev a.ts --toString',
  'dev a.ts -x',
  'new a.ts --x',
  'manifests a.ts --helm chart',
  'dev',
  'types',
  'dev a.ts b.ts',
  'dev package.json',
  'crd .',
  'demo a.ts',
  'dev a.ts --apply',
  'dev a.ts --as-service-account=team/op/x',
  'dev a.ts --as-service-account --as-service-account=team/op',
  'dev a.ts --apply --elect',
  'dev a.ts --apply=',
  'dev a.ts --elect=no',
  'dev a.ts --port 70000',
  'dev a.ts --port 0x50',
  'dev a.ts --port 0',
  'dev a.ts --port 1 --port 2',
  'dev a.ts --runtime python',
  'new a.ts -- -A',
  'crd a.ts --against dead',
  'crd a.ts --against live --check b',
  'crd a.ts --kubeconfig k',
  'crd a.ts --check b --context c',
  'crd a.ts --namespace A/b',
  'rights a.ts --namespace A/b',
  `manifests a.ts --namespace ${'a'.repeat(64)}`,
  'manifests a.ts --replicas two',
  'manifests a.ts --replicas 1000',
  'manifests a.ts --image a/B:1',
  'manifests a.ts --webhooks-from 10.0.0.1',
  'manifests a.ts --webhooks-from 10.0.0.0/33',
  'manifests a.ts --webhooks-from 10.1.2.3/8',
  'manifests a.ts --webhooks-from api.example.com/8',
]

test('the errors of invalid command lines are those of the golden file', async () => {
  const lines: string[] = []
  for (const line of REFUSED) {
    const error: unknown = await parsed(line).then(() => undefined, (reason: unknown) => reason)
    assert.ok(error instanceof UsageError, line)
    lines.push(`$ kubeloop ${line}\n${error.message}\n`)
  }
  golden('refused.txt', lines.join(''))
})

test('the script of each shell has every command and every option, with their words', async () => {
  const [bash, zsh, fish] = await Promise.all(['bash', 'zsh', 'fish'].map((shell) => printed('completion', shell)))
  for (const name of COMMANDS) {
    const { options } = await commandNamed(name)
    const [bashLine = ''] = new RegExp(`^ *"${name} "\\*\\) .*$`, 'm').exec(bash!) ?? []
    const [zshLine = ''] = new RegExp(`^ *${name}\\) .*$`, 'm').exec(zsh!) ?? []
    assert.match(fish!, new RegExp(`-n __fish_use_subcommand -f -a ${name} -d '.+'`))
    assert.match(zsh!, new RegExp(`commands=\\(.*'${name}:.+'`))
    for (const [key, { kind, form }] of [...Object.entries(options), ['help', { kind: 'flag', form: {} }] as const]) {
      const option = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
      assert.match(bashLine, new RegExp(` --${option}\\b|'--${option}\\b`), `${name} --${option}`)
      assert.match(zshLine, new RegExp(`'\\*--${option}=?-?\\[`))
      const words = 'words' in form ? form.words?.join(' ') : undefined
      const own = fish!.split('\n').filter((line) => line.includes(`from ${name}' -l ${option} `))
      assert.equal(own.length, 1, `${name} --${option}`)
      if (words) {
        assert.ok(bash!.includes(`"${name} --${option}") words='${words}' ;;`))
        assert.ok(zshLine.includes(`:(${words})'`) && own[0]!.includes(` -x -a '${words}' `))
      } else if (kind === 'value') assert.ok(bash!.includes(`"${name} --${option}") words='' ;;`))
    }
  }
  assert.match(bash!, /words='bash zsh fish --help'/)
  assert.match(zsh!, /'\*:file:\(bash zsh fish\)'/)
  assert.match(fish!, /from completion' -f -a 'bash zsh fish'/)
  for (const script of [bash!, zsh!, fish!]) assert.match(script, /\bhelp\b/)
})

test('bash completes commands, options, their words, and files', {
  skip: process.platform === 'win32' ? 'Windows has no bash of its own' : false,
}, async () => {
  const script = await printed('completion', 'bash')
  const cases: readonly (readonly [line: string, completed: string])[] = [
    ['ma', 'manifests'],
    ['ver', 'version'],
    ['help c', 'crd completion'],
    ['dev --r', '--runtime'],
    ['dev a.ts --runtime ', 'node bun deno'],
    ['dev a.ts --apply ', ''],
    ['completion z', 'zsh'],
  ]
  for (const [line, completed] of cases) {
    const words = ['kubeloop', ...line.split(' ')].map((word) => `'${word}'`).join(' ')
    const ask = `COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _kubeloop; echo "\${COMPREPLY[*]}"`
    assert.equal(execFileSync('bash', ['-c', `${script}\n${ask}`], { encoding: 'utf8' }).trim(), completed, line)
  }
})

async function printed(...args: string[]): Promise<string> {
  const lines: string[] = []
  await runCommand(args, { parent: 0, print: (line) => void lines.push(line), warn: assert.fail })
  return lines.join('\n')
}

test('the help is that of the golden file, however it is asked for', async () => {
  const version = await printed('--version')
  assert.equal(await printed('version'), version)
  const overview = await printed()
  for (const args of [['--help'], ['-h'], ['help'], ['help', '--help']]) assert.equal(await printed(...args), overview)
  assert.equal(await printed('-v'), version)
  assert.equal(await printed('help', 'dev'), await printed('dev', 'a.ts', '--help'))
  const texts = [overview.replace(version, 'VERSION')]
  for (const name of COMMANDS) texts.push(await printed(name, '--help'))
  golden('help.txt', `${texts.join('\n\n---\n\n')}\n`)
})

const VALUES = ['a.ts', 'prod', '8080', 'team/op', 'node', 'live', 'a.b', 'Foo', '10.0.0.0/28', 'zsh', ...ODD_TEXTS]
const word = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...VALUES) }, mutatedText('--apply=x', '--port', '-h'))
const argument = fc.tuple(fc.nat(), fc.constantFrom('word', 'bare', 'inline', 'spaced', 'twice', 'end'), word)

test('fuzz: each argument is in the values or in the error', async () => {
  const all = await Promise.all(COMMANDS.map(async (name) => ({ name, command: await commandNamed(name) })))
  let read = 0
  fc.assert(
    fc.property(fc.nat(all.length - 1), fc.array(argument, { maxLength: 5 }), fc.boolean(), (at, parts, hasFile) => {
      const { name, command } = all[at]!
      const options = new Map(Object.entries(command.options).map(([key, option]) => [`--${dashed(key)}`, option]))
      const names = [...options.keys(), '--help']
      const args = parts.flatMap(([at, how, text]) => {
        const option = names[at % names.length]!
        const valid = VALUES.filter((each) => each !== '' && options.get(option)?.form.read(each) !== undefined)
        const value = at % 4 === 0 || valid.length === 0 ? text : valid[at % valid.length]!
        const inline = `${option}=${value}`
        const all = { word: [text], bare: [option], inline: [inline], spaced: [option, value], end: ['--', text] }
        return how === 'twice' ? [inline, inline] : all[how]
      })
      if (hasFile && command.file) args.unshift(command.file)
      let values
      try {
        values = parseArguments(name, command, args)
      } catch (error) {
        assert.ok(error instanceof UsageError, String((error as Error).stack))
        const { message } = error
        const isQuoted = args.some((arg) =>
          [arg, arg.replace(/^--[^=]+=/, '')].some((each) => message.includes(`"${each}"`))
        )
        const isNamed = names.some((each) => message.includes(each)) && !/ must be /.test(message)
        return assert.ok(isQuoted || isNamed || /: it needs a (?:file|shell), as in|after "--"$/.test(message), message)
      }
      if (values === 'help') return assert.ok(args.includes('--help') || args.includes('-h'))
      read++
      const end = args.includes('--') ? args.indexOf('--') : args.length
      const { file, passed, ...kept } = values as { file: string; passed: readonly string[]; [name: string]: unknown }
      assert.deepEqual(passed, command.passes ? args.slice(end + 1) : [])
      const words = Object.entries(kept).flatMap(([key, value]) =>
        [value].flat().filter((each) => each !== undefined && each !== false)
          .flatMap((each) => [`--${dashed(key)}`, each === true ? '' : String(each)])
      )
      // A flag may be repeated.
      const given = args.slice(0, end).filter((arg, at) =>
        options.get(arg)?.kind !== 'flag' || args.indexOf(arg) === at
      )
        .flatMap((arg) => /^(--[^=]+)=(.*)$/s.exec(arg)?.slice(1) ?? [arg])
      assert.deepEqual([...words, file].filter(Boolean).sort(), given.filter(Boolean).sort())
    }),
    { numRuns: tries(2000, 'everywhere') },
  )
  assert.ok(read > 20, `${read} were read`)
})

test('fuzz: help and version use each argument, or refuse it', async () => {
  const help = ['help', '--help', '-h']
  const rest = fc.array(fc.oneof(word, fc.constantFrom(...COMMANDS, ...help)), { maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...help, '--version', '-v', 'version'), rest, async (first, rest) => {
      const asked = rest.filter((arg) => !help.includes(arg))
      try {
        const text = await printed(first, ...rest)
        const name = help.includes(first) ? asked[0] : rest.some((arg) => help.includes(arg)) ? 'version' : undefined
        if (name !== undefined) assert.ok(text.startsWith(`kubeloop ${name}`), text)
        else assert.match(text, help.includes(first) ? /^kubeloop \d/ : /^\d+\.\d+\.\d+\S*$/)
        if (name !== 'version') {
          assert.ok(asked.length <= (help.includes(first) ? 1 : 0) || asked.join() === '--', asked.join())
        }
      } catch (error) {
        assert.ok(error instanceof UsageError, String((error as Error).stack))
        assert.ok(rest.some((arg) => error.message.includes(`"${arg}"`)), error.message)
      }
    }),
    { numRuns: tries(200) },
  )
})
