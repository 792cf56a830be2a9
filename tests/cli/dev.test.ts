/** Tests `kubeloop dev`: the real command. */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ConfigMap } from 'kubeloop/kinds'
import { applied, type Command, inFolder, isError, type Line, makeFolder, reconciled, says } from './dev_command.ts'
import { WAYS } from './saving.ts'

const OPERATOR = `
import { defineResource, operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import * as z from 'zod'
import { greeting } from '../shared/greeting.ts'

const Guest = defineResource({ group: 'tests.kubeloop.dev', version: 'v1', kind: 'Guest', spec: z.object({ name: z.string() }) })
const app = operator({ name: 'greeter', leaderElection: true })
app.controllerFor(Guest).owns(ConfigMap).reconcile(async (guest, { client }) => {
  await client.apply(ConfigMap, { metadata: { name: guest.metadata.name }, data: { text: greeting(guest.spec.name) } }, { owner: guest })
})
console.log('the user says so')
await app.run(import.meta)
`
const GREETING = (text: string): string => `export const greeting = (name: string): string => '${text}, ' + name\n`
const GUEST = `
apiVersion: tests.kubeloop.dev/v1
kind: Guest
metadata: { name: ada }
spec: { name: Ada }
`
const map = (name: string, text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { text: ${text} }\n---\n`

const runsOf = (command: Command): number => command.output().match(/^the user says so$/gm)?.length ?? 0

// The tests from here to the next `inFolder` follow each other in one project, most of them in one process.
const project = makeFolder()
after(() => project.remove())
let dev: Command
before(() => {
  project.write('app/operator.ts', OPERATOR)
  project.write('shared/greeting.ts', GREETING('hello'))
  project.write('guest.yaml', GUEST)
  project.write('maps.yaml', map('a', 'one') + map('b', 'one'))
  dev = project.run('dev', 'app/operator.ts', '--apply', 'guest.yaml', '--apply', 'maps.yaml')
})

async function textOf(name: string): Promise<string | undefined> {
  return (await (await project.client()).get(ConfigMap, { namespace: 'default', name }))?.data?.['text']
}

test('an operator runs, its kinds are installed, and objects are applied', async () => {
  const definition = await dev.line('installed', says('definition'))
  assert.deepEqual([definition['result'], definition['name']], ['installed', 'guests.tests.kubeloop.dev'])
  const tried = await dev.line('a line to try', says('try'))
  assert.equal(tried['command'], 'kubectl --kubeconfig .kubeloop/kubeconfig get guests -w')
  await dev.line('applied', applied('Guest default/ada', 'created'))
  const report = await dev.line('the first reconcile', reconciled('added'))
  assert.deepEqual(report['writes'], [
    { verb: 'apply', group: '', kind: 'ConfigMap', key: 'default/ada', result: 'created' },
  ])
  assert.equal(runsOf(dev), 1)
  assert.equal(statSync(join(project.path, '.kubeloop/kubeconfig')).mode & 0o777, 0o600)
  assert.equal(statSync(join(project.path, '.kubeloop')).mode & 0o777, 0o700)
  await (await project.client()).delete(ConfigMap, { namespace: 'default', name: 'ada' })
  await dev.line('it comes back', reconciled('ConfigMap default/ada: deleted'))
  assert.equal(await textOf('ada'), 'hello, Ada')
})

test('a manifest is applied again whenever it is saved, and objects that it no longer has stay', async () => {
  const ofMap = (name: string, result: string) => applied(`ConfigMap default/${name}`, result)
  const problem = (text: string) => (line: Line): boolean => isError(line) && line.message.includes(text)
  await dev.line('b, created', ofMap('b', 'created'))
  for (const text of ['two', 'three']) {
    project.write('maps.yaml', map('a', text) + map('b', 'one'))
    await dev.line(`a, changed to ${text}`, ofMap('a', 'changed'))
    assert.equal(await textOf('a'), text)
  }
  assert.doesNotMatch(dev.output(), /"applied".*unchanged/, 'only changed objects are reported')
  project.write('maps.yaml', `${map('a', 'three')}# the same`)
  await dev.line('a, unchanged', ofMap('a', 'unchanged'))
  project.write('maps.yaml', 'kind: [')
  await dev.line('a mistake', problem('Cannot read maps.yaml: it is not valid YAML'))
  project.write('maps.yaml', map('a', '[four]') + map('c', 'five'))
  await dev.line('a refusal', problem('(maps.yaml; retried when it is saved or the operator restarts)'))
  await dev.line('c, created', ofMap('c', 'created'))
  project.write('maps.yaml', map('a', 'six'))
  await dev.line('a, changed', ofMap('a', 'changed'))
  assert.deepEqual([await textOf('a'), await textOf('b'), await textOf('c')], ['six', 'one', 'five'])
  assert.equal(runsOf(dev), 1, 'the operator runs on')
})

