/** `kubeloop crd FILE --check PATH`: compares committed definitions with those of the operator. */
import { isFields } from '../../core/clone.ts'
import { CRD, type CustomResourceDefinition } from '../../core/resource.ts'
import { type ManifestObject, readManifestsAt } from '../manifests.ts'
import { type CommittedCrd, configurationChanges, type CrdChange, crdChanges } from './changes.ts'

interface Committed {
  readonly file: string
  readonly object: ManifestObject
}

const WEBHOOKS = /^(?:Mutating|Validating)WebhookConfiguration$/

/**
 * Compares the objects that `kubeloop crd` prints with the objects of a file or folder. Resolves with the differences,
 * and with the number of differences that break, or may break, stored objects or clients.
 *
 * @throws Error if nothing is at the path, a file cannot be read, an object is there twice, or there is no definition.
 */
export async function checkCommitted(
  objects: readonly object[],
  path: string,
): Promise<{ readonly lines: readonly string[]; readonly breaking: number }> {
  const committed = await readCommitted(path)
  const found: { readonly title: string; readonly changes: readonly CrdChange[] }[] = []
  const names = new Set<string>()
  const groups = new Set<string>()
  const hasWebhooks = committed.some(({ object }) => WEBHOOKS.test(object.kind))
  for (const object of objects as readonly ManifestObject[]) {
    const { kind, metadata: { name } } = object
    const isCrd = kind === CRD.kind
    if (!isCrd && !hasWebhooks) continue
    names.add(`${kind} ${name}`)
    if (isCrd) groups.add(groupOf(name))
    const there = committed.find((each) => each.object.kind === kind && each.object.metadata.name === name)
    const title = `${there?.file ?? path}: ${isCrd ? name : `${kind} ${name}`}`
    if (!there) found.push({ title, changes: [{ text: 'is missing' }] })
    else if (!isCrd) found.push({ title, changes: configurationChanges(there.object, object) })
    else {
      const changes = crdChanges(committedCrd(there), object as unknown as CustomResourceDefinition)
      found.push({ title, changes })
    }
  }
  // Those of other operators may be in the same folder.
  for (const { file, object } of committed) {
    const { kind, metadata: { name } } = object
    if (names.has(`${kind} ${name}`) || !groupsOf(object).some((group) => groups.has(group))) continue
    const [title, effect] = kind === CRD.kind
      ? [name, 'deleting it deletes its objects']
      : [`${kind} ${name}`, 'writes that nothing answers are refused']
    found.push({ title: `${file}: ${title}`, changes: [{ text: 'is not defined by the operator', effect }] })
  }
  const all = found.flatMap(({ title, changes }) => changes.map((change) => ({ title, ...change })))
  return {
    lines: all.map(({ title, text, effect }) => `${title} ${text}${effect ? ` (${effect})` : ''}`),
    breaking: all.filter(({ effect }) => effect).length,
  }
}

interface Configuration {
  readonly webhooks?:
    | readonly { readonly rules?: readonly { readonly apiGroups?: readonly string[] }[] | null }[]
    | null
}

/** Returns the group of a definition, or those whose objects the webhooks of a configuration see. */
function groupsOf(object: ManifestObject): readonly string[] {
  if (object.kind === CRD.kind) return [groupOf(object.metadata.name)]
  const { webhooks } = object as Configuration
  return (webhooks ?? []).flatMap(({ rules }) => (rules ?? []).flatMap(({ apiGroups }) => apiGroups ?? []))
}

function groupOf(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}

async function readCommitted(path: string): Promise<readonly Committed[]> {
  const cannot = (why: string): Error => new Error(`Cannot check ${path}: ${why}`)
  const manifests = await readManifestsAt(path, MENTIONED, `Cannot check ${path}`)
  const committed = manifests.flatMap(({ name: file, objects }) =>
    objects.filter(({ kind }) => kind === CRD.kind || WEBHOOKS.test(kind)).map((object) => ({ file, object }))
  )
  for (const [at, { file, object: { kind, metadata: { name } } }] of committed.entries()) {
    const other = committed.slice(0, at).find(({ object }) => object.kind === kind && object.metadata.name === name)
    if (!other) continue
    throw cannot(`${kind} "${name}" is in it twice${other.file === file ? '' : `, in ${other.file} and in ${file}`}`)
  }
  if (!committed.some(({ object }) => object.kind === CRD.kind)) {
    throw cannot('there is no CustomResourceDefinition in it')
  }
  return committed
}

const MENTIONED = /\bkind["']?: *["']?(?:CustomResourceDefinition|\w+WebhookConfiguration|List)\b/

/** Returns a definition whose parts can be compared. */
function committedCrd({ file, object }: Committed): CommittedCrd {
  const cannot = (why: string): Error => new Error(`Cannot check ${file}: ${object.metadata.name} ${why}`)
  const { spec } = object as { readonly spec?: { readonly versions?: unknown; readonly names?: unknown } }
  if (object.apiVersion !== `${CRD.group}/${CRD.version}`) {
    throw cannot(`is of ${object.apiVersion}, not of ${CRD.group}/${CRD.version}`)
  }
  if (!isFields(spec)) throw cannot('has no spec')
  if (!Array.isArray(spec.versions) || !spec.versions.every(isFields)) throw cannot('has no list of versions')
  if (!isFields(spec.names)) throw cannot('has no names')
  return object as unknown as CommittedCrd
}
