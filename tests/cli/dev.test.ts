import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Client, Cluster, loadConfig } from 'kubeloop'
import { ConfigMap, Deployment } from 'kubeloop/kinds'
import { inFolder, type Line } from './dev_command.ts'
import { WAYS } from './saving.ts'

const OPERATOR = `
import { defineResource, operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import * as z from 'zod'
import { greeting } from './greeting.ts'

const Guest = defineResource({ group: 'tests.kubeloop.dev', version: 'v1', kind: 'Guest', spec: z.object({ name: z.string() }) })
const app = operator({ name: 'greeter', leaderElection: true })
app.controllerFor(Guest).owns(ConfigMap).reconcile(async (guest, { client }) => {
  await client.apply(ConfigMap, { metadata: { name: guest.metadata.name }, data: { text: greeting(guest.spec.name) } }, { owner: guest })
})
console.log('the user says so')
await app.run(import.meta)
`
const GREETING = (text: string): string => `export const greeting = (name: string): string => '${text}, ' + name\n`
const MANIFEST = `
apiVersion: tests.kubeloop.dev/v1
kind: Guest
metadata: { name: ada }
spec: { name: Ada }
`

const reconciled = (causes: string) => (line: Line): boolean =>
  line.message === 'reconcile' && String(line['causes']).includes(causes)
const says = (text: string) => (line: Line): boolean => line.message.includes(text)

async function clientOf(folder: string, kubeconfig = '.kubeloop/kubeconfig'): Promise<Client> {
  const { cluster } = await loadConfig({ kubeconfig: join(folder, kubeconfig) })
  return new Cluster({ name: 'test', config: cluster }).client
}

test('an operator runs, is restarted for an imported file, and finds the state after a stop', () =>
  inFolder(async (folder) => {
    folder.write('operator.ts', OPERATOR)
    folder.write('greeting.ts', GREETING('hello'))
    folder.write('guest.yaml', MANIFEST)
    const first = folder.run('dev', 'operator.ts', '--apply', 'guest.yaml')
    await first.line(
      'installed',
      (line) =>
        line.message === 'definition' && line['result'] === 'installed' && line['name'] === 'guests.tests.kubeloop.dev',
    )
    await first.line(
      'applied',
      (line) => line.message === 'applied' && line['object'] === 'Guest default/ada' && line['result'] === 'created',
    )
    const tried = await first.line('a line to try', (line) => line.message === 'try')
    assert.equal(tried['command'], 'kubectl --kubeconfig .kubeloop/kubeconfig get guests -w')
    const report = await first.line('the first reconcile', reconciled('added'))
    assert.deepEqual(report['writes'], [{ verb: 'apply', kind: 'ConfigMap', key: 'default/ada', result: 'created' }])
    assert.match(first.output(), /^the user says so$/m)
    assert.equal(statSync(join(folder.path, '.kubeloop/kubeconfig')).mode & 0o777, 0o600)
    assert.equal(statSync(join(folder.path, '.kubeloop')).mode & 0o777, 0o700)

    const client = await clientOf(folder.path)
    await client.delete(ConfigMap, { namespace: 'default', name: 'ada' })
    await first.line('it comes back', reconciled('ConfigMap default/ada: deleted'))
    assert.equal((await client.get(ConfigMap, { namespace: 'default', name: 'ada' }))?.data?.['text'], 'hello, Ada')

    folder.write('greeting.ts', GREETING('welcome'))
    const restarted = await first.line('restarted', says('restarted'))
    assert.equal(restarted['changed'], 'greeting.ts')
    await first.line(
      'the new greeting',
      (line) => line.message === 'reconcile' && String(JSON.stringify(line['writes'])).includes('"changed"'),
    )
    assert.equal((await client.get(ConfigMap, { namespace: 'default', name: 'ada' }))?.data?.['text'], 'welcome, Ada')

    first.kill('SIGINT')
    await first.line('stopped', (line) => line.message === 'stopped')
    assert.equal(await first.ended, 0)
    assert.equal(statSync(join(folder.path, '.kubeloop/state.json')).mode & 0o777, 0o600)

    const second = folder.run('dev', 'operator.ts')
    await second.line('what was there', reconciled('added'))
    assert.equal(
      (await (await clientOf(folder.path)).get(ConfigMap, { namespace: 'default', name: 'ada' }))?.data?.['text'],
      'welcome, Ada',
    )
    await second.stop()
  }))

