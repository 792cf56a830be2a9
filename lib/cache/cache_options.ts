/** The options of a cached kind: checks, defaults, and whether two declarations of a kind agree. */
import { jsonEqual } from '../core/equal.ts'
import { isDomainName } from '../core/names.ts'
import type { KubeObject } from '../core/objects.ts'
import { type AnyResource, groupResourceOf } from '../core/resource.ts'
import { parseLabelSelector } from '../core/selectors.ts'
import type { SelectOptions } from '../client/requests.ts'
import type { InformerOptions } from './informer.ts'

/** Which objects are stored, and which parts of them. */
export interface SelectionOptions extends SelectOptions {
  /** Removes parts of an object before it is stored, to save memory. */
  readonly strip?: ((object: KubeObject) => void) | undefined
}

/**
 * Selects Namespaces by their labels. The objects in a Namespace are watched from when it has the labels until it has
 * lost them, which deletes nothing: its keys are dropped, and a running reconcile ends as usual.
 */
export interface NamespaceSelection {
  readonly labels: string
}

/** What is stored of a kind. */
export interface CacheOptions extends SelectionOptions {
  /**
   * The watched namespaces, each with its own watch. A record gives each namespace its own selection; `*` (or '')
   * stands for all other namespaces. Empty: all namespaces. `{ labels: 'team=a' }` selects Namespaces with these
   * labels, which come and go; it is only for the caches of operators. Must be empty for cluster-scoped kinds.
   * Default: the namespaces of the cache.
   */
  readonly namespaces?: readonly string[] | NamespaceSelection | Readonly<Record<string, SelectionOptions>> | undefined
  /** `live`: the kind is watched for its events, but read from the server. Default: read from the cache. */
  readonly read?: 'live' | undefined
  /** Whether the operator sets `objects` for a kind whose objects are kept as bytes. */
  readonly compact?: boolean | undefined
  /** See {@link InformerOptions.objects}. */
  readonly objects?: InformerOptions['objects']
}

/** What one informer watches. Without a namespace it watches all of them. */
export interface Scope extends SelectionOptions {
  readonly namespace: string | undefined
}

/** The key for all namespaces that are not named, like AllNamespaces in controller-runtime. */
const OTHERS = '*'

/**
 * Returns what each informer of a kind watches. Each option comes from the first of these that has it: the namespace of
 * the kind, the kind, the same namespace of `common`, `common`. A kind without namespaces has those of `common`.
 *
 * @throws TypeError or Error if options contradict each other, or a namespace or a label selector is invalid.
 */
export function scopesOf(resource: AnyResource, own: CacheOptions, common: CacheOptions = {}): readonly Scope[] {
  const name = groupResourceOf(resource)
  const ownSpaces = checkOptions(name, own)
  if (resource.scope === 'Cluster') {
    if (ownSpaces && ownSpaces.size > 0) throw new Error(`Cannot cache ${name} in namespaces: it is cluster-scoped`)
    return [{ ...firstOf([own, common]), namespace: undefined }]
  }
  const commonSpaces = checkOptions(name, common)
  const named = [...(ownSpaces ?? commonSpaces)?.keys() ?? []]
  if (named.length === 0) named.push(OTHERS)
  const rest = named.filter((namespace) => namespace !== OTHERS).map((namespace) => `metadata.namespace!=${namespace}`)
  return named.map((namespace) => {
    const kept = firstOf([ownSpaces?.get(namespace) ?? {}, own, commonSpaces?.get(namespace) ?? {}, common])
    if (namespace !== OTHERS) return { ...kept, namespace }
    return { ...kept, fields: [kept.fields, ...rest].filter(Boolean).join(',') || undefined, namespace: undefined }
  })
}

/**
 * Returns the label selector of the Namespaces where a kind is watched, or undefined if they are stated. Then
 * {@link scopesOf} returns one scope, for each of these Namespaces.
 */
export function namespaceLabels(
  { scope }: AnyResource,
  own: CacheOptions,
  common: CacheOptions = {},
): string | undefined {
  return scope === 'Cluster' ? undefined : labelsOf(own.namespaces ?? common.namespaces)
}

