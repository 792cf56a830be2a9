/** An operator that is described and never started. Each case is a process of the runtime that runs this test. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import process from 'node:process'
import { after, test } from 'node:test'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { COMPILED } from '../tools/compiled.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kubeloop-forgotten-')))
mkdirSync(join(folder, 'node_modules'))
symlinkSync(ROOT, join(folder, 'node_modules/kubeloop'))
writeFileSync(join(folder, 'package.json'), '{ "type": "module", "dependencies": { "kubeloop": "*" } }')
after(() => rmSync(folder, { recursive: true }))

const OPERATOR = `
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
export const app = operator({ name: 'forgotten' })
app.controllerFor(ConfigMap).reconcile(async () => {})
`
const WORD = 'Operator "forgotten" was described and never started; is `await app.run(import.meta)` missing?\n'

/** Runs a file to its end, on Deno with only the permission to read its modules. */
async function run(
  file: string,
  args: readonly string[] = [],
): Promise<{ code: number | null; printed: string; errors: string }> {
  const name = basename(process.execPath)
  const own = name.startsWith('deno')
    ? ['run', '--quiet', '--no-check', '--no-prompt', `--allow-import`]
    : name.startsWith('bun')
    ? ['run']
    : []
  const env = { ...COMPILED, PATH: process.env['PATH'] ?? '', HOME: folder, NO_COLOR: '1' }
  const child = spawn(process.execPath, [...own, ...args, file], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [printed, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number | null, printed, errors }
}

const cases: Readonly<Record<string, readonly [string, number, boolean]>> = {
  'is told of': [OPERATOR, 0, true],
  'of two the one that is told of is the one that was not used': [
    `${OPERATOR}\noperator({ name: 'other' }).description`,
    0,
    true,
  ],
  'is not told of where the process says that it failed': [
    `${OPERATOR}\nimport process from 'node:process'\nprocess.exitCode = 3`,
    3,
    false,
  ],
  'is not told of where the process was ended': [
    `${OPERATOR}\nimport process from 'node:process'\nprocess.exit(0)`,
    0,
    false,
  ],
  'is not told of where a tool has read it': [`${OPERATOR}\napp.description`, 0, false],
  'is not told of where it was embedded': [
    `${OPERATOR}\nawait app.start(AbortSignal.abort(), { cluster: { server: 'http://127.0.0.1:1' }, instance: 'a', crds: 'ignore' }).catch(() => {})`,
    0,
    false,
  ],
  'is not told of where run decided': [`${OPERATOR}\nawait app.run({ ...import.meta, main: false })`, 0, false],
}

for (const [what, [source, code, told]] of Object.entries(cases)) {
  test(`an operator that is never started ${what}`, async () => {
    writeFileSync(join(folder, 'operator.ts'), source)
    const result = await run('operator.ts')
    assert.deepEqual(result, { code, printed: '', errors: told ? WORD : '' })
  })
}

test('an unused operator is not reported if another file imports it, or the file is a test', async () => {
  writeFileSync(join(folder, 'operator.ts'), OPERATOR)
  writeFileSync(join(folder, 'main.ts'), `import { app } from './operator.ts'\nconsole.log(typeof app.run)`)
  assert.deepEqual(await run('main.ts'), { code: 0, printed: 'function\n', errors: '' })
  writeFileSync(join(folder, 'operator.test.ts'), OPERATOR)
  assert.deepEqual(await run('operator.test.ts'), { code: 0, printed: '', errors: '' })
})

test('only the error that ends the process is reported', async () => {
  writeFileSync(join(folder, 'operator.ts'), `${OPERATOR}\nthrow new Error('other trouble')`)
  const { code, errors } = await run('operator.ts')
  assert.equal(code, 1)
  assert.match(errors, /other trouble/)
  assert.doesNotMatch(errors, /never started/)
})
