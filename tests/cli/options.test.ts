/** Tests the options of all commands: their values, the errors of invalid ones, and the help. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandNamed, runCommand } from '../../lib/cli/commands.ts'
import { parseArguments, UsageError } from '../../lib/cli/options.ts'
import { golden } from './golden.ts'

const COMMANDS = ['dev', 'demo', 'new', 'crd', 'manifests', 'rights', 'build', 'types', 'apiserver']

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
    ['dev --elect --apply x.yaml operator.ts --apply=y.json --port=8443 --runtime deno --fresh --json', {
      elect: true,
      apply: ['x.yaml', 'y.json'],
      port: 8443,
      runtime: 'deno',
      fresh: true,
      json: true,
    }],
    ['dev --as-service-account operator.ts', { asServiceAccount: '' }],
    ['dev operator.ts --as-service-account=team/op', { asServiceAccount: 'team/op' }],
    ['dev operator.ts --apply - --apply a=b', { apply: ['-', 'a=b'] }],
    ['dev operator.ts -- --allow-net=example.org --help --', { passed: ['--allow-net=example.org', '--help', '--'] }],
    ['dev operator.ts -h', 'help'],
    ['dev --help --port 1', 'help'],
    ['demo --elect', { elect: true }],
    ['new b.ts', { file: 'b.ts' }],
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

async function printed(...args: string[]): Promise<string> {
  const lines: string[] = []
  await runCommand(args, { parent: 0, print: (line) => void lines.push(line), warn: assert.fail })
  return lines.join('\n')
}

test('the help is that of the golden file, however it is asked for', async () => {
  const version = await printed('--version')
  const overview = await printed()
  for (const args of [['--help'], ['-h'], ['help']]) assert.equal(await printed(...args), overview)
  assert.equal(await printed('-v'), version)
  assert.equal(await printed('help', 'dev'), await printed('dev', 'a.ts', '--help'))
  const texts = [overview.replace(version, 'VERSION')]
  for (const name of COMMANDS) texts.push(await printed(name, '--help'))
  golden('help.txt', `${texts.join('\n\n---\n\n')}\n`)
})
