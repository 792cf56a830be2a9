/** Tells which fields of an object an apply would remove, from the object's managedFields. */
import { firstOf } from '../core/errors.ts'
import type { KubeObject } from '../core/objects.ts'
import { isMissingObject } from './codec.ts'

/** The part of an entry of `metadata.managedFields` that counts here. */
interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly apiVersion?: string
  readonly subresource?: string
  readonly fieldsV1?: FieldSet
}

/** @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/#System */
interface FieldSet {
  readonly [path: string]: FieldSet
}

/** The maximum number of fields in an error. */
const MAX_LOST = 5

/** Throws if the object that `read` gets would lose fields by an apply of `desired`, and names both that applied. */
export async function refuseLoss(
  read: () => Promise<KubeObject>,
  desired: object,
  { action, manager, writer, others }: {
    readonly action: string
    readonly manager: string
    readonly writer: string
    readonly others: readonly string[]
  },
): Promise<void> {
  const current = await read().catch((error: unknown) => {
    if (!isMissingObject(error)) throw error
  })
  const lost = current ? lostFields(current, desired, manager) : []
  if (lost.length === 0) return
  const fields = firstOf(lost, MAX_LOST).join(', ')
  const own = `{ fieldManager: '${manager}-${/"(.*)"/.exec(writer)![1]}' }`
  throw new Error(
    `Cannot ${action} by ${writer}: it would remove ${fields}, which ${
      others.join(' and ')
    } applied by the same field manager ` +
      `"${manager}"; give one of them another fieldManager: ` +
      (writer.startsWith('task') ? `client.apply(Kind, object, ${own})` : `app.controllerFor(Kind, ${own})`),
  )
}

/**
 * Returns the fields that `current` would lose by an apply of `desired`: those that the manager's last apply stated,
 * `desired` does not, and no other manager owns. Empty if the manager's last apply was of another version.
 */
export function lostFields(current: KubeObject, desired: object, manager: string): string[] {
  const { managedFields = [] } = current.metadata as { readonly managedFields?: readonly ManagedFields[] }
  const isOwn = (entry: ManagedFields): boolean =>
    entry.manager === manager && entry.operation === 'Apply' && !entry.subresource
  const own = managedFields.find(isOwn)
  if (!own?.fieldsV1 || own.apiVersion !== current.apiVersion) return []
  const others = managedFields.flatMap((entry) => isOwn(entry) ? [] : entry.fieldsV1 ?? [])
  return [...missing(own.fieldsV1, [desired], others, '')]
}

/** Yields the paths that `desired`, one value or none, lacks. A missing field is not followed further. */
function* missing(
  fields: FieldSet,
  desired: readonly unknown[],
  others: readonly FieldSet[],
  path: string,
): Generator<string> {
  for (const [step, below] of Object.entries(fields)) {
    if (step === '.') continue
    const found = childOf(desired[0], step)
    const owners = others.flatMap((set) => set[step] ?? [])
    if (found.length > 0) yield* missing(below, found, owners, path + nameOf(step, path))
    else if (owners.length === 0) yield path + nameOf(step, path)
  }
}

/** Returns the value at a step of a path; empty if there is none. */
function childOf(value: unknown, step: string): readonly unknown[] {
  const text = step.slice(2)
  if (step.startsWith('f:')) {
    const isOwn = typeof value === 'object' && value !== null && Object.hasOwn(value, text)
    return isOwn && value[text as never] !== undefined ? [value[text as never]] : []
  }
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  if (step.startsWith('i:')) return items.slice(Number(text), Number(text) + 1)
  const wanted: unknown = JSON.parse(text)
  if (step.startsWith('v:')) return items.filter((item) => item === wanted).slice(0, 1)
  // The server fills in keys that have a default, such as the protocol of a port.
  const isItem = (item: unknown): boolean =>
    Object.entries(wanted as object).every(([key, value]) => [value, undefined].includes((item as never)?.[key]))
  return items.filter(isItem).slice(0, 1).map((item) => ({ ...(wanted as object), ...(item as object) }))
}

function nameOf(step: string, path: string): string {
  const text = step.slice(2)
  return step.startsWith('f:') ? `${path && '.'}${text}` : `[${text}]`
}
