import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ClusterFlags, clusterFlags, describeFlags } from '../../lib/operator/run/flags.ts'

const CASES: readonly [args: string, flags: ClusterFlags][] = [
  ['', {}],
  ['--kubeconfig /a --context dev', { kubeconfig: '/a', context: 'dev' }],
  ['--kubeconfig=/a=b --context=dev', { kubeconfig: '/a=b', context: 'dev' }],
  ['-kubeconfig /a', { kubeconfig: '/a' }],
  ['--context one --context two', { context: 'two' }],
  ['--replicas 3 serve --verbose --context dev -x', { context: 'dev' }],
  ['--config /a --my-context dev --connect x context kubeconfg=/a', {}],
  ['-- --kubeconfg /a', {}],
  ['--kubeconfig /a -- --context dev', { kubeconfig: '/a' }],
  ['--context=-dev', { context: '-dev' }],
]

for (const [args, flags] of CASES) {
  test(`the flags of "${args}"`, () => assert.deepEqual(clusterFlags(args.split(' ')), flags))
}

test('a flag without a value, or with an empty one, is refused by its name', () => {
  const empty = [['--kubeconfig='], ['--kubeconfig=', '/a'], ['--kubeconfig', ''], [
    '--kubeconfig',
    '/a',
    '--kubeconfig=',
  ]]
  for (const args of [['--kubeconfig'], ['--kubeconfig', '--context', 'x'], ['--kubeconfig', '--'], ...empty]) {
    assert.throws(
      () => clusterFlags(args),
      /^ConfigError: Cannot use --kubeconfig: its value is missing; write --kubeconfig FILE$/,
    )
  }
  assert.throws(() => clusterFlags(['--context']), /write --context NAME$/)
})

test('a misspelt flag is refused, with the flag that was meant', () => {
  for (
    const [arg, flag, meant] of [
      ['--kubeconfg', '--kubeconfg', 'kubeconfig'],
      ['--kube-config=/a', '--kube-config', 'kubeconfig'],
      ['--kubeConfig', '--kubeConfig', 'kubeconfig'],
      ['--contxt=dev', '--contxt', 'context'],
      ['--contetx', '--contetx', 'context'],
    ] as const
  ) {
    assert.throws(() => clusterFlags(['--context', 'a', arg, '/a']), {
      name: 'ConfigError',
      message:
        `Cannot understand ${flag}: did you mean --${meant}? A flag of your own with such a name must follow a lone --`,
    })
  }
})

test('describeFlags returns the names of the given flags', () => {
  assert.equal(describeFlags({}), '')
  assert.equal(describeFlags({ kubeconfig: '/a', context: 'dev' }), '--kubeconfig and --context')
})
