/** Runs the command lines of README and docs in a user's project, with the built package. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Cluster } from 'kubeloop'
import { ApiServer, serve } from 'kubeloop/apiserver'
import { CustomResourceDefinition } from 'kubeloop/kinds'
import { Foo } from '../../examples/1_sample_controller.ts'
import { Latch } from '../../lib/async/latch.ts'
import { commandNamed } from '../../lib/cli/commands.ts'
import { parseArguments } from '../../lib/cli/options.ts'
import { USER } from '../../lib/cli/deploy/workload.ts'
import { CONTEXT, kubeconfigText } from '../../lib/cli/api/serving.ts'
import { ensureDist } from '../tools/dist.ts'
import { codeBlocks, type DocsCommand, PAGES, pageText, shellCommands } from '../tools/docs.ts'
import { ROOT } from '../tools/tree.ts'
import { makeUserProject, noTerminal, type UserProject } from '../tools/user_project.ts'

let project: UserProject | undefined
before(async () => {
  await ensureDist()
  project = makeUserProject()
})
after(() => project?.remove())

const RUNTIME = 'Deno' in globalThis ? 'deno' : 'Bun' in globalThis ? 'bun' : 'node'
const elsewhere = RUNTIME !== 'node' && 'the tests of these commands run under each runtime; their lines run under Node'

/** Command lines that no test runs, by their beginnings. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'kubectl create clusterrolebinding prometheus-': 'needs a cluster; tests/cli/golden/full_base.txt has the role',
  'npm install kubeloop zod':
    'kubeloop is not published, and a test has no registry; dist.test.ts installs the tarball',
  'bun add kubeloop zod': 'the same',
  'deno add npm:kubeloop npm:zod': 'the same',
  'npm install --save-dev esbuild': 'a test has no registry; the esbuild of this repository is used',
  'node --build-sea sea.json': 'it writes 150 MB in several seconds; tried by hand, also with the real API server',
  'npx kubeloop plan operator.ts --context': 'needs a cluster; tests/cli/plan.test.ts and real_plan.test.ts run it',
  'KUBELOOP_TEST_CLUSTER=envtest node --test': 'needs a real API server; tests/testing/test_cluster.test.ts runs it',
  'kubectl get foos.samplecontroller.k8s.io': 'jq is not on every machine',
  'kubectl apply -f foos.json': 'the same',
  'npx kubeloop dev operator.ts --apply foo.yaml --ui': 'it needs a browser; tests/cli/loop_page.test.ts has one',
}

const lines = shellCommands()
const assigned = new Set<DocsCommand>()

/** Returns the only line of a page that begins and ends so, as it is typed on this runtime, and notes that a test runs it. */
function lineOf(page: string, beginning: string, end = ''): string {
  const found = lines.filter((each) => each.page === page && each.line.startsWith(beginning) && each.line.endsWith(end))
  assert.equal(found.length, 1, `lines of ${page} that begin with ${beginning}`)
  assigned.add(found[0]!)
  return onThisRuntime(found[0]!.line)
}

/** The docs show npx, and say once how Bun and Deno call the command. npx needs seconds to find the installed one. */
function onThisRuntime(line: string): string {
  const calls = { node: 'node_modules/.bin/kubeloop', bun: 'bunx kubeloop', deno: 'deno run -A npm:kubeloop' }
  return line.replace(/^npx kubeloop\b/, calls[RUNTIME])
}

const noKubectl = spawnSync('sh', ['-c', 'command -v kubectl']).status === 0 ? false : 'kubectl is not in PATH'

async function inProject(work: (project: UserProject) => Promise<void>): Promise<void> {
  try {
    await work(project!)
  } finally {
    await project!.clear()
  }
}

/** Returns the text of the only block of a page in a language with a beginning. */
function blockOf(page: string, language: string, beginning = ''): string {
  const found = codeBlocks(language).filter((each) => each.page === page && each.text.startsWith(beginning))
  assert.equal(found.length, 1, `${language} blocks of ${page}`)
  return found[0]!.text
}

const DEMO = lineOf('README.md', 'npx kubeloop demo')

const START = 'docs/getting-started.md'
const NEW = lineOf(START, 'npx kubeloop new')
const DEV = lineOf(START, 'npx kubeloop dev')