/** Returns the label selector of namespaces that are selected by labels. A namespace may be called "labels". */
export function labelsOf(namespaces: CacheOptions['namespaces']): string | undefined {
  const { labels } = { ...namespaces } as { readonly labels?: unknown }
  return typeof labels === 'string' ? labels : undefined
}

/**
 * Returns the namespaces with their selections; undefined if `namespaces` is undefined. `what` names the kind in
 * errors.
 *
 * @throws TypeError or Error as {@link scopesOf}.
 */
export function checkOptions(
  what: string,
  { namespaces, ...options }: CacheOptions,
): ReadonlyMap<string, SelectionOptions> | undefined {
  const spaces = spacesOf(what, namespaces)
  for (const { labels } of [options, ...(spaces?.values() ?? [])]) if (labels !== undefined) parseLabelSelector(labels)
  return spaces
}

function spacesOf(what: string, namespaces: CacheOptions['namespaces']): Map<string, SelectionOptions> | undefined {
  if (namespaces === undefined) return undefined
  const isList = Array.isArray(namespaces)
  const cannot = `Cannot cache ${what} in`
  const selector = labelsOf(namespaces)
  if (selector !== undefined) {
    parseLabelSelector(selector)
    if (Object.keys(namespaces).length > 1) {
      throw new TypeError(
        `${cannot} namespaces: labels: ${JSON.stringify(selector)} selects Namespaces, and must stand alone; a ` +
          'namespace called "labels" has a selection: labels: {}',
      )
    }
    return new Map([[OTHERS, {}]])
  }
  if (isList && namespaces.includes('')) {
    throw new Error(`${cannot} a namespace without a name; use [] for all namespaces`)
  }
  if ('' in namespaces && OTHERS in namespaces) {
    throw new TypeError(`${cannot} "" and "*": both mean all other namespaces; use only one of them`)
  }
  const spaces = new Map<string, SelectionOptions>()
  for (
    const [namespace, selection] of isList ? namespaces.map((each) => [each, {}] as const) : Object.entries(namespaces)
  ) {
    if (typeof selection !== 'object') {
      throw new TypeError(`${cannot} "${namespace}": its selection is ${String(selection)}, and must be an object`)
    }
    if (namespace === '' || (namespace === OTHERS && !isList)) spaces.set(OTHERS, selection)
    else if (isDomainName(namespace) && namespace.length <= 63 && !namespace.includes('.')) {
      spaces.set(namespace, selection)
    } else {
      const hint = namespace === OTHERS ? '; use [] for all namespaces' : ''
      const rule = 'a name has at most 63 lower-case letters, digits and dashes'
      throw new TypeError(`${cannot} the namespace "${namespace}": ${rule}${hint}`)
    }
  }
  return spaces
}

/** Returns each option from the first entry that has it. */
function firstOf(all: readonly SelectionOptions[]): SelectionOptions {
  const first = <K extends keyof SelectionOptions>(key: K): SelectionOptions[K] =>
    all.find((each) => each[key] !== undefined)?.[key]
  return { labels: first('labels'), fields: first('fields'), strip: first('strip') }
}

/** Returns whether a declaration agrees with an earlier one. Default options agree with any. */
export function isSubsumed(wanted: CacheOptions, known: CacheOptions): boolean {
  return describeOptions(wanted) === DEFAULT_OPTIONS || jsonEqual(comparable(wanted), comparable(known))
}

/** Returns the options with the namespaces in one form. */
function comparable({ namespaces, ...options }: CacheOptions): object {
  const spaces = spacesOf('', namespaces)
  return { ...options, spaces: spaces && Object.fromEntries(spaces), selector: labelsOf(namespaces) }
}

const DEFAULT_OPTIONS = 'default options'

/** Returns the options as text, for errors. */
export function describeOptions(options: CacheOptions): string {
  const stated = (['labels', 'fields', 'namespaces', 'strip', 'read', 'compact'] as const).filter((name) =>
    options[name] !== undefined
  )
  return stated.map((name) => (name === 'strip' ? 'a strip function' : `${name} ${JSON.stringify(options[name])}`))
    .join(', ') || DEFAULT_OPTIONS
}
