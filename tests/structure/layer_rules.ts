/** Checks the rules of layers and imports (docs/architecture.md), as a pure function of the files. */
import { INSIDE, ROWS } from './rooms.ts'
import { type ImportFact, readFacts, type SourceFacts } from './source_facts.ts'

/** Folders that may import fewer folders than those of lower rows, and why. */
const NARROWER: Readonly<Record<string, readonly string[]>> = {
  // Descriptors and types: an import of the kinds must load nothing else.
  kinds: ['core'],
  // It must not depend on the client that it tests.
  apiserver: ['core', 'async', 'observe', 'runtime'],
}

/** Folders that may import a folder of the same row, and why. */
const SIDEWAYS: Readonly<Record<string, readonly string[]>> = {
  // The operator is assembled from the manager's parts, and installs its definitions.
  operator: ['crds', 'manager'],
  // The commands and the test worlds run the control loops.
  cli: ['simcluster', 'testing'],
  testing: ['simcluster'],
  // A rate-limited log needs the time.
  observe: ['async'],
}

/** Folders with one way in, which could be packages of their own. */
const DOORS: Readonly<Record<string, string>> = { apiserver: 'lib/apiserver/mod.ts' }

/** Imports by package name, allowed in the top row, so that a class exists once in the bundles. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  'kubeloop': 'mod.ts',
  'kubeloop/kinds': 'lib/kinds/mod.ts',
  'kubeloop/parts': 'lib/parts/mod.ts',
  'kubeloop/apiserver': 'lib/apiserver/mod.ts',
  'kubeloop/testing': 'lib/testing/mod.ts',
}

/** Other packages: all are imported dynamically, but zod's core, and those that only the engine of rules imports. */
const PACKAGES: Readonly<Record<string, ImportFact['how']>> = {
  'zod/v4/core': 'static',
  croner: 'dynamic',
  'prom-client': 'dynamic',
  '@opentelemetry/api': 'dynamic',
  'fast-check': 'dynamic',
  esbuild: 'dynamic',
  // By lib/core/yaml.ts alone, which is imported dynamically where few starts need it.
  'js-yaml': 'static',
  're2js': 'static',
}

/** Plain JavaScript that reports a Node too old to load lib/runtime. */
const LAUNCHER = 'lib/cli/bin.js'
/** Plain JavaScript of a browser. */
const PAGE = 'lib/cli/dev/page/page.js'

const RUNTIME_GLOBALS = ['process', 'Buffer', 'Deno', 'Bun', '__dirname', '__filename', 'require', 'global']
const TIME = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'Date.now',
  'performance.now',
  'new Date()',
  'AbortSignal.timeout',
]

/**
 * Checks files, given with their text by path from the top, such as `lib/core/errors.ts`. Returns one line per
 * violation.
 */
export function checkLayers(files: ReadonlyMap<string, string>): string[] {
  const facts = new Map([...files].map(([path, text]) => [path, readFacts(path, text)]))
  const problems: string[] = []
  for (const [path, fact] of facts) {
    const report = (line: number, what: string): void => void problems.push(`${path}:${line} ${what}`)
    for (const each of fact.imports) checkImport(path, each, files, report)
    for (const use of fact.uses) checkUse(path, use, report)
    if (path !== 'mod.ts' && !path.endsWith('/mod.ts') && fact.exports.includes('*')) report(1, 'exports *: a barrel')
  }
  return [...problems, ...cycles(facts), ...checkMod(facts.get('mod.ts'))]
}

/** The maximum number of values in mod.ts. Types are not counted: every mentioned type must be exported. */
export const MAX_VALUES = 40

/** mod.ts only exports names. */
function checkMod(mod: SourceFacts | undefined): string[] {
  if (!mod) return ['mod.ts is missing']
  const problems: string[] = []
  if (mod.statements > 0) problems.push(`mod.ts has ${mod.statements} statements besides exports of names`)
  if (mod.exports.includes('*')) problems.push('mod.ts exports *: name each export')
  if (mod.values.length > MAX_VALUES) {
    problems.push(`mod.ts exports ${mod.values.length} values, more than ${MAX_VALUES}`)
  }
  const twice = mod.exports.filter((name, at) => mod.exports.indexOf(name) !== at)
  if (twice.length > 0) problems.push(`mod.ts exports twice: ${twice.join(', ')}`)
  return problems
}

