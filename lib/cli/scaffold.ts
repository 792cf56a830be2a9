/** The texts that `kubeloop new` writes: the sample with other names, and the files of a project. */
import { DENO_FLAGS_IN_POD } from '../operator/run/permissions.ts'
import type { RuntimeName } from '../runtime/os/this_runtime.ts'
import { USER } from './deploy/workload.ts'

export interface SampleNames {
  readonly name: string
  readonly group: string
  readonly kind: string
}

export const SAMPLE_NAMES: SampleNames = { name: 'sample-controller', group: 'samplecontroller.k8s.io', kind: 'Foo' }

/** Names of the sample and its test, and of the language, which no variable of a kind may have. */
const TAKEN = new Set(
  ('app world test assert deployment render labels template client metadata operator await break case catch class ' +
    'const continue debugger default delete do else enum export extends false finally for function if implements ' +
    'import in instanceof interface let new null package private protected public return static super switch this ' +
    'throw true try typeof var void while with yield arguments eval').split(' '),
)

/** Kinds that the sample and its test import, or whose names the language has. */
export const TAKEN_KINDS: ReadonlySet<string> = new Set(
  'Deployment Lease LeadershipLost Desired ObjectOf Error Promise Object'.split(' '),
)

function variableOf(kind: string): string {
  const name = kind[0]!.toLowerCase() + kind.slice(1)
  return TAKEN.has(name) ? 'object' : name
}

/** Returns a sample with other names, and its operator with probes. */
export function renamed(text: string, { name, group, kind }: SampleNames): string {
  return text
    .replaceAll(`'${SAMPLE_NAMES.group}'`, `'${group}'`)
    .replaceAll(
      `name: '${SAMPLE_NAMES.name}', leaderElection: true`,
      `name: '${name}', leaderElection: true, health: ':8081'`,
    )
    .replaceAll('Foo', kind)
    .replace(/\bfoo\b/g, variableOf(kind))
}

interface RuntimeTexts {
  /** What a person calls; a script has it without npx. */
  readonly call: string
  readonly test: string
  readonly run: string
  readonly image: string
  /** The command of the container, before the bundle. */
  readonly entry: readonly string[]
  readonly env?: string
  /** The steps of a CI workflow that install the runtime and the packages. */
  readonly setup: string
  /** Runs a script of package.json or a task of deno.json. */
  readonly script: string
  /** Installs what a new package.json states. Absent where the runtime installs imports by itself. */
  readonly install?: readonly string[]
  /** Adds packages, and with `dev` those of the development. */
  readonly add: string
  readonly dev: string
  /** Present where .ts files are CommonJS by default. */
  readonly setModule?: readonly string[]
}

export const TEXTS: Readonly<Record<RuntimeName, RuntimeTexts>> = {
  node: {
    ...{ call: 'npx kubeloop', test: 'node --test', run: 'node', image: 'node:26-slim', script: 'npm run' },
    ...{ install: ['npm install'], add: 'npm install', dev: '--save-dev', entry: ['node', '--enable-source-maps'] },
    setup: '- uses: actions/setup-node@v4\n        with: { node-version: 26 }\n      - run: npm install',
    setModule: ['npm pkg set type=module, so that Node and tsc take .ts files for modules'],
  },
  bun: {
    ...{ call: 'bunx --bun kubeloop', test: 'bun test', run: 'bun', image: 'oven/bun:1.4-slim', script: 'bun run' },
    ...{ install: ['bun install'], add: 'bun add', dev: '--dev', entry: ['bun'] },
    setup: '- uses: oven-sh/setup-bun@v2\n      - run: bun install',
  },
  deno: {
    ...{ call: 'deno run -A npm:kubeloop', test: 'deno test -A', run: 'deno run -A', image: 'denoland/deno:2.9.6' },
    ...{ add: 'deno add', dev: '--dev', script: 'deno task', entry: ['deno', 'run', ...DENO_FLAGS_IN_POD] },
    env: 'ENV DENO_DIR=/tmp/deno\n',
    setup: '- uses: denoland/setup-deno@v2\n      - run: deno install',
  },
}

/** Returns the scripts of a package.json, or the tasks of a deno.json. */
export function scriptsOf(runtime: RuntimeName, file: string): Readonly<Record<string, string>> {
  const { call, test, run } = TEXTS[runtime]
  const command = call.replace(/^npx /, '')
  return {
    dev: `${command} dev ${file}`,
    start: `${run} ${file}`,
    types: runtime === 'deno' ? `deno check ${file}` : 'tsc',
    test,
    build: `${command} build ${file}`,
    manifests: `${command} manifests ${file}`,
  }
}

export function projectTexts(runtime: RuntimeName, file: string): Readonly<Record<string, string>> {
  const { image, entry, env = '', setup, script } = TEXTS[runtime]
  const bundle = `${file.replace(/^.*\//, '').replace(/\.ts$/, '')}.js`
  const files = runtime === 'bun' ? `dist/${bundle}` : `dist/${bundle} dist/${bundle}.map`
  const command = [...entry, `/app/${bundle}`].map((word) => JSON.stringify(word)).join(', ')
  const steps = ['types', 'test', 'build'].map((each) => `      - run: ${script} ${each}\n`).join('')
  return {
    '.gitignore': 'node_modules/\ndist/\n.kubeloop/\n',
    '.dockerignore': '*\n!dist\n',
    Dockerfile: `FROM ${image}\nCOPY ${files} /app/\n${env}USER ${USER}:${USER}\nENTRYPOINT [${command}]\n`,
    '.github/workflows/ci.yaml': `name: ci
on: [push, pull_request]
permissions: { contents: read }
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      ${setup}
${steps}`,
  }
}
