/** The manifests of public projects, from their modules in the Go proxy: go.mod has the versions. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CORE_SCHEMA, loadAll } from 'js-yaml'

// deno-lint-ignore no-explicit-any -- manifests of others
export type Manifest = any

export interface Project {
  readonly name: string
  readonly definitions: readonly Manifest[]
  readonly objects: readonly Manifest[]
}

const FOLDER = import.meta.dirname

/** Files of tools: values of templates, workflows, rules of linters. */
const NOT_MANIFESTS = /(?:^|\/)(?:\.github|vendor|node_modules|templates)\//

/** Returns the modules of go.mod, such as `istio.io/api@v1.32.0`. */
export function modules(): string[] {
  return [...readFileSync(join(FOLDER, 'go.mod'), 'utf8').matchAll(/^\t(\S+) (v\S+)$/gm)].map(([, name, version]) =>
    `${name}@${version}`
  )
}

/** Downloads a module, if it is not there yet, and reads its manifests. `each`: the objects of a kind that are kept. */
export function readProject(module: string, each: number): Project {
  const answer = execFileSync('go', ['mod', 'download', '-json', module], { cwd: FOLDER, encoding: 'utf8' })
  const { Dir: folder } = JSON.parse(answer) as { Dir: string }
  const seen = new Set<string>()
  const counts = new Map<string, number>()
  const definitions: Manifest[] = []
  const objects: Manifest[] = []
  for (const manifest of manifestsIn(folder)) {
    const hash = createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
    if (seen.has(hash)) continue
    seen.add(hash)
    if (manifest.kind === 'CustomResourceDefinition') {
      if (manifest.apiVersion === 'apiextensions.k8s.io/v1') definitions.push(manifest)
      continue
    }
    const kind = `${manifest.apiVersion}/${manifest.kind}`
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    if (count <= each) objects.push(manifest)
  }
  return { name: module, definitions, objects }
}

function* manifestsIn(folder: string): Generator<Manifest> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  const paths = files.map(({ parentPath, name }) => join(parentPath, name))
  for (const path of paths.filter((each) => /\.ya?ml$/.test(each) && !NOT_MANIFESTS.test(each)).toSorted()) {
    const text = readFileSync(path, 'utf8')
    if (!/^kind:/m.test(text) || text.includes('{{')) continue
    let documents: Manifest[] = []
    try {
      documents = loadAll(text, { schema: CORE_SCHEMA }) as Manifest[]
    } catch {
      // A file that is wrong on purpose.
    }
    for (const each of documents) yield* flat(each)
  }
}

function* flat(document: Manifest): Generator<Manifest> {
  if (document?.kind === 'List' && Array.isArray(document.items)) {
    for (const each of document.items) yield* flat(each)
  } else if (typeof document?.apiVersion === 'string' && typeof document.kind === 'string' && document.metadata) {
    yield document
  }
}