test('a save restarts the operator, in its file and in one that it imports, also outside its folder', async () => {
  const isChanged = (line: Line): boolean =>
    line.message === 'reconcile' && JSON.stringify(line['writes']).includes('"changed"')
  // Other ways to save are in saved_files.test.ts.
  WAYS['in place']!(join(project.path, 'shared/greeting.ts'), GREETING('welcome'))
  assert.equal((await dev.line('a restart', says('restarted')))['changed'], 'shared/greeting.ts')
  await dev.line('the new greeting', isChanged)
  assert.equal(await textOf('ada'), 'welcome, Ada')
  WAYS['put aside and written anew, as vim does']!(join(project.path, 'app/operator.ts'), `${OPERATOR}// saved`)
  assert.equal((await dev.line('another restart', says('restarted')))['changed'], 'app/operator.ts')
  assert.equal(runsOf(dev), 3)
})

// The demo runs beside it: docs_commands.test.ts.
test('only one kubeloop dev runs in a folder', async () => {
  const second = project.run('dev', 'app/operator.ts')
  assert.equal(await second.ended, 1)
  assert.equal(
    second.output(),
    `Cannot start: kubeloop already runs in this folder (process ${dev.pid}); stop it, or use another folder`,
  )
  const server = project.run('apiserver', '--state', '.kubeloop/state.json', '--write-kubeconfig', 'other')
  assert.equal(await server.ended, 1)
  assert.match(server.errors(), /^Cannot start: kubeloop already keeps its state in \.kubeloop\/state\.json \(process/)
})

test('the next run finds the state of the last one, and ends when its output is closed, even if only the operator writes', async () => {
  dev.kill('SIGINT')
  await dev.line('stopped', says('stopped'))
  assert.equal(await dev.ended, 0)
  assert.equal(statSync(join(project.path, '.kubeloop/state.json')).mode & 0o777, 0o600)
  project.write(
    'app/operator.ts',
    OPERATOR.replace(`owner: guest })`, `owner: guest })\n  return { requeueAfter: '50ms' }`),
  )
  const second = project.run('dev', 'app/operator.ts')
  await second.line('what was there', reconciled('added'))
  assert.equal(await textOf('ada'), 'welcome, Ada')
  second.closeOutput()
  assert.equal(await second.ended, 0)
})

test('a killed command leaves nothing, and one of npx ends when npx has ended', { timeout: 60_000 }, async () => {
  const killed = project.run('dev', 'app/operator.ts')
  await killed.line('it runs', reconciled('added'))
  killed.kill('SIGKILL')
  // The operator and its guard share the output, which ends when they have ended.
  await killed.ended
  const command = project.runByNpx('dev', 'app/operator.ts')
  await command.line('a line to try', says('try'))
  command.kill('SIGKILL')
  await command.line('stopped', says('stopped'))
  await command.ended
})

const RUNTIME = 'Deno' in globalThis ? 'deno' : 'Bun' in globalThis ? 'bun' : 'node'
const NEVER_STARTED = /^operator\.ts ended without starting an operator; is `await app\.run\(import\.meta\)` missing\?$/

/** Files that cannot run, and what is reported of each. */
const BROKEN: readonly (readonly [text: string, message: RegExp, place?: RegExp])[] = [
  [`\nthrow new Error('not today')\n`, /^Cannot run operator\.ts: not today$/, /^operator\.ts:2:\d+$/],
  ['export {}\n', NEVER_STARTED],
  ...(RUNTIME === 'node'
    ? [[
      `import { operator } from 'kubeloop'\nexport default operator({ name: 'forgotten' })\n`,
      NEVER_STARTED,
    ]] as const
    : []),
  [
    `import { operator } from 'kubeloop'\nimport { ConfigMap } from 'kubeloop/kinds'
const app = operator({ name: 'idle' })\napp.controllerFor(ConfigMap)\nawait app.run(import.meta)\n`,
    /the controller for ConfigMap has no reconcile.*operator\.ts:4:\d+/,
  ],
  [
    OPERATOR.replace('app.controllerFor', `app.add('ending', async () => process.exit(3))\napp.controllerFor`)
      .replace('import', `import process from 'node:process'\nimport`).replace('../shared', '.'),
    new RegExp(`^${RUNTIME} ended with code 3; operator\\.ts restarts when it or a file that it imports is saved$`),
  ],
]

/** Blocks the event loop for as long as its file is unchanged. */
const BUSY = `
import { readFileSync } from 'node:fs'
const read = readFileSync('operator.ts', 'utf8')
console.log('{ "level": "info", "message": "being run" }')
while (readFileSync('operator.ts', 'utf8') === read);
`

test('a file that cannot run is reported once with its place, and runs when it is fixed', () =>
  inFolder(async (folder) => {
    const operator = OPERATOR.replace('../shared', '.')
    folder.write('greeting.ts', GREETING('hello'))
    folder.write('operator.ts', BROKEN[0]![0])
    const command = folder.run('dev', 'operator.ts')
    for (const [at, [text, message, place]] of BROKEN.entries()) {
      if (at > 0) folder.write('operator.ts', text)
      const line = await command.line(String(message), isError)
      assert.match(line.message, message)
      if (place) assert.match(String(line['place']), place)
    }
    folder.write('operator.ts', operator)
    await command.line('it runs', says('restarted'))
    assert.equal(command.output().match(/"level":"error"/g)?.length, BROKEN.length)
    assert.doesNotMatch(command.output(), /^\s+at |described and never started/m)

    folder.write('operator.ts', `${operator}\nconst a: = 3\nconst b = ]\n`)
    await assertSyntaxError(command, operator.split('\n').length + 1)
    folder.write('greeting.ts', `export const greeting = (name: string): string => '\n`)
    folder.write('operator.ts', operator)
    await command.line('the other file', isError)
    assert.match(command.output(), /greeting\.ts:1/)
    folder.write('greeting.ts', GREETING('hello'))
    await command.line('it runs again', says('restarted'))

    // One that is saved again before it fails or ends is run again, once.
    for (const end of [`throw new Error('not today')`, '']) {
      const runs = runsOf(command)
      folder.write('operator.ts', BUSY + end)
      await command.line('its first line', says('being run'))
      folder.write('operator.ts', operator)
      await command.line('it runs after that', says('restarted'))
      assert.equal(runsOf(command), runs + 1)
    }

    // One that has run says that it has ended, also if its error came from nowhere.
    const ENDS = /^The operator has ended; operator\.ts restarts when it or a file that it imports is saved$/
    for (
      const [task, message] of [
        [
          `async ({ sleep }) => { void Promise.reject(new Error('floating')); await sleep('1h') }`,
          /^Cannot go on with operator\.ts: floating \(a promise was rejected and not awaited\)$/,
        ],
        [`async () => { throw new Error('no disk') }, { restart: false }`, /^Cannot run the task/],
      ] as const
    ) {
      folder.write(
        'operator.ts',
        operator.replace('app.controllerFor', `app.add('ending', ${task})\napp.controllerFor`),
      )
      await command.line('its error', (line) => isError(line) && message.test(line.message))
      await command.line('its end', (line) => isError(line) && ENDS.test(line.message))
    }
  }))

/** Two lines have an error, each compiler reports it in its own way. */
async function assertSyntaxError(command: Command, at: number): Promise<void> {
  const line = await command.line('a mistake', isError)
  if (RUNTIME === 'deno') {
    // Deno reads all modules before it runs the first one, and prints this itself.
    assert.match(command.output(), new RegExp(`SyntaxError: Unexpected token[^]*const a: = 3[^]*operator\\.ts:${at}:`))
  } else if (RUNTIME === 'bun') {
    const second = await command.line('another mistake', isError)
    assert.deepEqual([line, second].map(({ message, place }) => [message, place]), [
      ['Cannot run operator.ts: Unexpected =', `operator.ts:${at}:10`],
      ['Cannot run operator.ts: Unexpected ]', `operator.ts:${at + 1}:11`],
    ])
  } else {
    assert.match(line.message, /^Cannot run operator\.ts: Unexpected token/)
    assert.equal(line['place'], `operator.ts:${at}`)
  }
  assert.doesNotMatch(command.output(), /errors building/)
}
