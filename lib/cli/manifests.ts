/** Reads and writes manifests: objects in files of JSON or YAML. */
import type { Json } from 'kubeloop/apiserver'
import { readYaml, yamlText } from '../core/yaml.ts'
import { messageOf } from '../core/errors.ts'
import type { AccountObject } from '../rights/account.ts'
import { exists, readText, readTextIfExists } from '../runtime/os/files.ts'
import { readInput, writtenBelow } from '../runtime/os/user_files.ts'

export interface ManifestObject extends AccountObject {
  readonly metadata: AccountObject['metadata'] & { readonly annotations?: Readonly<Record<string, string>> }
}

export interface Manifest {
  /** The file, as the user wrote it. */
  readonly name: string
  /** The operator's name of the cluster of its objects. Default: the operator's own cluster. */
  readonly cluster?: string
  readonly objects: readonly ManifestObject[]
}

/** Returns objects as documents of YAML, as kubectl prints them. */
export function manifestText(objects: readonly object[]): string {
  // Without undefined fields, which YAML does not have.
  return objects.map((each) => yamlText(JSON.parse(JSON.stringify(each)) as Json)).join('---\n')
}

/** A cluster's name before a file: `west=objects.yaml`. A file with such a name is given as `./west=objects.yaml`. */
const IN_CLUSTER = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)=(.+)$/

/** @throws Error if a file does not exist, or as {@link parseManifest} does. */
export async function readManifests(files: readonly string[]): Promise<Manifest[]> {
  const manifests: Manifest[] = []
  for (const given of files) {
    const { cluster, file } = placeOf(given)
    const [name, text] = file === '-' ? ['standard input', await readInput()] : [file, await readTextIfExists(file)]
    if (text === undefined) throw new Error(`Cannot read ${name}: there is no such file`)
    manifests.push({ name, ...(cluster && { cluster }), objects: parseManifest(text, name) })
  }
  return manifests
}

/**
 * Reads the manifests at a path: a file, "-", or a folder with those of its .yaml, .yml and .json files that mention
 * one of the kinds. It may also hold templates, and files of other tools.
 *
 * @throws Error that begins with `cannot` if there is no such file, or as {@link parseManifest} does.
 */
export async function readManifestsAt(path: string, kinds: RegExp, cannot: string): Promise<Manifest[]> {
  const isThere = path === '-' || await exists(path)
  if (!isThere) throw new Error(`${cannot}: there is no such file or folder`)
  const isWanted = (name: string, isFolder: boolean): boolean =>
    isFolder ? !name.startsWith('.') && name !== 'node_modules' : /\.(?:ya?ml|json)$/.test(name)
  const below = path === '-' ? [] : [...(await writtenBelow(path, isWanted)).keys()].toSorted()
  const manifests: Manifest[] = []
  for (const name of below) {
    const text = await readText(name)
    if (kinds.test(text)) manifests.push({ name, objects: parseManifest(text, name) })
  }
  if (below.length > 0) return manifests
  return await readManifests([path]).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 'EISDIR') throw error
    throw new Error(`${cannot}: there is no .yaml, .yml or .json file in it`)
  })
}

function placeOf(given: string): { readonly cluster: string | undefined; readonly file: string } {
  const [, cluster, file = given] = IN_CLUSTER.exec(given) ?? []
  return { cluster, file }
}

/** Returns the file in an argument of `--apply`; undefined for standard input. */
export function manifestFile(given: string): string | undefined {
  const { file } = placeOf(given)
  return file === '-' ? undefined : file
}

/** Returns all objects, also of Lists. @throws Error with file and document if one is invalid, or there is none. */
export function parseManifest(text: string, file: string): ManifestObject[] {
  const documents = readDocuments(text, file)
  const objects = documents.flatMap((document, at) =>
    objectsOf(document, documents.length > 1 ? `document ${at + 1} ` : 'it ', file)
  )
  if (objects.length === 0) throw new Error(`Cannot read ${file}: there is no object in it`)
  return objects
}

function readDocuments(text: string, file: string): unknown[] {
  try {
    return readYaml(text).filter((document) => document !== null && document !== undefined)
  } catch (error) {
    // The first line of the message has the mistake; the next ones quote the text around it.
    throw new Error(`Cannot read ${file}: it is not valid YAML or JSON: ${messageOf(error).split('\n')[0]}`, {
      cause: error,
    })
  }
}

function objectsOf(document: unknown, which: string, file: string): ManifestObject[] {
  const wrong = (what: string): Error => new Error(`Cannot read ${file}: ${which}${what}`)
  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw wrong('is not an object')
  const { apiVersion, kind, metadata, items } = document as Record<string, unknown>
  if (typeof apiVersion !== 'string' || apiVersion === '') throw wrong('has no apiVersion')
  if (typeof kind !== 'string' || kind === '') throw wrong('has no kind')
  if (kind === 'List' && Array.isArray(items)) {
    return items.flatMap((item, at) => objectsOf(item, `item ${at + 1} `, file))
  }
  const { name } = (typeof metadata === 'object' && metadata !== null ? metadata : {}) as { name?: unknown }
  if (typeof name !== 'string' || name === '') throw wrong(`(${kind}) has no metadata.name`)
  return [document as ManifestObject]
}
