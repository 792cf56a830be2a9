/** Compares what was written with what was there: what an operator creates, changes, deletes and sets as status. */
import type { ApiObject } from 'kubeloop/apiserver'
import { jsonEqual } from '../../core/equal.ts'
import { yamlText } from '../../core/yaml.ts'
import type { Written } from './mirror.ts'
import { masked } from './redacted.ts'

/** `replace`: deleted, and created again. `status`: nothing but the status differs. */
export type Action = 'create' | 'change' | 'delete' | 'replace' | 'status'

/** What differs of an object, without what the server alone sets. */
export interface Difference {
  readonly action: Action
  /** Undefined for a create. */
  readonly before: ApiObject | undefined
  /** Undefined for a delete, unless finalizers keep the object. */
  readonly after: ApiObject | undefined
}

/** What the server sets alone. */
const SERVERS = ['resourceVersion', 'generation', 'managedFields']
const OF_CREATE = [...SERVERS, 'uid', 'creationTimestamp']

/** Returns what differs; undefined if nothing does. */
export function differenceOf(
  { before, after, isBuiltIn }: Pick<Written, 'before' | 'after' | 'isBuiltIn'>,
): Difference | undefined {
  if (!before) {
    if (!after) return undefined
    const created = cleaned(after, OF_CREATE)
    // The server sets the status of its own kinds.
    if (isBuiltIn) delete created['status']
    return { action: 'create', before, after: callsOperator(after) ? withoutAddresses(created) : created }
  }
  if (!after) return { action: 'delete', before: cleaned(before, SERVERS), after: undefined }
  const known = callsOperator(after) ? withoutAddresses : (object: ApiObject): ApiObject => object
  const [old, now] = [before, after].map((each) => known(cleaned(each, SERVERS))) as [ApiObject, ApiObject]
  if (jsonEqual(old, now)) return undefined
  const action = old.metadata.uid !== now.metadata.uid
    ? 'replace'
    : now.metadata.deletionTimestamp && !old.metadata.deletionTimestamp
    ? 'delete'
    : jsonEqual({ ...old, status: undefined }, { ...now, status: undefined })
    ? 'status'
    : 'change'
  return { action, before: old, after: now }
}

/** Returns an object without these fields of its metadata. */
export function cleaned({ metadata, ...object }: ApiObject, fields: readonly string[]): ApiObject {
  const kept = Object.fromEntries(Object.entries(metadata).filter(([field]) => !fields.includes(field)))
  return { ...object, metadata: kept } as ApiObject
}

/** The address of an operator that serves its webhooks in memory. */
const IN_MEMORY = 'https://127.0.0.1:0/'

interface CallingObject {
  readonly webhooks?: readonly { readonly clientConfig?: { readonly url?: string } }[]
  readonly spec?: { readonly conversion?: { readonly webhook?: { readonly clientConfig?: { readonly url?: string } } } }
}

/** Returns whether an object has webhooks of the operator, whose address and CA only its server in a cluster knows. */
export function callsOperator(object: ApiObject | undefined): boolean {
  const { webhooks = [], spec } = (object ?? {}) as CallingObject
  return [...webhooks, spec?.conversion?.webhook].some((each) => each?.clientConfig?.url?.startsWith(IN_MEMORY))
}

function withoutAddresses(object: ApiObject): ApiObject {
  // A schema may have a field of this name.
  const isAddress = (key: string, value: unknown): boolean =>
    key === 'clientConfig' && Object.keys(value as object).every((each) => /^(?:url|service|caBundle)$/.test(each))
  return JSON.parse(JSON.stringify(object, (key, value) => isAddress(key, value) ? undefined : value)) as ApiObject
}

/** Returns the lines of YAML that differ; all lines without one of both objects. Values of Secrets are hidden. */
export function changedLines(before: ApiObject | undefined, after: ApiObject | undefined): string[] {
  const linesOf = (object: ApiObject | undefined, other: ApiObject | undefined, side: 'before' | 'after'): string[] =>
    object ? yamlText(masked(object, other, side)).trimEnd().split('\n') : []
  return lineDifference(linesOf(before, after, 'before'), linesOf(after, before, 'after'))
}

/** Returns the lines that differ, each after `+ ` or `- `, with the lines around them after two spaces. */
export function lineDifference(before: readonly string[], after: readonly string[], around = 2): string[] {
  const lines = mergedLines(before, after)
  const shown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(([sign]) => sign !== ' ')
  )
  return lines.flatMap(([sign, text], at) => {
    if (shown[at]) return [`${sign} ${text}`]
    return shown[at - 1] && shown.includes(true, at) ? ['  …'] : []
  })
}

type Line = readonly [sign: ' ' | '+' | '-', text: string]

/** Above so many pairs of lines, all lines between the first and the last difference are taken to differ. */
const MAX_PAIRS = 4_000_000

/** Returns all lines of both texts in one order, by their longest common subsequence. */
function mergedLines(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let [a, b] = [before.length, after.length]
  for (; a > start && b > start && before[a - 1] === after[b - 1]; a--) b--
  const [old, now] = [before.slice(start, a), after.slice(start, b)]
  const same = (lines: readonly string[]): Line[] => lines.map((text) => [' ', text])
  return [...same(before.slice(0, start)), ...middle(old, now), ...same(before.slice(a))]
}

function middle(old: readonly string[], now: readonly string[]): Line[] {
  const removed = old.map((text): Line => ['-', text])
  const added = now.map((text): Line => ['+', text])
  if (old.length * now.length > MAX_PAIRS) return [...removed, ...added]
  // The length of the longest common subsequence of what follows each pair of places.
  const width = now.length + 1
  const common = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      common[i * width + j] = old[i] === now[j]
        ? common[(i + 1) * width + j + 1]! + 1
        : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
    }
  }
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      lines.push([' ', old[i++]!])
      j++
    } else if (common[(i + 1) * width + j]! >= common[i * width + j + 1]!) lines.push(removed[i++]!)
    else lines.push(added[j++]!)
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)]
}
