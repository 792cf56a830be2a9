import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DevOptions, parseCommand, UsageError } from '../../lib/cli/arguments.ts'

const NOTHING: DevOptions = {
  file: 'a.ts',
  apply: [],
  runtime: undefined,
  elect: false,
  port: undefined,
  fresh: false,
  json: false,
  passed: [],
}

test('dev takes a file, and options on either side of it', () => {
  assert.deepEqual(parseCommand(['dev', 'a.ts']), { kind: 'dev', options: NOTHING })
  assert.deepEqual(
    parseCommand([
      'dev',
      '--elect',
      '--apply',
      'x.yaml',
      'a.ts',
      '--apply=y.json',
      '--port=8443',
      '--runtime',
      'deno',
      '--fresh',
      '--json',
    ]),
    {
      kind: 'dev',
      options: {
        ...NOTHING,
        elect: true,
        apply: ['x.yaml', 'y.json'],
        port: 8443,
        runtime: 'deno',
        fresh: true,
        json: true,
      },
    },
  )
})

test('arguments after -- are for the runtime, also options', () => {
  const command = parseCommand(['dev', 'a.ts', '--', '--allow-net=example.org', '--help', '--'])
  assert.deepEqual(command, {
    kind: 'dev',
    options: { ...NOTHING, passed: ['--allow-net=example.org', '--help', '--'] },
  })
})

test('a manifest may be standard input', () => {
  assert.deepEqual(parseCommand(['dev', 'a.ts', '--apply', '-']), {
    kind: 'dev',
    options: { ...NOTHING, apply: ['-'] },
  })
})

test('help and version are commands and options', () => {
  for (const args of [[], ['--help'], ['-h'], ['help']]) {
    assert.deepEqual(parseCommand(args), { kind: 'help', of: undefined })
  }
  for (const args of [['dev', '--help'], ['dev', 'a.ts', '-h'], ['help', 'dev'], ['dev', '--help', '--port', '1']]) {
    assert.deepEqual(parseCommand(args), { kind: 'help', of: 'dev' })
  }
  for (const args of [['--version'], ['-v']]) assert.deepEqual(parseCommand(args), { kind: 'version' })
})

test('demo takes no file, new only a file', () => {
  const { file: _, ...options } = NOTHING
  assert.deepEqual(parseCommand(['demo', '--elect']), { kind: 'demo', options: { ...options, elect: true } })
  assert.deepEqual(parseCommand(['new', 'b.ts']), { kind: 'new', file: 'b.ts' })
})

for (
  const [what, args, message] of [
    ['an unknown command', ['deploy'], /"deploy": the commands are dev, demo, new/],
    ['a name of Object', ['constructor'], /"constructor": the commands are/],
    ['an unknown option', ['dev', 'a.ts', '--prot', '1'], /"--prot": kubeloop dev knows --apply/],
    ['an option called like a member of Object', ['dev', 'a.ts', '--toString'], /"--toString"/],
    ['no file', ['dev'], /it needs a file, as in "kubeloop dev operator\.ts"/],
    ['two files', ['dev', 'a.ts', 'b.ts'], /takes one file, but "b\.ts" is given as well/],
    [
      'a file that is not a module',
      ['dev', 'package.json'],
      /^Cannot run kubeloop dev: "package\.json" is not a module; an operator's file ends in \.ts, /,
    ],
    ['a folder', ['crd', '.'], /^Cannot run kubeloop crd: "\." is not a module/],
    ['a file for demo', ['demo', 'a.ts'], /takes no file, but "a\.ts" is given/],
    ['no value', ['dev', 'a.ts', '--apply'], /--apply needs a value/],
    ['an option for a value', ['dev', 'a.ts', '--apply', '--elect'], /--apply needs a value/],
    ['an empty value', ['dev', 'a.ts', '--apply='], /--apply needs a value/],
    ['a value for a flag', ['dev', 'a.ts', '--elect=no'], /--elect takes no value/],
    ['a port that is none', ['dev', 'a.ts', '--port', '70000'], /--port is "70000"/],
    ['a port in hexadecimal', ['dev', 'a.ts', '--port', '0x50'], /--port is "0x50"/],
    ['two ports', ['dev', 'a.ts', '--port', '1', '--port', '2'], /--port is given twice/],
    ['another runtime', ['dev', 'a.ts', '--runtime', 'python'], /must be node, bun or deno/],
    ['something passed on by new', ['new', 'a.ts', '--', '-A'], /takes no arguments after "--"/],
  ] as const
) {
  test(`refused: ${what}`, () => {
    assert.throws(() => parseCommand(args), (error) => error instanceof UsageError && message.test(error.message))
  })
}