test('a manifest is applied again whenever it is saved, and objects that it no longer has stay', () =>
  inFolder(async (folder) => {
    const map = (name: string, text: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { text: ${text} }\n---\n`
    const applied = (object: string, result: string) => (line: Line): boolean =>
      line.message === 'applied' && line['object'] === `ConfigMap default/${object}` && line['result'] === result
    const problem = (text: string) => (line: Line): boolean => line.level === 'error' && line.message.includes(text)
    folder.write('operator.ts', OPERATOR)
    folder.write('greeting.ts', GREETING('hello'))
    folder.write('maps.yaml', map('a', 'one') + map('b', 'one'))
    const dev = folder.run('dev', 'operator.ts', '--apply', 'maps.yaml')
    await dev.line('b, created', applied('b', 'created'))
    const client = await clientOf(folder.path)
    const textOf = async (name: string): Promise<unknown> =>
      (await client.get(ConfigMap, { namespace: 'default', name }))?.data?.['text']
    for (const text of ['two', 'three']) {
      folder.write('maps.yaml', map('a', text) + map('b', 'one'))
      await dev.line(`a, changed to ${text}`, applied('a', 'changed'))
      assert.equal(await textOf('a'), text)
    }
    assert.doesNotMatch(dev.output(), /unchanged/, 'only changed objects are reported')
    folder.write('maps.yaml', `${map('a', 'three')}# the same`)
    await dev.line('a, unchanged', applied('a', 'unchanged'))
    folder.write('maps.yaml', 'kind: [')
    await dev.line('a mistake', problem('Cannot read maps.yaml: it is not valid YAML'))
    folder.write('maps.yaml', map('a', '[four]') + map('c', 'five'))
    await dev.line('a refusal', problem('(maps.yaml; retried when it is saved or the operator restarts)'))
    await dev.line('c, created', applied('c', 'created'))
    folder.write('maps.yaml', map('a', 'six'))
    await dev.line('a, changed', applied('a', 'changed'))
    assert.deepEqual([await textOf('a'), await textOf('b'), await textOf('c')], ['six', 'one', 'five'])
    assert.doesNotMatch(dev.output(), /restarted/, 'the operator runs on')
    await dev.stop()
  }))

const RUNTIME = 'Deno' in globalThis ? 'deno' : 'Bun' in globalThis ? 'bun' : 'node'
const NEVER_STARTED = /^operator\.ts ended without starting an operator; is `await app\.run\(import\.meta\)` missing\?$/

/** Files that cannot run, and what is reported of each. */
const BROKEN: readonly (readonly [text: string, message: RegExp, place?: RegExp])[] = [
  [`\nthrow new Error('not today')\n`, /^Cannot run operator\.ts: not today$/, /^operator\.ts:2:\d+$/],
  ['export {}\n', NEVER_STARTED],
  [`import { operator } from 'kubeloop'\nexport default operator({ name: 'forgotten' })\n`, NEVER_STARTED],
  [
    `import { operator } from 'kubeloop'\nimport { ConfigMap } from 'kubeloop/kinds'
const app = operator({ name: 'idle' })\napp.controllerFor(ConfigMap)\nawait app.run(import.meta)\n`,
    /the controller for ConfigMap has no reconcile.*operator\.ts:4:\d+/,
  ],
  [
    OPERATOR.replace('app.controllerFor', `app.add('ending', async () => process.exit(3))\napp.controllerFor`)
      .replace('import', `import process from 'node:process'\nimport`),
    new RegExp(`^${RUNTIME} ended with code 3; operator\\.ts restarts when it or a file that it imports is saved$`),
  ],
]

test('a file that cannot run is reported once with its place, and runs when it is fixed', () =>
  inFolder(async (folder) => {
    folder.write('greeting.ts', GREETING('hello'))
    folder.write('operator.ts', BROKEN[0]![0])
    const command = folder.run('dev', 'operator.ts')
    for (const [at, [text, message, place]] of BROKEN.entries()) {
      if (at > 0) folder.write('operator.ts', text)
      const line = await command.line(String(message), ({ level }) => level === 'error')
      assert.match(line.message, message)
      if (place) assert.match(String(line['place']), place)
    }
    folder.write('operator.ts', OPERATOR)
    await command.line('it runs', says('restarted'))
    const { length } = command.output().match(/"level":"error"/g) ?? []
    assert.equal(length, BROKEN.length)
    assert.doesNotMatch(command.output(), /^\s+at |described and never started/m)
  }))

test('a syntax error is reported with its place, in the file and in one that it imports', () =>
  inFolder(async (folder) => {
    folder.write('greeting.ts', GREETING('hello'))
    folder.write('operator.ts', `${OPERATOR}\nconst a: = 3\nconst b = ]\n`)
    const command = folder.run('dev', 'operator.ts')
    const ofCompiler = (): Promise<Line> => command.line('a mistake', (each) => each.level === 'error')
    const line = await ofCompiler()
    const at = OPERATOR.split('\n').length + 1
    if ('Deno' in globalThis) {
      // Deno reads all modules before it runs the first one, and prints this itself.
      assert.match(
        command.output(),
        new RegExp(`SyntaxError: Unexpected token[^]*const a: = 3[^]*operator\\.ts:${at}:`),
      )
    } else if ('Bun' in globalThis) {
      const second = await ofCompiler()
      assert.deepEqual([line.message, line['place']], ['Cannot run operator.ts: Unexpected =', `operator.ts:${at}:10`])
      assert.deepEqual([second.message, second['place']], [
        'Cannot run operator.ts: Unexpected ]',
        `operator.ts:${at + 1}:11`,
      ])
    } else {
      assert.match(line.message, /^Cannot run operator\.ts: Unexpected token/)
      assert.equal(line['place'], `operator.ts:${at}`)
    }
    assert.doesNotMatch(command.output(), /errors building/)
    folder.write('greeting.ts', `export const greeting = (name: string): string => '\n`)
    folder.write('operator.ts', OPERATOR)
    await command.line('the other file', (each) => each.level === 'error')
    assert.match(command.output(), /greeting\.ts:1/)
    folder.write('greeting.ts', GREETING('hello'))
    await command.line('it runs', says('definition'))
  }))

/** Blocks the event loop for as long as its file is unchanged. */
const BUSY = `
import { readFileSync } from 'node:fs'
const read = readFileSync('operator.ts', 'utf8')
console.log('{ "level": "info", "message": "being run" }')
while (readFileSync('operator.ts', 'utf8') === read);
`

for (const [how, end] of [['fails', `throw new Error('not today')`], ['ends', '']]) {
  test(`a file that is saved again before it ${how} is run again, once`, () =>
    inFolder(async (folder) => {
      folder.write('operator.ts', BUSY + end)
      folder.write('greeting.ts', GREETING('hello'))
      const command = folder.run('dev', 'operator.ts')
      await command.line('its first line', (each) => each.message === 'being run')
      folder.write('operator.ts', OPERATOR)
      await command.line('it runs', (each) => each.message === 'definition')
      assert.deepEqual(command.output().match(/^the user says so$/gm), ['the user says so'])
    }))
}

test('a save restarts the operator, in its file and in one that it imports, also outside its folder', () =>
  inFolder(async (folder) => {
    const operator = OPERATOR.replace('./greeting.ts', '../shared/greeting.ts')
    folder.write('app/operator.ts', operator)
    folder.write('shared/greeting.ts', GREETING('hello'))
    const command = folder.run('dev', 'app/operator.ts')
    await command.line('it runs', says('definition'))
    let runs = 1
    // The others are in saved_files.test.ts.
    for (const how of ['in place', 'put aside and written anew, as vim does']) {
      const save = WAYS[how]!
      runs++
      const inOperator = runs % 2 === 0
      save(
        join(folder.path, inOperator ? 'app/operator.ts' : 'shared/greeting.ts'),
        inOperator ? `${operator}// ${runs}` : GREETING(how),
      )
      const line = await command.line(how, says('restarted'))
      assert.equal(line['changed'], inOperator ? 'app/operator.ts' : 'shared/greeting.ts')
      assert.equal(command.output().match(/^the user says so$/gm)?.length, runs)
    }
  }))

test('only one kubeloop dev runs in a folder, and a killed one leaves nothing', () =>
  inFolder(async (folder) => {
    folder.write('operator.ts', OPERATOR)
    folder.write('greeting.ts', GREETING('hello'))
    const first = folder.run('dev', 'operator.ts')
    await first.line('it runs', (line) => line.message === 'definition')
    const second = folder.run('dev', 'operator.ts')
    assert.equal(await second.ended, 1)
    assert.equal(
      second.output(),
      `Cannot start: kubeloop already runs in this folder (process ${first.pid}); stop it, or use another folder`,
    )
    first.kill('SIGKILL')
    // The operator and its guard share the output, which ends when they have ended.
    await first.ended
    const third = folder.run('dev', 'operator.ts')
    await third.line('it runs again', (line) => line.message === 'started')
  }))

test('the command ends when the npx that started it has ended', { timeout: 60_000 }, () =>
  inFolder(async (folder) => {
    folder.write('operator.ts', OPERATOR)
    folder.write('greeting.ts', GREETING('hello'))
    const command = folder.runByNpx('dev', 'operator.ts')
    await command.line('a line to try', (line) => line.message === 'try')
    command.kill('SIGKILL')
    await command.line('stopped', (line) => line.message === 'stopped')
    await command.ended
  }))

test('the command ends when its output is closed, also if only the operator writes', () =>
  inFolder(async (folder) => {
    folder.write('greeting.ts', GREETING('hello'))
    folder.write('guest.yaml', MANIFEST)
    folder.write(
      'operator.ts',
      OPERATOR.replace(`{ owner: guest })`, `{ owner: guest })\n  return { requeueAfter: '50ms' }`),
    )
    const command = folder.run('dev', 'operator.ts', '--apply', 'guest.yaml')
    await command.line('its first run', reconciled('added'))
    command.closeOutput()
    assert.equal(await command.ended, 0)
  }))

test('the demo needs no file, and does not share state with the project', () =>
  inFolder(async (folder) => {
    folder.write('operator.ts', OPERATOR)
    folder.write('greeting.ts', GREETING('hello'))
    folder.write('guest.yaml', MANIFEST)
    const project = folder.run('dev', 'operator.ts', '--apply', 'guest.yaml')
    await project.line('its object', (line) => line.message === 'applied')
    const command = folder.run('demo')
    const tried = await command.line('a line to try', (line) => line.message === 'try')
    assert.equal(tried['command'], 'kubectl --kubeconfig .kubeloop/demo/kubeconfig get foos -w')
    await command.line('the Foo', (line) => line.message === 'applied' && line['object'] === 'Foo default/example')
    await command.line('its reconcile', reconciled('added'))
    const client = await clientOf(folder.path, '.kubeloop/demo/kubeconfig')
    assert.equal((await client.get(Deployment, { namespace: 'default', name: 'example-foo' }))?.spec?.replicas, 1)
    assert.equal(
      await (await clientOf(folder.path)).get(Deployment, { namespace: 'default', name: 'example-foo' }),
      undefined,
    )
    for (const each of [command, project]) {
      await each.stop()
    }
    assert.doesNotMatch(folder.read('.kubeloop/state.json'), /example-foo/)
    assert.match(folder.read('.kubeloop/demo/state.json'), /example-foo/)
  }))