const LOOP = 'docs/dev-loop.md'
const [LOOP_DEV, LOOP_AS] = ['foo.yaml', '--as-service-account'].map((end) => lineOf(LOOP, 'npx kubeloop dev', end))
const [GET, PATCH, DELETE_DEPLOYMENT, DELETE_FOO, ROLLOUT, LOGS] = [
  'get',
  'patch',
  'delete deployment',
  'delete foo',
  'rollout status',
  'logs',
]
  .map((verb) => lineOf(LOOP, `kubectl --kubeconfig .kubeloop/kubeconfig ${verb}`))

const inlineCode = PAGES.flatMap((page) =>
  [...pageText(page).replaceAll(/^```[^]*?^```$/gm, '').matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code]) => ({
    page,
    code: code!.replaceAll('\\|', '|'),
  }))
)

function inText(pattern: RegExp): string {
  const found = new Set(inlineCode.map(({ code }) => code).filter((code) => pattern.test(code)))
  assert.equal(found.size, 1, `${pattern}: ${[...found].join('; ')}`)
  return onThisRuntime(`npx ${[...found][0]}`)
}

const CRD = inText(/^kubeloop crd \S+ \| kubectl/)

// The demo writes to .kubeloop/demo only, and shares no state with the operator that runs beside it.
test('README, getting started: the demo and the written operator run, kubectl follows, and the written test passes', () =>
  inProject(async (project) => {
    const files = readdirSync(project.path)
    const demo = project.start(DEMO)
    const command = /"(kubectl [^"]+) -w"/.exec(await demo.until(/"kubectl [^"]+"/))![1]!
    await demo.until(/"message":"reconcile".*"default\/example-foo","result":"created"/)
    if (!noKubectl) assert.match(await project.run(command), /^NAME.*REPLICAS[^]*\nexample +1\b/)
    assert.deepEqual(readdirSync(project.path).toSorted(), [...files, '.kubeloop'].toSorted())
    assert.deepEqual(readdirSync(join(project.path, '.kubeloop')), ['demo'])

    assert.match(await project.run(NEW), /^wrote operator\.ts,.*\nwrote operator\.test\.ts,/)
    project.write('foo.yaml', blockOf(START, 'yaml'))
    const dev = project.start(DEV)
    await dev.until(/"message":"definition".*foos\.samplecontroller\.k8s\.io/)
    await dev.until(/"message":"applied".*Foo default\/example/)
    await dev.until(/"message":"reconcile".*"default\/example-foo","result":"created"/)
    if (!elsewhere && !noKubectl) {
      assert.equal(LOOP_DEV, DEV)
      assert.match(await project.run(ROLLOUT!), /successfully rolled out/)
      assert.match(await project.run(LOGS!), /kubeloop simulates this container: the image nginx:1 does not run/)
      assert.match(await project.run(GET!), /\/example +1 [^]*\/example-foo +1\/1 /)
      const installed = await project.run(CRD.replace('kubectl', 'kubectl --kubeconfig .kubeloop/kubeconfig'))
      assert.match(
        installed,
        /^customresourcedefinition\.apiextensions\.k8s\.io\/foos\.samplecontroller\.k8s\.io (?:configured|unchanged)/,
      )
    }
    for (const each of [dev, demo]) assert.equal(await each.stop(), 0, each.output())
    assert.match(project.read('.kubeloop/demo/state.json'), /example-foo/)
    project.write('operator.test.ts', blockOf(START, 'ts'))
    const [, commands] = /((?:`[^`]+`(?:, | and )?)+) run it\./.exec(pageText(START)) ?? []
    const ofRuntime = [...commands!.matchAll(/`([^`]+)`/g)].map(([, each]) => each!)
    await project.run(ofRuntime.find((each) => each.startsWith(RUNTIME))!)
  }))

const APISERVER = lineOf('docs/embedded-api.md', 'npx kubeloop apiserver')

test('The embedded API: it serves alone, kubectl works with its kubeconfig, and the objects are kept', {
  skip: elsewhere,
}, () =>
  inProject(async (project) => {
    for (const expected of ['created', 'configured|unchanged']) {
      const server = project.start(APISERVER)
      const command = /"(kubectl [^"]+) get namespaces"/.exec(await server.until(/"kubectl [^"]+"/))![1]!
      project.write('map.json', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}')
      if (!noKubectl) assert.match(await project.run(`${command} apply -f map.json`), new RegExp(expected))
      await server.stop()
    }
    assert.deepEqual(readdirSync(join(project.path, '.kubeloop')), ['.gitignore'])
  }))

