/**
 * The reference model: which objects an operator of a drawing may change, and what the cluster must look like when it
 * is at rest. It knows the options and what people did, and nothing of how an operator works.
 */
import type { KubeObject } from 'kubeloop'
import type { Drawing } from './options.ts'
import { DEFAULTED, finalizersOf, type Foo, type Key, NAMED, passes, TERMINAL } from './subject.ts'

/** What people did to the object of a key. */
export interface Known {
  /** The label that selects. */
  labelled: boolean
  /** Its namespace has the label that selects. */
  inTeam: boolean
  /** Whether the description has selected it at any time. */
  wasSelected: boolean
  value: string
  /** It has passed the filter at any time. */
  passed: boolean
  /** Another source than the kind itself has named it. */
  named: boolean
  /** Its Service was changed by others. */
  drifted: boolean
  /** It was deleted at any time in a way that keeps its dependents. */
  orphaned: boolean
  /** Its Service has lost its owner at any time. */
  disowned: boolean
  /** The same while a watch may be late: if it never had the owner, nothing tells the owner. */
  unowned: boolean
  /** The cluster was set back: what is not watched may be as it was before. */
  restored: boolean
  /** The Service that others have labelled, by its uid. */
  tagged: string | undefined
  /** It had a copy when its namespace left the selection, which deletes nothing. */
  copied: boolean
  /** When it was deleted, or left the selection, by the clock of the world. */
  goneMs: number
  /** When something happened after which it must be reconciled, by the clock of the world. */
  dueMs: number
}

/** The objects of a key when the operator is at rest. */
export interface Found {
  readonly foo: Foo | undefined
  readonly service: KubeObject | undefined
  readonly generated: readonly KubeObject[]
  /** The object that both controllers write. */
  readonly shared: KubeObject | undefined
  /** The copy that a controller by keys keeps while the object is there. */
  readonly mirror: KubeObject | undefined
  /** When the first run since it was due began, by the clock of the world; Infinity if none did. */
  readonly ranMs: number
  /** Whether that was as soon as it must be. */
  readonly isSoon: boolean
  /** When the faults have ended, by the clock of the world: what was deleted since then is noticed. */
  readonly clearMs: number
}

const dataOf = (map: KubeObject | undefined) => (map as { data?: Record<string, string> } | undefined)?.data ?? {}

/** The labels of an object and of its namespace. */
type Labels = Pick<Known, 'labelled' | 'inTeam'>

/** Whether the description selects an object with such labels. */
export function selects(draw: Drawing, key: Key, labels: Labels): boolean {
  const { namespace, name } = key
  if (draw.fields && name === 'y') return false
  // The namespaces of a kind take the place of those of the operator.
  if (!isIn(draw.spaces === 'all' ? draw.commonSpaces : draw.spaces, key, labels)) return false
  const byLabel = draw.labels || (draw.spaces === 'record' && namespace === 'b') ||
    (draw.spaces === 'others' && namespace === 'a')
  return !byLabel || labels.labelled
}

/** Whether kinds without options of their own are watched in this namespace. */
export function isCommon({ commonSpaces }: Drawing, key: Key, labels: Labels): boolean {
  return isIn(commonSpaces, key, labels)
}

/** Whether the Service of an object is watched. */
export function isServed(draw: Drawing, key: Key, labels: Labels): boolean {
  return draw.services === 'list' ? key.namespace === 'a' : isCommon(draw, key, labels)
}

function isIn(spaces: Drawing['spaces'], { namespace }: Key, { inTeam }: Labels): boolean {
  return spaces === 'list' ? namespace === 'a' : spaces !== 'by labels' || inTeam
}

/** Returns why a write to an object of a key is wrong. */
export function wrongWrite(draw: Drawing, key: Key, known: Known | undefined): string | undefined {
  if (!known) return 'an object that nobody made'
  if (!known.wasSelected) return 'an object that the description does not select'
  return mayRun(draw, key, known) ? undefined : 'an object that never passed the filter'
}

/** Whether anything may cause a run: its own changes, or another source. */
function mayRun(draw: Drawing, key: Key, known: Known): boolean {
  return draw.filter === 'none' || known.passed || isNamed(draw, key, known)
}

function isNamed(draw: Drawing, { namespace, name }: Key, { named }: Pick<Known, 'named'>): boolean {
  return named || (draw.source === 'every with keys' && namespace === NAMED.namespace && name === NAMED.name)
}

