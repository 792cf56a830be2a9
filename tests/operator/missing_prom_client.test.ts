/** An operator with metrics or tracing, but without the package for it. It runs on a copy of the library, in a process of this runtime. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { withFolder } from '../tools/folder.ts'

const SCRIPT = `
import { operator } from './mod.ts'
import { ConfigMap } from './lib/kinds/mod.ts'
import { ApiServer } from './lib/apiserver/mod.ts'
const lines = []
const say = (level) => (message) => void lines.push(level + ' ' + message)
for (const [needsMetrics, metrics] of [[false, 0], [undefined, 0], [false, undefined]]) {
  const stop = new AbortController()
  const log = { debug() {}, info() {}, warn: (message) => (say('warn')(message), stop.abort()), error: say('error') }
  const app = operator({ name: 'x', ...(metrics !== undefined && { metrics }), log })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  await app.start(stop.signal, { transport: new ApiServer().handle, instance: 'me', needsMetrics, onAssembled: () => metrics === undefined && stop.abort() })
    .catch((error) => lines.push('ended ' + error.message))
}
const traced = operator({ name: 'x', tracing: true, log: { debug() {}, info() {}, warn() {}, error() {} } })
traced.controllerFor(ConfigMap).reconcile(async () => {})
await traced.start(new AbortController().signal, { transport: new ApiServer().handle, instance: 'me' })
  .catch((error) => lines.push('ended ' + error.message))
console.log(JSON.stringify(lines))
process.exit(0)
`

test('without prom-client, a start in development warns, and any other fails; without @opentelemetry/api, one with tracing fails', async () => {
  await withFolder(async (folder) => {
    const root = fileURLToPath(new URL('../../', import.meta.url))
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(join(root, 'node_modules/zod'), join(folder, 'node_modules/zod'))
    for (const name of ['lib', 'mod.ts', 'package.json']) {
      cpSync(join(root, name), join(folder, name), { recursive: true })
    }
    writeFileSync(join(folder, 'script.ts'), SCRIPT)
    const name = basename(process.execPath)
    const args = name.startsWith('deno')
      ? ['run', '-A', '--no-check', '--quiet', '--node-modules-dir=manual']
      : name.startsWith('bun')
      ? ['run', '--no-install']
      : []
    const output = await new Promise<string>((resolve, reject) =>
      execFile(
        process.execPath,
        [...args, 'script.ts'],
        { cwd: folder },
        (error, stdout, stderr) => (error ? reject(new Error(stderr)) : resolve(stdout)),
      )
    )
    const [warning = '', ended = '', untraced = '', ...others] = JSON.parse(output) as string[]
    assert.match(
      warning,
      /^warn Cannot serve metrics: prom-client cannot be loaded; install it \(npm install, bun add, or deno add npm:prom-client\) \([^]*; elsewhere this is fatal$/,
    )
    assert.match(
      ended,
      /^ended Cannot serve metrics: prom-client cannot be loaded; install it \(npm install, bun add, or deno add npm:prom-client\) \(/,
    )
    assert.match(
      untraced,
      /^ended Cannot trace: @opentelemetry\/api cannot be loaded; install it \(npm install, bun add, or deno add npm:@opentelemetry\/api\), or remove the option tracing \(/,
    )
    assert.deepEqual(others, [])
  })
})
