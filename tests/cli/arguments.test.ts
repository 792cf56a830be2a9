import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '../../lib/cli/arguments.ts'
import { type DevOptions, parseCommand } from '../../lib/cli/commands.ts'

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

test('apiserver takes no file, and options of its own', () => {
  const nothing = {
    apply: [],
    port: undefined,
    host: undefined,
    state: undefined,
    kubeconfig: undefined,
    garbageCollector: false,
    json: false,
  }
  assert.deepEqual(parseCommand(['apiserver']), { kind: 'apiserver', options: nothing })
  const args = ['--port=1', '--host', '::1', '--state', 's', '--kubeconfig', 'k', '--garbage-collector', '--json']
  assert.deepEqual(parseCommand(['apiserver', ...args, '--apply', 'a', '--apply', 'b']), {
    kind: 'apiserver',
    options: {
      apply: ['a', 'b'],
      port: 1,
      host: '::1',
      state: 's',
      kubeconfig: 'k',
      garbageCollector: true,
      json: true,
    },
  })
})

test('manifests takes a folder for a base or a chart', () => {
  const target = (...args: string[]) => {
    const command = parseCommand(['manifests', 'a.ts', ...args])
    return command.kind === 'manifests' ? command.target : undefined
  }
  assert.equal(target(), undefined)
  assert.deepEqual(target('--out', 'base', '--namespace', '1st'), { form: 'out', folder: 'base' })
  assert.deepEqual(target('--helm=chart/', '--replicas=2'), { form: 'helm', folder: 'chart' })
})

test('manifests takes the addresses of API servers', () => {
  const from = ['10.0.0.0/28', 'fd00::/64']
  const command = parseCommand(['manifests', 'a.ts', ...from.flatMap((range) => ['--webhooks-from', range])])
  assert.deepEqual(command.kind === 'manifests' && command.deploy.webhooksFrom, from)
})

for (
  const [args, message] of [
    [['--replicas', 'two'], /--replicas is "two", and must be a number from 1 to 999$/],
    [
      ['--image', 'a/B:1'],
      /--image is "a\/B:1", and must be REPOSITORY\[:TAG\]\[@DIGEST\] with a repository in lower case/,
    ],
    [['--namespace', 'a.b'], /--namespace is "a\.b", and must be a name of at most 63 lower-case letters/],
    [['--namespace', 'a'.repeat(64)], /and must be a name of at most 63/],
    [['--out', 'a', '--helm', 'b'], /--out and --helm are given; run it once for each$/],
    [['--helm', 'b', '--namespace', 'x'], /--namespace is given with --helm; helm sets the namespace: helm install/],
    [['--helm', 'b', '--create-namespace'], /--create-namespace is given with --helm; helm sets the namespace/],
    [['--imag', 'x'], /^Cannot understand "--imag": kubeloop manifests knows --image,/],
    ...['10.0.0.1', '10.0.0.0/33', 'api.example.com/8'].map((range) =>
      [
        ['--webhooks-from', range],
        /--webhooks-from is ".*", and must be a range of addresses, as in 10\.0\.0\.0\/28$/,
      ] as const
    ),
    [['--out'], /--out needs a value$/],
    [['--out', 'a', '--out', 'b'], /--out is given twice$/],
  ] as const
) {
  test(`refused: manifests ${args.join(' ').slice(0, 40)}`, () => {
    const isRight = (error: unknown): boolean => error instanceof UsageError && message.test(error.message)
    assert.throws(() => parseCommand(['manifests', 'a.ts', ...args]), isRight)
  })
}

test('the definitions can be compared with files or with a cluster', () => {
  const rest = { kind: 'crd', file: 'a.ts', runtime: undefined, passed: [], namespace: undefined }
  assert.deepEqual(parseCommand(['crd', 'a.ts', '--check', 'crds']), { ...rest, check: 'crds', live: undefined })
  assert.deepEqual(parseCommand(['crd', 'a.ts', '--against=live', '--kubeconfig', 'k', '--context', 'c']), {
    ...rest,
    check: undefined,
    live: { kubeconfig: 'k', context: 'c' },
  })
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
    ['what to compare with', ['crd', 'a.ts', '--against', 'dead'], /--against is "dead", and must be live/],
    [
      'files and a cluster',
      ['crd', 'a.ts', '--against', 'live', '--check', 'b'],
      /takes --check or --against, not both/,
    ],
    ['a kubeconfig without a cluster', ['crd', 'a.ts', '--kubeconfig', 'k'], /--kubeconfig is for --against live/],
    ['a context without a cluster', ['crd', 'a.ts', '--check', 'b', '--context', 'c'], /--context is for --against/],
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

test('the namespace of crd and rights is a name', () => {
  for (const name of ['crd', 'rights', 'manifests']) {
    assert.throws(() => parseCommand([name, 'a.ts', '--namespace', 'A/b']), {
      name: 'UsageError',
      message:
        `Cannot run kubeloop ${name}: --namespace is "A/b", and must be a name of at most 63 lower-case letters, ` +
        'digits and dashes',
    })
  }
  const found = ['crd', 'rights'].map((name) => parseCommand([name, 'a.ts', '--namespace', 'prod']))
  assert.deepEqual(found.map((each) => (each as { readonly namespace?: string }).namespace), ['prod', 'prod'])
})
