/** Names the packages whose code is in the files of dist: for scanners, for their licenses, and for users. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './tree.ts'

export interface BundledPackage {
  readonly name: string
  readonly version: string
  /** An identifier of SPDX. */
  readonly license: string
  /** The files of dist with its code, sorted. Chunks, whose names change with each build, are `chunk-*.js`. */
  readonly files: readonly string[]
}

/** The part of esbuild's metafile that is read here. */
export interface Metafile {
  readonly outputs: Readonly<
    Record<string, { readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>
  >
}

/** Collects the packages in the outputs of several runs of the bundler. */
export class BundledPackages {
  readonly #files = new Map<string, Set<string>>()

  add({ outputs }: Metafile): void {
    for (const [output, { inputs }] of Object.entries(outputs)) {
      for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
        const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(input)?.[1]
        if (name === undefined || bytesInOutput === 0) continue
        this.#files.set(name, (this.#files.get(name) ?? new Set()).add(stableName(output)))
      }
    }
  }

  all(): BundledPackage[] {
    return [...this.#files].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, files]) => {
      const { version, license } = manifestOf(name)
      return { name, version, license, files: [...files].toSorted() }
    })
  }
}

function manifestOf(name: string): { readonly version: string; readonly license: string } {
  const { version, license } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as {
    version?: string
    license?: string
  }
  if (!version || !license) throw new Error(`Cannot name ${name} in bom.json: it states no version or no license`)
  return { version, license }
}

export function noticesOf(packages: readonly BundledPackage[]): string {
  const notices = packages.map(({ name, version, license, files }) => {
    const folder = join(ROOT, 'node_modules', name)
    const found = readdirSync(folder).filter((file) => /^(?:licen[cs]e|notice)/i.test(file))
    if (found.length === 0) throw new Error(`Cannot bundle ${name}: its package has no license text`)
    const texts = found.map((file) => readFileSync(join(folder, file), 'utf8').trim())
    return [`${name} ${version} (${license}), in ${files.join(', ')}`, ...texts].join('\n\n')
  })
  return `${['kubeloop contains code of these packages.', ...notices].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

/**
 * Returns bom.json, the same for the same packages: it has no time and no serial number.
 *
 * @see https://cyclonedx.org/docs/1.6/json/
 */
export function bomOf(packages: readonly BundledPackage[], own: Omit<BundledPackage, 'files'>): object {
  const component = ({ name, version, license }: Omit<BundledPackage, 'files'>) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    return { type: 'library', 'bom-ref': purl, name, version, purl, licenses: [{ license: { id: license } }] }
  }
  const components = packages.map((each) => ({
    ...component(each),
    properties: each.files.map((value) => ({ name: 'kubeloop:file', value })),
  }))
  const top = component(own)
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: top },
    components,
    dependencies: [
      { ref: top['bom-ref'], dependsOn: components.map((each) => each['bom-ref']) },
      ...components.map((each) => ({ ref: each['bom-ref'] })),
    ],
  }
}

/** Returns the name of a file of dist without the hash of a chunk. */
export function stableName(path: string): string {
  return path.split('/').at(-1)!.replace(/^chunk-\w+/, 'chunk-*')
}

export function bundledRows(packages: readonly BundledPackage[]): string[] {
  return packages.map(({ name, version, license, files }) =>
    `| ${name} | ${version} | ${license} | ${files.map((file) => `\`${file}\``).join(', ')} |`
  )
}