function checkImport(
  path: string,
  fact: ImportFact,
  files: ReadonlyMap<string, string>,
  report: (line: number, what: string) => void,
): void {
  const { specifier, line, how } = fact
  if (specifier === undefined) {
    // Computed, so that no bundler follows it: client-node and files named by users.
    if (!['config', 'runtime', 'cli', 'testing'].includes(folderOf(path))) report(line, 'imports a computed name')
    return
  }
  if (specifier.startsWith('node:')) {
    if (folderOf(path) !== 'runtime' && path !== LAUNCHER) {
      report(line, `imports ${specifier}: node modules are for lib/runtime`)
    }
    return
  }
  if (specifier in OWN_NAMES) {
    if (rowOf(folderOf(path)) !== ROWS.length - 1) {
      report(line, `imports "${specifier}" by name: only ${ROWS.at(-1)?.join(', ')} may`)
    }
    if (OWN_NAMES[specifier] === `lib/${folderOf(path)}/mod.ts`) {
      report(line, `imports its own folder as "${specifier}"`)
    }
    return
  }
  if (!specifier.startsWith('.')) {
    const allowed = PACKAGES[specifier]
    if (how === 'type' && folderOf(path) === 'config' && specifier === '@kubernetes/client-node') return
    if (allowed === undefined) report(line, `imports the package "${specifier}"`)
    else if (allowed === 'dynamic' && how === 'static') {
      report(line, `imports "${specifier}" statically: import it dynamically`)
    }
    return
  }
  const target = resolve(path, specifier)
  if (!/\.(ts|js)$/.test(specifier)) return report(line, `imports "${specifier}" without its extension`)
  if (!files.has(target)) return report(line, `imports ${target}, which does not exist`)
  const [from, to] = [folderOf(path), folderOf(target)]
  if (path === 'mod.ts') {
    if (rowOf(to) >= ROWS.findIndex((row) => row.includes('apiserver'))) {
      report(line, `mod.ts imports ${target}: it is an entry of its own`)
    }
    return
  }
  if (target === 'mod.ts') return report(line, 'imports mod.ts by path: the top row imports it by name')
  if (from === to) return checkInside(path, target, line, report)
  if (to in DOORS) return report(line, `imports ${target}: the way in is "kubeloop/${to}"`)
  if (SIDEWAYS[from]?.includes(to)) return
  const narrower = NARROWER[from]
  if (narrower && !narrower.includes(to)) {
    report(line, `${from} imports ${target}: it may use ${narrower.join(', ')} only`)
  } else if (rowOf(to) >= rowOf(from)) report(line, `${from} (row ${rowOf(from)}) imports ${target} (row ${rowOf(to)})`)
}

/** Checks an import from a file of a folder to another one of it. */
function checkInside(path: string, target: string, line: number, report: (line: number, what: string) => void): void {
  const rows = INSIDE[folderOf(path)]
  if (!rows) return
  const [from, to] = [roomOf(path), roomOf(target)]
  if (from === to) return
  const rank = (room: string): number => room === '' ? rows.length : rows.findIndex((row) => row.includes(room))
  if (rank(from) < 0 || rank(to) < 0) report(line, `${rank(from) < 0 ? from : to} is a folder without a row`)
  else if (rank(to) >= rank(from)) report(line, `${from} (row ${rank(from)}) imports ${target} (row ${rank(to)})`)
}

/** Returns the folder inside one of lib; empty for its own files. */
function roomOf(path: string): string {
  return /^lib\/\w+\/(\w+)\//.exec(path)?.[1] ?? ''
}

function checkUse(
  path: string,
  { name, line }: { name: string; line: number },
  report: (line: number, what: string) => void,
): void {
  const folder = folderOf(path)
  if (folder === 'runtime' || path === LAUNCHER) return
  if (RUNTIME_GLOBALS.includes(name)) report(line, `uses ${name}: runtime globals are for lib/runtime`)
  if (TIME.includes(name) && path !== 'lib/async/clock.ts' && path !== PAGE) {
    report(line, `uses ${name}: time is a parameter (Clock)`)
  }
  if (name === 'AbortSignal.any') report(line, 'uses AbortSignal.any: it leaks, see async/abort.ts')
}

/** Returns the import cycles, types included, each once. */
function cycles(facts: ReadonlyMap<string, SourceFacts>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const visit = (path: string, way: readonly string[]): void => {
    const at = way.indexOf(path)
    if (at >= 0) return void found.push(`cycle: ${[...way.slice(at), path].join(' → ')}`)
    if (done.has(path)) return
    for (const { specifier } of facts.get(path)?.imports ?? []) {
      const target = specifier === undefined
        ? undefined
        : specifier.startsWith('.')
        ? resolve(path, specifier)
        : OWN_NAMES[specifier]
      if (target !== undefined && facts.has(target)) visit(target, [...way, path])
    }
    done.add(path)
  }
  for (const path of facts.keys()) visit(path, [])
  return found
}

function folderOf(path: string): string {
  return /^lib\/([^/]+)\//.exec(path)?.[1] ?? ''
}

function rowOf(folder: string): number {
  const row = ROWS.findIndex((each) => each.includes(folder))
  return row < 0 ? Infinity : row
}

function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1)
}
