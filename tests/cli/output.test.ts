/** The exit code of commands whose output cannot be written, or is read in part. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { inFolder } from './dev_command.ts'

const OPERATOR = `import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
const app = operator({ name: 'a', crds: 'ignore' })
app.controllerFor(ConfigMap).reconcile(async () => {})
export default app
`

const FULL = '/dev/full'

test('a command whose output cannot be written fails, and says why; one that serves stops', {
  skip: existsSync(FULL) ? false : `this system has no ${FULL}`,
}, () =>
  inFolder(async (folder) => {
    folder.write('op.ts', OPERATOR)
    for (
      const args of [['version'], ['rights', 'op.ts'], ['completion', 'zsh'], ['apiserver', '--json'], ['dev', 'op.ts']]
    ) {
      const command = folder.runInto(FULL, ...args)
      assert.equal(await command.ended, 1, `${args}: ${command.output()}`)
      assert.match(command.errors(), /^Cannot write to standard output: .*[Nn]o space left on device/m)
    }
    // The first error is that of the command.
    const invalid = folder.runInto(FULL, 'rights', 'op.ts', '--prot')
    assert.equal(await invalid.ended, 2, invalid.output())
  }))

test('a command whose reader has gone has done its work', () =>
  inFolder(async (folder) => {
    const command = folder.run('--help')
    command.closeOutput()
    assert.equal(await command.ended, 0, command.output())
    assert.equal(command.errors(), '')
  }))
