/**
 * Sends the definitions and manifests of public projects to a real API server and to the embedded one, and prints where
 * their answers differ: `npm run corpus -- [WORD …] [--each 10]`.
 *
 * WORDs are parts of module names. `--each`: objects of a kind and project. `--shown`: printed differences of a verb and
 * kind; `--width`: characters of each. Each object is created (dry run, then for
 * real), patched, applied and deleted. Needs Go, to download the modules, and KUBEBUILDER_ASSETS. The exit code is 1 if
 * a difference is not in differences.ts; the last line is `N passed, N failed`, of requests.
 */
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { Api, type Body } from '../conformance/api.ts'

import { comparable, runStep } from '../conformance/transcript.ts'
import { explanationOf } from './differences.ts'
import { type Manifest, modules, readProject } from './projects.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    each: { type: 'string', default: '10' },
    shown: { type: 'string', default: '2' },
    width: { type: 'string', default: '240' },
  },
})

const envtest = await startEnvtest()
const transport = httpTransport(envtest.tokenConfig)
const real = new Api(transport, {})
const embedded = new Api(new ApiServer({ clock: new FakeClock() }).handle, {})
let requests = 0
let unexplained = 0
const explained = new Map<string, number>()
const shown = new Map<string, number>()

try {
  await Promise.all([real.prepare(), embedded.prepare()])
  for (const module of modules().filter((name) => words.length === 0 || words.some((word) => name.includes(word)))) {
    const began = Date.now()
    const [requestsBefore, before] = [requests, unexplained]
    const { name, definitions, objects } = readProject(module, Number(options.each))
    for (const each of definitions) await define(each)
    await established()
    // Discovery follows after a moment.
    await sleep(3000)
    const paths = await pathsOfKinds()
    for (const each of objects) await playObject(each, paths)
    console.log(
      `${name}: ${definitions.length} definitions, ${objects.length} objects, ${requests - requestsBefore} requests, ${
        unexplained - before
      } unexplained differences, ${((Date.now() - began) / 1000).toFixed(0)} s`,
    )
  }
} finally {
  transport.close()
  await envtest.stop()
}
for (const [reason, count] of explained) console.log(`explained ${count} ×: ${reason}`)
console.log(`${requests} requests:\n${requests - unexplained} passed, ${unexplained} failed`)
process.exit(unexplained > 0 ? 1 : 0)

/** Creates a definition, or replaces it with one of another file. */
async function define(definition: Manifest): Promise<void> {
  const { status: _, ...object } = definition
  const path = `${DEFINITIONS}/${definition.metadata?.name}`
  const isNew = await both(`POST ${DEFINITIONS}`, object, definition)
  if (isNew) return
  // Its conditions are written a moment after its create.
  await established()
  await both(
    `PUT ${path}`,
    (answers: readonly Body[]) => ({
      ...object,
      metadata: { ...object.metadata, resourceVersion: answers.at(-1)?.metadata?.resourceVersion },
    }),
    definition,
    `GET ${path}`,
  )
}

/** Waits until the real server serves all definitions, or refuses their names. */
async function established(): Promise<void> {
  for (let asked = 0; asked < 100; asked++) {
    const { items } = await real.expect(200, 'GET', DEFINITIONS)
    const waiting = items.filter(({ status }: Body) =>
      !status?.conditions?.some((each: Body) =>
        (each.type === 'Established' || each.type === 'NamesAccepted') &&
        each.status === (each.type === 'Established' ? 'True' : 'False')
      )
    )
    if (waiting.length === 0) break
    await sleep(100)
  }
}

/** Returns the path of each kind, by `apiVersion/kind`. */
async function pathsOfKinds(): Promise<ReadonlyMap<string, string>> {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
  const paths = new Map<string, string>()
  for (const root of ['/api', '/apis']) {
    const { items } = await real.expect(200, 'GET', root, undefined, { accept })
    for (const { metadata: { name: group = '' }, versions } of items) {
      for (const { version, resources } of versions) {
        for (const { resource, scope, responseKind } of resources) {
          const apiVersion = group ? `${group}/${version}` : version
          const base = group ? `/apis/${group}/${version}` : `/api/${version}`
          const place = scope === 'Namespaced' ? `${base}/namespaces/{ns}/${resource}` : `${base}/${resource}`
          paths.set(`${apiVersion}/${responseKind.kind}`, place)
        }
      }
    }
  }
  return paths
}

