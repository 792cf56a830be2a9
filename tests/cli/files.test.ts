import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { load } from 'js-yaml'
import { operator } from 'kubeloop'
import { FakeClock, world } from 'kubeloop/testing'
import { Foo } from '../../examples/1_sample_controller.ts'
import { admitFoo } from '../../examples/added/webhook.ts'
import { type DevEvent, jsonLine, prettyLines } from '../../lib/cli/api/events.ts'
import { contextOf } from '../../lib/cli/dev/embedded_api.ts'
import { kubeconfigText } from '../../lib/cli/api/serving.ts'
import { add, newOperator } from '../../lib/cli/commands/new.ts'
import {
  packageVersion,
  readExample,
  sampleOperator,
  sampleTest,
  sampleWithModules,
} from '../../lib/cli/package_files.ts'
import { claimDevFolder, claimState, readState, StateFile } from '../../lib/cli/api/folder.ts'
import type { Fields } from '../../lib/config/fields.ts'
import { parseKubeconfig } from '../../lib/config/kubeconfig.ts'
import { stampOf, writtenBelow } from '../../lib/runtime/os/user_files.ts'
import { withFolder } from '../tools/folder.ts'
import { runCommand } from '../tools/run_command.ts'

const example = (name: string): string => readFileSync(new URL(`../../examples/${name}`, import.meta.url), 'utf8')

const inFolder = (use: (path: (name: string) => string) => Promise<void>): Promise<void> =>
  withFolder((folder) => use((name) => join(folder, name)))

test('the version, the sample operator, its manifest and its tests are those of the package', async () => {
  const { version } = JSON.parse(example('../package.json')) as { version: string }
  assert.equal(await packageVersion(), version)
  assert.equal(await sampleOperator(), example('1_sample_controller.ts'))
  assert.equal(await readExample('foo.yaml'), example('foo.yaml'))
  const tests = await sampleTest('$&.ts')
  assert.equal(tests.replace("'./$&.ts'", "'./1_sample_controller.ts'"), example('7_testing.test.ts'))
  assert.ok(!tests.includes('1_sample_controller'))
  assert.ok((await sampleTest("a'b.ts")).includes(String.raw`'./a\'b.ts'`), 'a quote does not end the import')
})

test('the sample of the demo has resolved imports', async () => {
  const text = await sampleWithModules((specifier) => `file:///x/${specifier}.js`)
  assert.deepEqual([...text.matchAll(/ from '([^']+)'/g)].map(([, name]) => name), [
    'file:///x/kubeloop.js',
    'file:///x/kubeloop/kinds.js',
    'file:///x/zod.js',
  ])
})

test('kubeloop new that cannot write a file to its end names it, and leaves no part of it', async () => {
  await withFolder(async (folder) => {
    const bin = fileURLToPath(new URL('../../lib/cli/bin.js', import.meta.url))
    const args = [process.execPath, ...('Deno' in globalThis ? ['run', '-A', '--no-check'] : []), bin, 'new', 'x.ts']
    // As on a full disk: no file may have more than 512 bytes.
    const { code, stderr } = await runCommand('sh', ['-c', 'trap "" XFSZ; ulimit -f 1; exec "$@"', 'sh', ...args], {
      cwd: folder,
      env: { NODE_COMPILE_CACHE: '' },
    })
    assert.deepEqual([code, /^Cannot write x\.ts: EFBIG\b/.test(stderr), existsSync(join(folder, 'x.ts'))], [
      1,
      true,
      false,
    ])
  })
})

type Runtime = 'node' | 'bun' | 'deno'

/** Runs `kubeloop new`, and returns what it prints. */
async function made(file: string, folder: string, runtime: Runtime = 'node', names = {}): Promise<string[]> {
  const lines: string[] = []
  await newOperator(file, { runtime, version: '0.1.0', folder, print: (line) => void lines.push(line), names })
  return lines
}

const PROBED = example('1_sample_controller.ts').replace('leaderElection: true', "$&, health: ':8081'")

