import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadAll } from 'js-yaml'
import { Cluster } from 'kubeloop'
import { ApiServer } from 'kubeloop/apiserver'
import { loadArguments } from '../../lib/cli/runtimes.ts'
import { CRD, type CustomResourceDefinition } from '../../lib/core/resource.ts'
import { inFolder } from './dev_command.ts'

const KINDS = `
import { defineResource, operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import * as z from 'zod'

console.log('the file says so')
const spec = z.object({ mode: z.enum(['on', 'off']).default('on'), list: z.array(z.string()).default([]), text: z.string().describe('a: "b" # c').optional() })
export const Foo = defineResource({ group: 'crd.example.com', version: 'v1', kind: 'Foo', spec })
export const FooV2 = defineResource({ group: 'crd.example.com', version: 'v2', kind: 'Foo', spec })
`
const OPERATOR = `import { watch } from 'node:fs'
${KINDS}
const Bar = defineResource({ group: 'crd.example.com', version: 'v1', kind: 'Bar', spec: z.object({ y: z.int32() }) })
const Seen = defineResource({ group: 'crd.example.com', version: 'v1', kind: 'Seen', cluster: true, spec: z.object({}) })
const app = operator({ name: 'crds' })
const west = app.cluster('west', () => { throw new Error('it was connected') })
app.controllerFor(Bar).owns(ConfigMap).watches(Seen, () => [], { cluster: west }).reconcile(async () => { throw new Error('it ran') })
watch('.')
await app.run(import.meta)
`

test("the definitions of an operator's kinds are printed, and a server accepts them", async () => {
  await inFolder(async (folder) => {
    folder.write('operator.ts', OPERATOR)
    const command = await folder.call('crd', 'operator.ts')
    assert.equal(command.code, 0, command.err)
    assert.equal(command.err, 'the file says so')
    const definitions = loadAll(command.out) as CustomResourceDefinition[]
    assert.deepEqual(
      definitions.map(({ metadata, spec }) => [metadata.name, spec.scope, spec.versions.map(({ name }) => name)]),
      [
        ['foos.crd.example.com', 'Namespaced', ['v2', 'v1']],
        ['bars.crd.example.com', 'Namespaced', ['v1']],
        ['seens.crd.example.com', 'Cluster', ['v1']],
      ],
    )
    const server = new ApiServer()
    const { api } = new Cluster({ name: 'test', transport: server.handle })
    for (const each of definitions) await api.create({ resource: CRD }, each as never, { fieldValidation: 'Strict' })
  })
})

test('the definitions of a file without an operator are printed; its imports are resolved by the configuration of its project, also if the command runs in another folder', async () => {
  await inFolder(async (folder) => {
    folder.write('parts/kinds.ts', KINDS)
    // Deno also reads package.json, wherever it was started; other names are only in deno.json.
    const name = 'Deno' in globalThis ? 'kinds-of-this-project' : '#kinds'
    const imports = { [name]: './parts/kinds.ts' }
    if ('Deno' in globalThis) folder.write('deno.json', JSON.stringify({ imports }))
    else {folder.write(
        'package.json',
        JSON.stringify({ type: 'module', imports, dependencies: { kubeloop: '*', zod: '*' } }),
      )}
    folder.write('all.ts', `export * from '${name}'`)
    const command = await folder.call('crd', 'all.ts')
    assert.equal(command.code, 0, command.err)
    assert.deepEqual((loadAll(command.out) as CustomResourceDefinition[]).map(({ metadata }) => metadata.name), [
      'foos.crd.example.com',
    ])
  })
})

test("the Service of webhooks is in the operator's namespace, with a hint if that is not stated", () =>
  inFolder(async (folder) => {
    const app = `const app = operator({ name: 'hooks' })\napp.admission(Foo, { validate: () => [] })\n`
    folder.write('op.ts', KINDS + app)
    const stated = await folder.call('crd', 'op.ts', '--namespace', 'there')
    assert.match(stated.out, /^ {6}name: hooks\n {6}namespace: there$/m)
    assert.equal(stated.err, 'the file says so')
    const { out, err } = await folder.call('crd', 'op.ts')
    assert.match(out, /^ {6}namespace: hooks-system$/m)
    assert.match(err, /^The API server calls the Service "hooks-system\/hooks": give --namespace if it is in another/m)
  }))

const WRONG: readonly (readonly [string, string | undefined, RegExp])[] = [
  ['nowhere.ts', undefined, /^Cannot load nowhere\.ts: there is no such file$/],
  [
    'throws.ts',
    `\nthrow new Error('not today')\n`,
    /^Cannot load throws\.ts: not today\n {10}throws\.ts:2:\d+ {2}throw new Error\('not today'\)$/,
  ],
  [
    'none.ts',
    'export const x = { definition: {} }\nexport const y = null\n',
    /^Cannot print the CustomResourceDefinitions of none\.ts: it exports no kind of defineResource, and has no operator for one$/,
  ],
  [
    'versions.ts',
    `${KINDS}export const FooV3 = defineResource({ group: 'crd.example.com', version: 'v3', kind: 'Foo', spec: z.object({}) })`,
    /^the file says so\nCannot serve versions v3 and v2 of "foos\.crd\.example\.com": their schemas differ .*; declare one with app\.convert\(\)/,
  ],
  [
    'ends.ts',
    `import process from 'node:process'\nprocess.exit(0)\n`,
    /^Cannot load ends\.ts: (node|bun|deno) ended with code 0 before it was loaded$/,
  ],
  [
    'wrong.ts',
    'export const x = ]\n',
    /^Cannot load wrong\.ts: .*(Unexpected|Expression expected).*\n {10}wrong\.ts:1/,
  ],
]

for (const [file, text, message] of WRONG) {
  test(`no definitions are printed of ${file}, and the error has the reason`, async () => {
    await inFolder(async (folder) => {
      if (text !== undefined) folder.write(file, text)
      const command = await folder.call('crd', file)
      assert.equal(command.code, 1)
      assert.equal(command.out, '')
      assert.match(command.err, message)
    })
  })
}

test('plan names a missing file before it looks for a cluster', () =>
  inFolder(async (folder) => {
    const { code, err } = await folder.call('plan', 'nowhere.ts')
    assert.deepEqual([code, err], [1, 'Cannot load nowhere.ts: there is no such file'])
  }))

test("on Deno the loaded file may only read, and has the user's arguments", () => {
  assert.deepEqual(loadArguments({ name: 'node', version: '26.0.0' }, ['--x']), ['--x'])
  assert.deepEqual(loadArguments({ name: 'node', version: '22.19.0' }, []), ['--disable-warning=ExperimentalWarning'])
  assert.deepEqual(loadArguments({ name: 'bun', version: '1.4.5' }, ['--x']), ['--x'])
  assert.deepEqual(loadArguments({ name: 'deno', version: '2.9.6' }, ['--allow-net=a.b']), [
    'run',
    '--quiet',
    '--no-prompt',
    '--allow-read',
    '--allow-env',
    '--allow-sys',
    '--allow-net=a.b',
  ])
})