/**
 * Returns what is wrong with the objects of a key at rest. `isCertain`: no request had an unknown outcome, so nothing
 * was made twice.
 */
export function judged(
  draw: Drawing,
  key: Key,
  known: Known | undefined,
  { foo, service, generated, shared, mirror, ranMs, isSoon, clearMs }: Found,
  isCertain: boolean,
): string[] {
  const wrong: string[] = []
  const expect = (holds: boolean, what: string): void => {
    if (!holds) wrong.push(`${key.namespace}/${key.name}: ${what}`)
  }
  // One that no replica has seen deleted is in no list.
  const hasCopy = mirror !== undefined && known !== undefined && known.goneMs > clearMs
  if (!foo || !known) {
    expect(!hasCopy, 'the copy of one that is gone')
    const isLeft = generated.length > 0 || (service && !known?.disowned) || shared
    expect(!isLeft || known?.orphaned === true, 'objects of one that is gone')
    return wrong
  }
  const { metadata, status, spec } = foo
  const finalizers = finalizersOf(draw)
  const isSelected = selects(draw, key, known)
  const isTouched = service !== undefined || status?.conditions !== undefined || generated.length > 0 ||
    finalizers.some((each) => metadata.finalizers?.includes(each))
  if (!known.wasSelected) expect(!isTouched, 'touched, but not selected')
  else if (!mayRun(draw, key, known)) expect(!isTouched, 'touched, but never passed')
  expect(metadata.annotations?.['kept'] === 'yes', 'its annotation was lost')
  expect(spec.note === 'kept', 'its note was lost')
  expect(
    known.value !== '' || spec.value === (draw.admission === 'default' && draw.place === 'own' ? DEFAULTED : ''),
    'its value',
  )
  if (!isSelected) {
    expect(!hasCopy, 'the copy of one that is not selected any more')
    expect(!known.copied || mirror !== undefined, 'no copy, as if it were deleted with its namespace')
    return wrong
  }
  expect(metadata.deletionTimestamp === undefined, 'its finalizer was not removed')
  // What does not pass now may be as it was before.
  if (metadata.deletionTimestamp || (draw.filter !== 'none' && !passes(foo))) return wrong
  expect(finalizers.every((each) => metadata.finalizers?.includes(each)), 'no finalizer')
  expect(isSoon, `it needed a run at ${known.dueMs}, and the next began at ${ranMs}`)
  if (spec.value === TERMINAL) return wrong
  const types = status?.conditions?.map(({ type }) => type).sort().join()
  expect(types === (draw.second === 'none' ? 'First' : 'First,Second'), `conditions ${types}`)
  if (draw.annotates) expect(metadata.annotations?.['seen'] === spec.value, `seen is ${metadata.annotations?.['seen']}`)
  if (draw.shares && !known.restored) {
    const data = Object.entries(dataOf(shared)).sort().join()
    const second = draw.second === 'none' ? '' : `,second,${spec.value}`
    expect(data === `first,${spec.value}${second}`, `the shared object has ${data}`)
  }
  if (draw.second === 'by key' && !known.restored) {
    expect(dataOf(mirror)['value'] === spec.value, `its copy has ${dataOf(mirror)['value']}`)
  }
  const { uid, labels } = service?.metadata ?? {}
  expect(known.tagged === undefined || known.tagged !== uid || labels?.['tag'] === 'yes', 'a label of others was lost')
  if (draw.generated) {
    expect(generated.length > 0 || known.restored, 'no generated object')
    if (isCertain && !known.orphaned) expect(generated.length < 2, `${generated.length} generated objects`)
  }
  const isOwned = draw.owns !== 'none' && isServed(draw, key, known)
  const isTimed = draw.requeues || draw.source === 'every' ||
    (draw.source === 'every with keys' && isNamed(draw, key, { named: false }))
  if (!known.drifted || (isOwned && !known.unowned) || isTimed) {
    const selector = (service as { spec?: { selector?: object } } | undefined)?.spec?.selector
    expect(JSON.stringify(selector) === JSON.stringify({ app: spec.value }), `Service ${JSON.stringify(selector)}`)
    expect(labels?.['drawn'] === 'yes', 'no label of the operator')
    expect(service?.metadata.ownerReferences?.some((owner) => owner.uid === metadata.uid) === true, 'no owner')
  }
  return wrong
}