test('new writes other names, and a variable that is neither a word of the language nor of the sample', () =>
  inFolder(async (path) => {
    const names = { name: 'gadgets', group: 'shop.example.com', kind: 'Gadget' }
    await made(path('operator.ts'), path(''), 'node', names)
    const texts = ['operator.ts', 'operator.test.ts'].map((name) => readFileSync(path(name), 'utf8'))
    for (const text of texts) assert.doesNotMatch(text, /foo|sample-?controller/i)
    assert.match(
      texts[0]!,
      /group: 'shop\.example\.com',[^]*kind: 'Gadget',[^]*operator\(\{ name: 'gadgets', leaderElection: true, health: ':8081' /,
    )
    assert.match(texts[0]!, /reconcile\(async \(gadget, \{ client \}\)/)
    assert.match(texts[1]!, /import app, \{ Gadget \} from/)
    for (const kind of ['Class', 'App', 'World']) {
      await made(path(`${kind}.ts`), path(''), 'node', { kind })
      assert.match(readFileSync(path(`${kind}.ts`), 'utf8'), /reconcile\(async \(object, \{ client \}\)/)
    }
  }))

test('what is added to an operator is beside it, with what must be written by hand; nothing is overwritten', () =>
  inFolder(async (path) => {
    mkdirSync(path('sub'))
    const file = path('sub/op.ts')
    const adding = async (what: Parameters<typeof add>[1]): Promise<string[]> => {
      const lines: string[] = []
      await add(file, what, (line) => void lines.push(line.replaceAll(path(''), '')))
      return lines
    }
    await assert.rejects(adding({}), /Cannot add to .*op\.ts: there is no such file; kubeloop new .*op\.ts writes it$/)
    const text = "export const Site = defineResource({ group: 'web.dev' })\nconst app = operator({\n  name: 'sites' })"
    writeFileSync(file, text)
    assert.deepEqual(await adding({}), [
      'wrote /sub/site_webhook.ts',
      "write  by hand, in /sub/op.ts: import { admitSite } from './site_webhook.ts'",
      "write  in operator({ … }): webhooks: { certs: { secret: 'sites-webhook' } }",
      'write  before app.run: admitSite(app, Site)',
    ])
    assert.match(
      readFileSync(path('sub/site_webhook.ts'), 'utf8'),
      /import type \{ Site \} from '\.\/op\.ts'[^]*admitSite\(app/,
    )
    assert.deepEqual(await adding({ controller: 'Page' }), [
      'wrote /sub/page.ts',
      'wrote /sub/page.test.ts',
      "write  by hand, in /sub/op.ts: import { addPage } from './page.ts'",
      'write  before app.run: addPage(app)',
    ])
    assert.match(readFileSync(path('sub/page.ts'), 'utf8'), /group: 'web\.dev',[^]*async \(page, \{ client \}\)/)
    assert.match(readFileSync(path('sub/page.test.ts'), 'utf8'), /import \{ addPage, Page \} from '\.\/page\.ts'/)
    assert.equal(readFileSync(file, 'utf8'), text)
    for (const what of [{}, { controller: 'Page' }]) await assert.rejects(adding(what), /the file exists; choose/)
    writeFileSync(path('sub/form.test.ts'), 'mine')
    await assert.rejects(adding({ controller: 'Form' }), /form\.test\.ts: the file exists/)
    assert.ok(!existsSync(path('sub/form.ts')))
    await adding({ controller: 'Item', group: 'own.dev' })
    assert.match(readFileSync(path('sub/item.ts'), 'utf8'), /group: 'own\.dev'/)
    for (
      const [text, message] of [
        ["operator({ name: 'a' })", /it has no export const Kind = defineResource\(…\): give --kind$/],
        ['export const A = defineResource({})', /it has no operator\(\{ name: '…' \}\)$/],
      ] as const
    ) {
      writeFileSync(file, text)
      await assert.rejects(adding({}), message)
    }
    await assert.rejects(adding({ controller: 'B' }), /it has no group: '…': give --group$/)
  }))

test('an added admission refuses a name that is too long', async () => {
  const app = operator({ name: 'a' })
  admitFoo(app, Foo)
  await using w = await world(app)
  const foo = (name: string) => ({ metadata: { namespace: 'default', name }, spec: { deploymentName: 'b' } })
  await w.client.create(Foo, foo('a'.repeat(63)))
  await assert.rejects(w.client.create(Foo, foo('a'.repeat(64))), /metadata\.name: .*at most 63 characters/)
})

const PROJECT = ['.dockerignore', '.gitignore', '.github/workflows/ci.yaml', 'Dockerfile']

for (const runtime of ['node', 'bun', 'deno'] as const) {
  test(`a new project for ${runtime} has scripts, an image of the docs, and a workflow`, () =>
    inFolder(async (path) => {
      writeFileSync(path('.gitignore'), 'mine')
      mkdirSync(path('src'))
      await made(path('src/operator.ts'), path(''), runtime)
      assert.equal(readFileSync(path('.gitignore'), 'utf8'), 'mine')
      const dockerfile = readFileSync(path('Dockerfile'), 'utf8')
      const page = readFileSync(new URL('../../docs/shipping.md', import.meta.url), 'utf8')
      assert.ok(page.includes(`\`\`\`dockerfile\n${dockerfile}\`\`\``), dockerfile)
      assert.match(dockerfile, /^USER 65532:65532$/m)
      assert.equal(readFileSync(path('.dockerignore'), 'utf8'), '*\n!dist\n')
      const own = JSON.parse(readFileSync(path(runtime === 'deno' ? 'deno.json' : 'package.json'), 'utf8')) as {
        readonly [name in 'scripts' | 'tasks']: Readonly<Record<string, string>>
      }
      const scripts = own.scripts ?? own.tasks
      assert.deepEqual(Object.keys(scripts), ['dev', 'start', 'types', 'test', 'build', 'manifests'])
      assert.match(scripts['build']!, /kubeloop build src\/operator\.ts$/)
      const workflow = load(readFileSync(path('.github/workflows/ci.yaml'), 'utf8')) as {
        readonly jobs: {
          readonly test: { readonly steps: readonly { readonly run?: string; readonly uses?: string }[] }
        }
        readonly permissions: object
      }
      assert.deepEqual(workflow.permissions, { contents: 'read' })
      const runs = workflow.jobs.test.steps.flatMap(({ run }) => run ?? [])
      for (const each of ['types', 'test', 'build']) assert.ok(runs.some((run) => run.endsWith(` ${each}`)), `${runs}`)
      assert.ok(workflow.jobs.test.steps.some(({ uses }) => uses?.includes(`setup-${runtime}@`)))
      // A folder of an existing project gets none of these.
      mkdirSync(path('below'))
      await made(path('below/operator.ts'), path('below'), runtime)
      assert.deepEqual(PROJECT.filter((name) => existsSync(path(`below/${name}`))), [])
    }))
}

test('new writes an operator and its tests, and overwrites no file', () =>
  inFolder(async (path) => {
    const make = (file: string) => made(path(file), path(''))
    await make('sub/operator.ts')
    assert.equal(readFileSync(path('sub/operator.ts'), 'utf8'), PROBED)
    assert.match(readFileSync(path('sub/operator.test.ts'), 'utf8'), /import app, \{ Foo \} from '\.\/operator\.ts'/)
    await assert.rejects(make('sub/operator.ts'), /operator\.ts: the file exists/)
    writeFileSync(path('other.test.ts'), 'mine')
    await assert.rejects(make('other.ts'), /other\.test\.ts: the file exists/)
    assert.throws(() => statSync(path('other.ts')), { code: 'ENOENT' })
    assert.equal(readFileSync(path('other.test.ts'), 'utf8'), 'mine')
    await assert.rejects(make('operator.js'), /an operator is a TypeScript file/)
    for (const odd of ['my op.ts', "o'p.ts", 'a$b.ts']) await assert.rejects(make(odd), /use letters, digits, "\."/)
  }))

const CONFIGURATIONS = ['package.json', 'tsconfig.json', 'deno.json']

for (const runtime of ['node', 'bun', 'deno'] as const) {
  test(`new for ${runtime} writes its configuration, unless that is in the folder or above it`, async () => {
    await inFolder(async (path) => {
      const own = CONFIGURATIONS.filter((name) => (name === 'deno.json') === (runtime === 'deno'))
      await made(path('operator.ts'), path(''), runtime)
      assert.deepEqual(CONFIGURATIONS.filter((name) => existsSync(path(name))), own)
      const text = own.map((name) => readFileSync(path(name), 'utf8')).join()
      for (const other of ['node', 'bun', 'deno'].filter((each) => each !== runtime)) {
        assert.doesNotMatch(text, new RegExp(`"@types/${other}"|"${other}"`))
      }
      assert.match(text, /kubeloop.*\^0\.1\.0/)
      mkdirSync(path('below'))
      await made(path('below/operator.ts'), path('below'), runtime)
      assert.deepEqual(CONFIGURATIONS.filter((name) => existsSync(path(`below/${name}`))), [])
    })
    await inFolder(async (path) => {
      for (const name of CONFIGURATIONS) writeFileSync(path(name), 'mine')
      await made(path('operator.ts'), path(''), runtime)
      for (const name of CONFIGURATIONS) assert.equal(readFileSync(path(name), 'utf8'), 'mine')
    })
  })
}

const INSTALLED = { dependencies: { kubeloop: '*', zod: '*' } }
for (
  const [runtime, own, lines] of [
    ['node', INSTALLED, [
      'first  npm pkg set type=module, so that Node and tsc take .ts files for modules',
      'first  npm install --save-dev @types/node typescript',
    ]],
    ['node', { type: 'module' }, [
      'first  npm install kubeloop zod',
      'first  npm install --save-dev @types/node typescript',
    ]],
    ['node', { ...INSTALLED, type: 'module', devDependencies: { typescript: '*', '@types/node': '*' } }, []],
    ['bun', INSTALLED, ['first  bun add --dev @types/bun typescript']],
    ['deno', INSTALLED, ['first  deno add --dev npm:@types/node']],
    ['node', 'not JSON', []],
  ] as const
) {
  test(`new for ${runtime} prints what a package.json lacks: ${JSON.stringify(own)}`, () =>
    inFolder(async (path) => {
      writeFileSync(path('package.json'), typeof own === 'string' ? own : JSON.stringify(own))
      mkdirSync(path('below'))
      const printed = await made(path('below/operator.ts'), path('below'), runtime)
      assert.deepEqual(printed.filter((line) => line.startsWith('first')), lines)
    }))
}

const SCRIPTS = ['dev', 'start', 'types', 'test', 'build', 'manifests']

/** Each `package.json` beside which `kubeloop new` is called, what it adds there, and what it prints of it. */
const BESIDE: readonly (readonly [
  title: string,
  before: string,
  type: string | undefined,
  printed: readonly string[],
  others?: readonly string[],
])[] = [
  ['without a type', '{\n\t"name": "mine",\n\t"scripts": {\n\t\t"test": "mine"\n\t},\n\t"files": []\n}\n', 'module', [
    'left   "test" in the scripts of package.json: it exists; that of a new project is "node --test"',
    'added "type": "module" to package.json',
    'added scripts to package.json: dev, start, types, build, manifests',
  ]],
  ['of npm init', '{\r\n    "type": "commonjs",\r\n    "scripts": {}\r\n}', 'commonjs', [
    'left   "type" of package.json: it is "commonjs"',
    `added scripts to package.json: ${SCRIPTS.join(', ')}`,
    'first  npm pkg set type=module, so that Node and tsc take .ts files for modules',
  ]],
  ['with a file that may be CommonJS', '{"name":"mine"}', undefined, [
    'left   "type" of package.json: lib/old.js may be no module',
    `added scripts to package.json: ${SCRIPTS.join(', ')}`,
    'first  npm pkg set type=module, so that Node and tsc take .ts files for modules',
  ], ['lib/old.js', 'node_modules/a.js']],
]
for (const [title, before, type, printed, others = []] of BESIDE) {
  test(`new beside a package.json ${title} writes the other files, and adds what it lacks`, () =>
    inFolder(async (path) => {
      writeFileSync(path('package.json'), before)
      writeFileSync(path('Dockerfile'), 'mine')
      for (const each of others) {
        mkdirSync(path(each.replace(/\/.*/, '')))
        writeFileSync(path(each), '')
      }
      const lines = await made(path('operator.ts'), path(''))
      assert.deepEqual(PROJECT.filter((name) => !existsSync(path(name))), [])
      assert.equal(readFileSync(path('Dockerfile'), 'utf8'), 'mine')
      assert.ok(lines.includes('wrote tsconfig.json') && lines.includes('wrote .github/workflows/ci.yaml'))
      assert.ok(lines.includes('left   Dockerfile: it exists'), lines.join('\n'))
      assert.deepEqual(lines.filter((line) => /package\.json|npm pkg/.test(line)), printed)
      assert.ok(lines.includes('first  npm install --save-dev @types/node esbuild typescript'))
      const after = readFileSync(path('package.json'), 'utf8')
      const { scripts, type: is, ...rest } = JSON.parse(after) as { scripts: Record<string, string>; type?: string }
      const { scripts: had = {}, type: _, ...kept } = JSON.parse(before) as typeof rest & {
        scripts?: Record<string, string>
        type?: string
      }
      assert.deepEqual([is, rest, Object.keys(scripts).toSorted()], [type, kept, [...SCRIPTS].toSorted()])
      for (const [name, script] of Object.entries(had)) assert.equal(scripts[name], script)
      // In its own form, as npm keeps it.
      const [indent, end] = [/^{\r?\n([ \t]+)/.exec(before)?.[1] ?? '  ', before.includes('\r') ? '\r\n' : '\n']
      assert.ok(after.includes(`${end}${indent}"scripts": {${end}${indent}${indent}"`), after)
      assert.equal(/\s*$/.exec(after)![0], /\s*$/.exec(before)![0])
      // A second operator adds nothing, and leaves all.
      const again = await made(path('other.ts'), path(''))
      assert.equal(readFileSync(path('package.json'), 'utf8'), after)
      assert.deepEqual(again.filter((line) => line.startsWith('added') || /^wrote (?!.*other\.)/.test(line)), [])
      assert.deepEqual(PROJECT.filter((name) => existsSync(path(`${name}.bad`))), [])
    }))
}

test('new leaves a configuration that it cannot read, or whose scripts are none, and says what it lacks', () =>
  inFolder(async (path) => {
    for (
      const [file, text, runtime, why] of [
        ['package.json', '{', 'node', 'it is not plain JSON'],
        ['package.json', '{"scripts":1}', 'bun', 'its scripts are no object'],
        ['deno.json', '{ // mine\n}', 'deno', 'it is not plain JSON'],
      ] as const
    ) {
      mkdirSync(path(runtime))
      writeFileSync(path(`${runtime}/${file}`), text)
      const lines = await made(path(`${runtime}/operator.ts`), path(runtime), runtime)
      assert.equal(readFileSync(path(`${runtime}/${file}`), 'utf8'), text)
      assert.ok(lines.some((line) => line.startsWith(`left   ${file}: ${why}; a new project has {"`)), lines.join('\n'))
    }
    writeFileSync(path('deno/deno.json'), '{ "tasks": { "dev": "mine" } }')
    await made(path('deno/other.ts'), path('deno'), 'deno')
    const { tasks } = JSON.parse(readFileSync(path('deno/deno.json'), 'utf8')) as { tasks: Record<string, string> }
    assert.deepEqual([tasks['dev'], tasks['build']], ['mine', 'deno run -A npm:kubeloop build other.ts'])
  }))

test('writtenBelow returns the times of the wanted files in a folder and below it', async () => {
  await inFolder(async (path) => {
    mkdirSync(path('lib'))
    mkdirSync(path('node_modules'))
    for (const file of ['operator.ts', 'notes.md', 'lib/a.ts', 'node_modules/b.ts']) writeFileSync(path(file), '')
    symlinkSync(path('gone.ts'), path('link.ts'))
    utimesSync(path('lib/a.ts'), 1000, 1000)
    const times = await writtenBelow(
      path(''),
      (name, isFolder) => name !== 'node_modules' && (isFolder || name.endsWith('.ts')),
    )
    assert.deepEqual([...times.keys()].sort(), [path('lib/a.ts'), path('operator.ts')])
    assert.equal(times.get(path('lib/a.ts')), 1_000_000)
    assert.equal((await writtenBelow(path('nowhere'), () => true)).size, 0)
  })
})

test('a file in the place of another has another stamp, also of the same size and time', async () => {
  await withFolder(async (folder) => {
    // On most systems, files of one turn have equal times.
    const stamps = await Promise.all(
      Array.from({ length: 20 }, (_, at) => join(folder, `${at}.ts`)).map((file) => {
        writeFileSync(file, 'text')
        return file
      }).map(stampOf),
    )
    assert.equal(new Set(stamps).size, 20)
  })
})

test('the kubeconfig is JSON, and each other cluster has a context of its name, on the same port', async () => {
  const url = 'https://127.0.0.1:1'
  const text = kubeconfigText({ url, token: 'secret', ca: 'PEM' }, [
    { context: 'west', path: '/clusters/west' },
    { context: contextOf('kubeloop'), path: '/clusters/kubeloop' },
  ])
  assert.doesNotThrow(() => JSON.parse(text))
  const { currentContext, clusters, contexts, users } = parseKubeconfig(text, 'f')
  assert.deepEqual([currentContext, [...users.keys()]], ['kubeloop', ['kubeloop']])
  const textsOf = (fields: Fields, ...names: readonly string[]) => names.map((name) => fields.text(name))
  assert.deepEqual([...contexts].map(([name, fields]) => [name, ...textsOf(fields, 'cluster', 'user', 'namespace')]), [
    ['kubeloop', 'kubeloop', 'kubeloop', 'default'],
    ['west', 'west', 'kubeloop', 'default'],
    ['kubeloop.other', 'kubeloop.other', 'kubeloop', 'default'],
  ])
  assert.deepEqual([...clusters.values()].map((fields) => textsOf(fields, 'server', 'certificate-authority-data')), [
    [url, btoa('PEM')],
    [`${url}/clusters/west`, btoa('PEM')],
    [`${url}/clusters/kubeloop`, btoa('PEM')],
  ])
})

test('changes are saved together, in a file that only this user can read', async () => {
  await inFolder(async (path) => {
    const clock = new FakeClock()
    let saves = 0
    const file = new StateFile(path('state.json'), {
      clock,
      save: () => ({ saves: ++saves }),
      onError: (error) => assert.fail(String(error)),
    })
    file.changed()
    file.changed()
    await clock.advance(299)
    assert.equal(saves, 0)
    await clock.advance(1)
    assert.equal(saves, 1)
    file.changed()
    await file.close()
    assert.deepEqual(JSON.parse(readFileSync(path('state.json'), 'utf8')), { saves: 2 })
    assert.equal(statSync(path('state.json')).mode & 0o777, 0o600)
    await file.close()
    assert.equal(saves, 2)
  })
})

// In a container, each process has the same id.
test('a state is free if its process has ended, also if it had the id of this one', () =>
  inFolder(async (path) => {
    mkdirSync(path('state.running'))
    writeFileSync(path('state.running/pid'), `${process.pid}\n`)
    const release = await claimState(path('state'))
    await release()
    assert.ok(!existsSync(path('state.running')))
    // That of kubeloop dev is the lock of its folder.
    mkdirSync(path('running'))
    writeFileSync(path('running/pid'), `${process.ppid}\n`)
    await assert.rejects(claimDevFolder(dirname(path('state'))), /already runs in this folder \(process/)
    await assert.rejects(claimState(path('state.json')), /already keeps its state in .*state\.json \(process/)
  }))

test('while a slow disk writes a state, no other is made; the next one has all changes since', async () => {
  const clock = new FakeClock()
  const writes: PromiseWithResolvers<void>[] = []
  let saves = 0
  const write = (): Promise<void> => {
    writes.push(Promise.withResolvers<void>())
    return writes.at(-1)!.promise
  }
  const file = new StateFile('state.json', { clock, save: () => ++saves, onError: () => {}, write })
  for (let at = 0; at < 5; at++) {
    file.changed()
    await clock.advance(300)
  }
  assert.deepEqual([saves, writes.length], [1, 1])
  writes[0]!.resolve()
  await clock.advance(299)
  assert.equal(saves, 1)
  await clock.advance(1)
  assert.equal(saves, 2)
  file.changed()
  const closed = file.close()
  writes[1]!.reject(new Error('full'))
  await clock.advance(0)
  assert.equal(saves, 3)
  writes[2]!.reject(new Error('full'))
  await assert.rejects(closed, /^Error: The last changes are lost: state\.json could not be written$/)
  assert.equal(clock.pending, 0)
})

test('a save that takes long is made less often: for a twentieth of the time', async () => {
  const waits: number[] = []
  let nowMs = 0
  let fire = (): void => {}
  const clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    after: (ms: number, act: () => void) => (waits.push(ms), fire = act, () => {}),
  }
  const save = (): number => nowMs += 500
  const file = new StateFile('state.json', { clock, save, onError: () => {}, write: () => Promise.resolve() })
  file.changed()
  fire()
  await file.close()
  file.changed()
  assert.deepEqual(waits, [300, 10_000])
})

test('what could not be saved is saved at the end', () =>
  inFolder(async (path) => {
    const clock = new FakeClock()
    const failed = Promise.withResolvers<unknown>()
    const file = new StateFile(path('folder/state.json'), { clock, save: () => ({}), onError: failed.resolve })
    writeFileSync(path('folder'), 'in the way')
    file.changed()
    await clock.advance(300)
    await failed.promise
    rmSync(path('folder'))
    await file.close()
    assert.equal(readFileSync(path('folder/state.json'), 'utf8'), '{}')
  }))

test('a state that cannot be read is renamed, and reported', async () => {
  await inFolder(async (path) => {
    const file = path('state.json')
    const reported: string[] = []
    const read = (): Promise<unknown> => readState(file, (value) => value, (problem) => reported.push(problem))
    assert.equal(await read(), undefined)
    writeFileSync(file, '{ "half":')
    assert.equal(await read(), undefined)
    assert.equal(reported.length, 1)
    assert.match(reported[0]!, /^Cannot use the state of the last run: .*; it is kept in .*state\.json\.bad/)
    assert.equal(readFileSync(`${file}.bad`, 'utf8'), '{ "half":')
    assert.equal(await read(), undefined)
    assert.equal(reported.length, 1)
    writeFileSync(file, 'another')
    assert.equal(await read(), undefined)
    assert.deepEqual(['.bad', '.bad2'].map((end) => readFileSync(file + end, 'utf8')), ['{ "half":', 'another'])
  })
})

const definition = { kind: 'definition', name: 'foos.example.org', versions: ['v1', 'v2'] } as const
const EVENTS: readonly (readonly [DevEvent, RegExp?])[] = [
  [{ ...definition, result: 'installed' }, /^ {2}installed {2}foos\.example\.org\/v1,v2$/],
  [{ ...definition, cluster: 'west', result: 'updated' }, /^ {2}updated {4}foos\.example\.org\/v1,v2 in west$/],
  [
    { kind: 'applied', object: 'Foo default/a', cluster: 'west', result: 'created', manifest: 'a.yaml' },
    /^ {2}applied {4}Foo default\/a in west {2,}a\.yaml$/,
  ],
  [{ kind: 'try', command: 'kubectl get foos' }, /^ {2}kubectl get foos\n {76}same path every time; /],
  [{ kind: 'try', command: 'kubectl --context west', cluster: 'west' }, /^ {2}kubectl --context west$/],
  [{ kind: 'stopped' }],
]

test('events are lines of text or JSON', () => {
  for (const [event, line] of EVENTS) {
    const lines = prettyLines(event)
    assert.equal(lines.length > 0, line !== undefined)
    if (line) assert.match(lines.join('\n'), line)
  }
  const line = jsonLine({ kind: 'problem', message: 'no {name} here' }, 0)
  assert.deepEqual(JSON.parse(line), { time: '1970-01-01T00:00:00.000Z', level: 'error', message: 'no {name} here' })
})