async function playObject(manifest: Manifest, paths: ReadonlyMap<string, string>): Promise<void> {
  const path = paths.get(`${manifest.apiVersion}/${manifest.kind}`)
  if (path === undefined) return
  const isNamespaced = path.includes('{ns}')
  const { status: _, ...rest } = manifest
  const { namespace: __, ...metadata } = rest.metadata
  const object = { ...rest, metadata: isNamespaced ? { ...metadata, namespace: '{ns}' } : metadata }
  const one = `${path}/${metadata.name}`
  await both(`POST ${path}?dryRun=All&fieldManager=corpus`, object, manifest)
  const isCreated = await both(`POST ${path}?fieldManager=corpus`, object, manifest)
  if (metadata.name === undefined) return
  if (isCreated) {
    await both(`MERGE ${one}?fieldManager=patcher`, { metadata: { labels: { corpus: 'patched' } } }, manifest)
  }
  await both(`APPLY ${one}?fieldManager=applier&force=true`, object, manifest)
  await both(`GET ${one}`, undefined, manifest)
  // A Namespace would stay: nothing finalizes it.
  if (manifest.kind !== 'Namespace') {
    await both(`DELETE ${one}`, { gracePeriodSeconds: 0, propagationPolicy: 'Background' }, manifest)
  }
}

/** Sends a step to both servers, and compares. Returns whether both accepted it. `first`: a step before it. */
async function both(line: string, body: unknown, manifest: Manifest, first?: string): Promise<boolean> {
  requests++
  const answers = await Promise.all([real, embedded].map(async (api) => {
    const before = first ? [(await runStep(api, first, undefined, undefined, [])).answer] : []
    return await runStep(api, line, body, undefined, before)
  }))
  const [expected, actual] = answers.map(({ full }) => neutral(full, manifest.metadata.generateName))
  if (expected !== actual) {
    const reason = explanationOf({ line, manifest, expected: expected!, actual: actual! })
    if (reason !== undefined) explained.set(reason, (explained.get(reason) ?? 0) + 1)
    else {
      unexplained++
      report(line, manifest, expected!, actual!)
    }
  }
  return answers.every(({ full }) => /^2/.test(full))
}

/** Returns an answer without what a server chooses: addresses, ports, the ends of generated names. */
function neutral(answer: string, generateName: unknown): string {
  const text = comparable(answer).replace(/"clusterIPs?":(?:"[\d.]+"|\["[\d.]+"\])/g, '"clusterIP":{}')
    .replace(/"(nodePort|healthCheckNodePort)":3\d{4}/g, '"$1":0')
  return typeof generateName === 'string'
    ? text.replaceAll(generatedLike(generateName), `${generateName}{random}`)
    : text
}

function generatedLike(base: string): RegExp {
  return new RegExp(`${base.replaceAll(/[^\w-]/g, '\\$&')}[bcdfghjklmnpqrstvwxz2456789]{5}\\b`, 'g')
}

/** Prints a difference from where it begins: in full the first few of a verb and kind, then not. */
function report(line: string, manifest: Manifest, expected: string, actual: string): void {
  let at = 0
  while (at < expected.length && expected[at] === actual[at]) at++
  const kind = `${line.split(' ')[0]}${
    line.includes('dryRun') ? ' dry run' : ''
  } ${manifest.apiVersion} ${manifest.kind}`
  const count = (shown.get(kind) ?? 0) + 1
  shown.set(kind, count)
  if (count > Number(options.shown)) return
  const from = Math.max(0, at - 60)
  const part = (text: string): string => `${from > 0 ? '…' : ''}${text.slice(from, from + Number(options.width))}`
  console.log(`${kind} ${manifest.metadata.name}\n  real     ${part(expected)}\n  embedded ${part(actual)}`)
}
