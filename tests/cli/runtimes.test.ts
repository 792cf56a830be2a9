import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { chooseRuntime, type Environment, launchArguments, nodeTooOld, OLDEST_NODE } from '../../lib/cli/runtimes.ts'

const node = { name: 'node', version: '26.10.0', program: '/opt/node' } as const
const installed: Environment['find'] = (name, beside) => (beside ? `/beside/${name}` : `/path/${name}`)
const on = (change: Partial<Environment>): Environment => ({
  current: node,
  userAgent: undefined,
  execPath: undefined,
  find: installed,
  ...change,
})

test('the runtime that the command was called with runs the operator', () => {
  for (const userAgent of [undefined, 'npm/11.0.0 node/v26', 'pnpm/10', 'yarn/4']) {
    assert.deepEqual(chooseRuntime(undefined, on({ userAgent }), 'a.ts'), node)
  }
  const deno = { name: 'deno', version: '2.9.6', program: '/opt/deno' } as const
  assert.deepEqual(chooseRuntime(undefined, on({ current: deno, userAgent: 'bun/1.4.5' }), 'a.ts'), deno)
})

test('bunx means Bun, and the program beside bunx', () => {
  const bunx = on({ userAgent: 'bun/1.4.5 npm/? node/v26.3.0', execPath: '/opt/bun/bunx' })
  assert.deepEqual(chooseRuntime(undefined, bunx, 'a.ts'), { name: 'bun', program: '/beside/bun', version: undefined })
  assert.deepEqual(chooseRuntime('node', bunx, 'a.ts'), node)
  assert.equal(
    chooseRuntime(undefined, { ...bunx, find: (name, beside) => (beside ? undefined : `/path/${name}`) }, 'a.ts')
      .program,
    '/path/bun',
  )
})

test('a requested runtime that is not installed is an error', () => {
  assert.throws(
    () => chooseRuntime('deno', on({ find: () => undefined }), 'a.ts'),
    /^Error: Cannot run a\.ts with deno: there is no "deno" in PATH; install it \(npm install --save-dev deno\), or choose another with --runtime$/,
  )
})

test('a Node that is too old is refused by its version', () => {
  for (const version of ['22.19.0', '23.0.0', 'v26.10.0']) assert.equal(nodeTooOld(version, 'a.ts'), undefined)
  for (const version of ['20.20.2', '22.18.9', '8.0.0']) {
    assert.match(
      nodeTooOld(version, 'a.ts')!,
      new RegExp(
        `\\.ts files need Node ≥ 22\\.19; this is ${version}; install it \\(npm install --save-dev node\\), or choose another`,
      ),
    )
  }
})

test('the launcher has the same oldest version', () => {
  const bin = readFileSync(new URL('../../lib/cli/bin.js', import.meta.url), 'utf8')
  assert.ok(bin.includes(`const OLDEST_NODE = [${OLDEST_NODE.join(', ')}]`))
})

const launch = {
  file: '/w/a.ts',
  preload: '/k/preload.js',
  variables: ['KUBELOOP_DEV', 'KUBECONFIG'],
  server: '127.0.0.1:1234',
  webhooks: '127.0.0.1:5',
  monitoring: '127.0.0.1:6',
  passed: ['--x'],
}

test('each runtime loads the preloaded module before the file', () => {
  for (const [name, option] of [['node', '--import'], ['bun', '--preload']] as const) {
    const expected = [option, '/k/preload.js', '--x', '/w/a.ts']
    assert.deepEqual(launchArguments({ name, version: '26.0.0' }, launch), expected)
  }
})

const NEEDED = [
  '--allow-net=127.0.0.1:1234,127.0.0.1:5,127.0.0.1:6',
  '--allow-read=.',
  '--allow-env=KUBECONFIG,KUBELOOP_DEV,KUBELOOP_LOG',
  '--allow-sys=hostname',
]
const denoFlags = (passed: readonly string[]): string[] =>
  launchArguments({ name: 'deno', version: '2.9.6' }, { ...launch, passed }).filter((each) =>
    /^-A|^--(allow|x)/.test(each)
  )

test('Deno gets exactly the permissions that kubeloop needs, joined with those of the user', () => {
  assert.deepEqual(denoFlags([]), NEEDED)
  assert.deepEqual(denoFlags(['--allow-net=example.org', '--allow-run=git', '--x']), [
    '--allow-net=127.0.0.1:1234,127.0.0.1:5,127.0.0.1:6,example.org',
    ...NEEDED.slice(1),
    '--allow-run=git',
    '--x',
  ])
  assert.deepEqual(denoFlags(['--allow-read']), [NEEDED[0], '--allow-read', NEEDED[2], NEEDED[3]])
  for (const all of ['-A', '--allow-all']) assert.deepEqual(denoFlags([all]), [all])
})