const RUN = { node: 'node operator.ts', bun: 'bun run operator.ts', deno: "deno run '--allow-net=HOST:PORT" }
const runLines = Object.fromEntries(Object.entries(RUN).map(([name, line]) => [name, lineOf(START, line)]))

test('Getting started: the operator finds its cluster in ~/.kube/config, and ends in order', () =>
  inProject(async (project) => {
    const api = new ApiServer()
    const applied = new Latch<void>()
    const served = await serve({
      async handle(request) {
        const response = await api.handle(request)
        if (request.method === 'PATCH' && request.path.includes('/deployments/b')) applied.open()
        return response
      },
    })
    try {
      const { client } = new Cluster({ name: 'admin', transport: api.handle })
      await client.create(CustomResourceDefinition, Foo.definition.crd as never)
      await client.create(Foo, { metadata: { namespace: 'default', name: 'a' }, spec: { deploymentName: 'b' } })
      writeFileSync(join(project.home, '.kube/config'), kubeconfigText(served))
      await project.run(NEW)
      const operator = project.start(runLines[RUNTIME]!.replace('HOST:PORT', `127.0.0.1:${served.port}`))
      await Promise.race([applied.opened, operator.until(/(?!)/)])
      assert.equal(await operator.stop(), 0, operator.output())
    } finally {
      await served.close()
    }
  }))

