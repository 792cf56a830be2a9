/** Manifests: files of JSON or YAML to the objects in them. */
import { readSimpleYaml } from '../config/simple_yaml.ts'
import { messageOf } from '../core/errors.ts'
import { readTextIfExists } from '../runtime/os/files.ts'
import { readInput } from '../runtime/os/user_files.ts'

/** What an object in a manifest must have. */
export interface ManifestObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

export interface Manifest {
  /** The file as it was given. */
  readonly name: string
  /** Where its objects go, as the operator names it. Default: the operator's own cluster. */
  readonly cluster?: string
  readonly objects: readonly ManifestObject[]
}

/** The name of a cluster before a file's: `west=objects.yaml`. A file that is called so is given as `./west=objects.yaml`. */
const IN_CLUSTER = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)=(.+)$/

/** Every manifest, read before anything is started: a mistake in one is said at once. */
export async function readManifests(files: readonly string[]): Promise<Manifest[]> {
  const manifests: Manifest[] = []
  for (const given of files) {
    const { cluster, file } = placeOf(given)
    const [name, text] = file === '-' ? ['standard input', await readInput()] : [file, await readTextIfExists(file)]
    if (text === undefined) throw new Error(`Cannot read ${name}: there is no such file`)
    manifests.push({ name, ...(cluster && { cluster }), objects: await parseManifest(text, name) })
  }
  return manifests
}

function placeOf(given: string): { readonly cluster: string | undefined; readonly file: string } {
  const [, cluster, file = given] = IN_CLUSTER.exec(given) ?? []
  return { cluster, file }
}

/** Returns the file of a manifest as `--apply` takes it; undefined for standard input. */
export function manifestFile(given: string): string | undefined {
  const { file } = placeOf(given)
  return file === '-' ? undefined : file
}

/** The objects of a manifest, those of a List one by one. @throws Error that names the file and the document. */
export async function parseManifest(text: string, file: string): Promise<ManifestObject[]> {
  const documents = await readDocuments(text, file)
  const objects = documents.flatMap((document, at) =>
    objectsOf(document, documents.length > 1 ? `document ${at + 1} ` : 'it ', file)
  )
  if (objects.length === 0) throw new Error(`Cannot read ${file}: there is no object in it`)
  return objects
}

/** Every document that is not empty. */
async function readDocuments(text: string, file: string): Promise<unknown[]> {
  if (text.trimStart().startsWith('{')) {
    try {
      return [JSON.parse(text)]
    } catch {
      // YAML's flow style begins like JSON; the parser that knows both says what is wrong.
    }
  }
  const isThere = (document: unknown): boolean => document !== null && document !== undefined
  // A flow collection may end at any indentation, as kubectl has it; js-yaml refuses that.
  const simple = text.split(/^--- *$/m).map(readSimpleYaml)
  const read = simple.flatMap((each) => 'document' in each ? [each.document] : [])
  if (read.length === simple.length) return read.filter(isThere)
  const { CORE_SCHEMA, loadAll, mergeTag } = await import('js-yaml')
  try {
    return (loadAll(text, { schema: CORE_SCHEMA.withTags(mergeTag) }) as unknown[]).filter(isThere)
  } catch (error) {
    // The parser quotes the lines around the mistake below its first line.
    throw new Error(`Cannot read ${file}: it is not valid YAML or JSON: ${messageOf(error).split('\n')[0]}`, {
      cause: error,
    })
  }
}

function objectsOf(document: unknown, which: string, file: string): ManifestObject[] {
  const wrong = (what: string): Error => new Error(`Cannot read ${file}: ${which}${what}`)
  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw wrong('is no object')
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