test(
  'The dev loop: the shown output comes from the shown commands',
  { skip: elsewhere || noTerminal || noKubectl },
  () =>
    inProject(async (project) => {
      await project.run(NEW)
      project.write('foo.yaml', blockOf(START, 'yaml'))
      const working = project.read('operator.ts')
      const shown = blockOf(LOOP, 'text', 'kubeloop ')
      const thrown = /throw new Error.*/.exec(shown)![0]
      const failing = working.replace(/^(.*reconcile\(.*\n)/m, `$1  if (foo.spec.replicas === 3) ${thrown}\n`)

      // Pods add lines when they become ready, between others.
      const dev = project.start(`${LOOP_DEV} --no-workloads`, { terminal: true })
      await dev.until(/reconcile #2 .*/)
      assert.match(await project.run(GET!), /\/example +1 [^]*\/example-foo +0\/1 /)
      await project.run(DELETE_DEPLOYMENT!)
      await dev.until(/reconcile #4 .*/)
      project.write('operator.ts', failing)
      await dev.until(/↻ .*/)
      await project.run(PATCH!)
      await dev.until(/retry 3 .*/)
      project.write('operator.ts', working)
      await dev.until(/↻ [^]* reconcile #1 .*/)
      assert.deepEqual(normal(dev.output()).filter((line) => normal(shown).includes(line)), normal(shown), dev.output())

      await project.run(DELETE_FOO!)
      await dev.until(/Foo default\/example +deleted/)
      await project.run(
        'kubectl --kubeconfig .kubeloop/kubeconfig wait --for=delete deployment/example-foo --timeout=20s',
      )
      await dev.stop()
    }),
)

test(
  'The dev loop: the operator runs with the roles of its manifests',
  { skip: elsewhere || noTerminal },
  () =>
    inProject(async (project) => {
      await project.run(NEW)
      project.write('foo.yaml', blockOf(START, 'yaml'))
      const dev = project.start(LOOP_AS!, { terminal: true })
      await dev.until(/reconcile #1 .* ok +applied Deployment/)
      const [account] = normal(blockOf(LOOP, 'text', '  runs as'))
      assert.ok(normal(dev.output()).includes(account!), dev.output())
      await dev.stop()
    }),
)

/** Returns the lines of output without what differs between runs and runtimes: times, versions, columns, spaces. */
function normal(output: string): string[] {
  return output.trimEnd().split('\n').map((line) =>
    line.replace(/^\d\d:\d\d:\d\d /, 'TIME ').replace(/(?<!retry \d+ in )\b\d+(?:\.\d+)? m?s\b/g, 'N ms')
      .replace(/\b(?:node|bun|deno) \d+\.\d+\.\d+/, 'RUNTIME').replace(/(?<=operator\.ts:\d+):\d+/, '').replace(
        / {2,}/g,
        '  ',
      ).trimEnd()
  )
}

test(
  'Commands in the text: the definitions are printed and read back as types',
  { skip: elsewhere },
  () =>
    inProject(async (project) => {
      await project.run(NEW)
      const namespaced = inText(/^kubeloop crd \S+ --namespace/)
      assert.match(await project.run(namespaced.split(' |')[0]!), /^kind: CustomResourceDefinition$/m)
      await project.run(`${CRD.split(' |')[0]} > crd.yaml`)
      await project.run(inText(/^kubeloop types .* > /))
      assert.match(project.read('widget.ts'), /^export const Foo\b/m)
    }),
)

const CHECKS = ['> crds.yaml', '--check crds.yaml', '--against live'].map((end) =>
  lineOf('docs/deploying.md', `npx kubeloop crd operator.ts ${end}`)
)

test('Deploying: the definitions of the written operator are compared with files and with a cluster', {
  skip: elsewhere,
}, () =>
  inProject(async (project) => {
    await project.run(NEW)
    const served = await serve(new ApiServer())
    try {
      writeFileSync(join(project.home, '.kube/config'), kubeconfigText(served))
      const [write, check, against] = CHECKS as [string, string, string]
      await project.run(write)
      assert.equal((await project.run(check)).trim(), 'crds.yaml has the definitions of operator.ts')
      assert.match(await project.run(against.replace('production', CONTEXT)), /: 0 of 0 stored objects do not fit\n$/)
    } finally {
      await served.close()
    }
  }))

const [MANIFESTS, BASE] = ['--create-namespace', '--out deploy/base'].map((end) =>
  lineOf('docs/deploying.md', 'npx kubeloop manifests', end)
)

test('Deploying: the written operator has manifests', { skip: elsewhere }, () =>
  inProject(async (project) => {
    await project.run(NEW)
    const printed = await project.run(MANIFESTS!)
    assert.match(printed, /^kind: Deployment$/m)
    assert.match(printed, /^ +- image: registry\.example\.com\/operator:1\.0\.0$/m)
    await project.run(BASE!)
    assert.ok(existsSync(join(project.path, 'deploy/base/kustomization.yaml')))
  }))

const RECORDED = lineOf('docs/deploying.md', 'KUBELOOP_RIGHTS=rights')
const [LEAST, CHECK, REQUESTS] = ['--record', '--check', '--requests'].map((option) =>
  lineOf('docs/deploying.md', `npx kubeloop rights operator.ts ${option}`)
)

test('Deploying: the tests of the written operator record its rights, and the least roles fit', () =>
  inProject(async (project) => {
    await project.run(NEW)
    project.write('operator.test.ts', blockOf(START, 'ts'))
    const tests = {
      node: 'node --test',
      bun: 'bun test',
      deno: 'deno test --allow-env=KUBELOOP_RIGHTS --allow-read=. --allow-write=rights',
    }
    await project.run(RECORDED.replace(tests.node, tests[RUNTIME]))
    const printed = await project.run(LEAST!)
    assert.match(printed, /^ +- foos\/status\n +verbs:\n +- patch$/m)
    project.write('role.yaml', printed)
    assert.equal(await project.run(CHECK!), '')
    assert.match(await project.run(REQUESTS!), /^right {4}create, patch of deployments .* operator\.ts:\d+:\d+$/m)
  }))

const SHIPPING = 'docs/shipping.md'
const BUILD = lineOf(SHIPPING, 'npx kubeloop build')
const COMPILE = lineOf(SHIPPING, 'bun build --compile')

/** Installs esbuild in a project, and hides a prom-client of a folder above. */
function addEsbuild(project: UserProject): void {
  for (const name of ['esbuild', '@esbuild']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(project.path, 'node_modules', name))
  }
  mkdirSync(join(project.path, 'node_modules/prom-client'))
  project.write('node_modules/prom-client/package.json', '{"name":"prom-client","exports":{}}')
}

test('Shipping: the bundle is written as shown, and the shown lines run it', () =>
  inProject(async (project) => {
    await project.run(NEW)
    addEsbuild(project)
    const sizes = (text: string): string => text.trimEnd().replaceAll(/\d+ kB/g, 'N kB')
    const printed = await project.run(BUILD)
    assert.equal(sizes(printed), sizes(blockOf(SHIPPING, 'text')))
    const run = printed.split('\n').find((line) =>
      line.startsWith(`run   ${RUNTIME} `) || line.startsWith(`or    ${RUNTIME} `)
    )
    const command = run!.slice(6).replace('HOST:PORT', '127.0.0.1:6443')
    await assert.rejects(project.run(command), /Cannot find a cluster: KUBECONFIG is not set/)
    if (RUNTIME === 'bun') {
      await project.run(COMPILE)
      await assert.rejects(project.run('dist/operator'), /Cannot find a cluster: KUBECONFIG is not set/)
    }
  }))

test('Shipping: metrics without prom-client are refused', { skip: elsewhere }, () =>
  inProject(async (project) => {
    addEsbuild(project)
    project.write('operator.ts', `import { operator } from 'kubeloop'\noperator({ name: 'a', metrics: 9090 })\n`)
    const why = 'its metrics need prom-client, which is not installed; npm install prom-client'
    await assert.rejects(project.run(BUILD), new RegExp(`Cannot build operator\\.ts: ${why}`))
    assert.ok(!existsSync(join(project.path, 'dist')))
  }))

test('Shipping: the images run as the user of the manifests, without a shell, with files of dist', () => {
  const images = codeBlocks('dockerfile').filter(({ page }) => page === SHIPPING)
  assert.equal(images.length, 4)
  for (const { name, text } of images) {
    const lines = text.trimEnd().split('\n').map((line) => line.split(/ (.*)/))
    const of = (word: string): string[] => lines.filter(([each]) => each === word).map(([, rest]) => rest!)
    assert.deepEqual(lines.map(([word]) => word).filter((word) => word !== 'ENV'), [
      'FROM',
      'COPY',
      'USER',
      'ENTRYPOINT',
    ], name)
    assert.match(of('FROM')[0]!, /^\S+:\S+$/, name)
    assert.ok(of('COPY')[0]!.split(' ').slice(0, -1).every((file) => file.startsWith('dist/')), name)
    assert.deepEqual(of('USER'), [`${USER}:${USER}`], name)
    assert.ok((JSON.parse(of('ENTRYPOINT')[0]!) as unknown[]).every((word) => typeof word === 'string'), name)
  }
})

test('Commands in the text exist', async () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  let found = 0
  for (const { page, code } of inlineCode) {
    for (const line of code.split(' && ')) {
      const [program, ...words] = line.replace(/^npx /, '').replace(/ (?:\||>|#) .*$/, '').split(' ')
      const [first = ''] = words
      if (program === 'npm' && ['run', 'start', 'test'].includes(first)) {
        assert.ok((first === 'run' ? words[1]! : first) in scripts, `${page}: ${code}`)
      } else if (program === 'kubeloop' && words.length > 0) {
        const given = words.map((word) => word === 'FILE' ? 'a.ts' : word)
        const args = given.length > 1 ? given.slice(1) : ['--help']
        const command = await commandNamed(first)
        assert.doesNotThrow(() => parseArguments(first, command, args), `${page}: ${code}`)
      } else if ((program === 'node' || program === 'bash') && first.includes('/')) {
        assert.ok(existsSync(join(ROOT, first)), `${page}: ${code}`)
      } else continue
      found++
    }
  }
  assert.ok(found >= 20, `only ${found} commands were found`)
})

test('every block has a language, and every command line is run above or has a reason not to be', () => {
  // A block without a language would escape the other tests.
  const languages = ['dockerfile', 'go', 'json', 'mermaid', 'sh', 'text', 'ts', 'yaml']
  assert.deepEqual(codeBlocks().filter(({ language }) => !languages.includes(language)).map(({ name }) => name), [])
  const excepted = (line: string): string | undefined => Object.keys(NOT_RUN).find((each) => line.startsWith(each))
  const left = lines.filter((each) => !assigned.has(each))
  assert.deepEqual(
    left.filter(({ line }) => excepted(line) === undefined),
    [],
    'run these in a test of this file, or add them to NOT_RUN with a reason',
  )
  const used = new Set(left.map(({ line }) => excepted(line)))
  assert.deepEqual(Object.keys(NOT_RUN).filter((each) => !used.has(each)), [], 'remove these from NOT_RUN')
})
