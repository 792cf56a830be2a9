/** What a cache keeps of a kind, and whether two declarations of the same kind agree. */
import { jsonEqual } from '../core/equal.ts'
import { isDomainName } from '../core/names.ts'
import type { KubeObject } from '../core/objects.ts'
import { type AnyResource, groupResourceOf } from '../core/resource.ts'
import { parseLabelSelector } from '../core/selectors.ts'
import type { SelectOptions } from '../client/requests.ts'

/** Which objects are kept, and what of them. */
export interface SelectionOptions extends SelectOptions {
  /** Changes an object before it is stored, to keep less of it. */
  readonly strip?: ((object: KubeObject) => void) | undefined
}

/** What of a kind is kept. */
export interface CacheOptions extends SelectionOptions {
  /**
   * Where it is watched, each namespace by itself; a record gives each a selection of its own, and `*` (or '') is all other
   * namespaces. Default: those of the cache; empty: all. Must be empty for cluster-scoped kinds.
   */
  readonly namespaces?: readonly string[] | Readonly<Record<string, SelectionOptions>> | undefined
  /** `live`: watched for its events, and read from the server. Default: read from the cache. */
  readonly read?: 'live' | undefined
}

/** What one informer watches. Without a namespace: all of them. */
export interface Scope extends SelectionOptions {
  readonly namespace: string | undefined
}

/** The key of all namespaces that are not named, as AllNamespaces in controller-runtime. */
const OTHERS = '*'

/**
 * What each informer of a kind watches. Each option comes from the first of these that has it: the namespace of the kind, the
 * kind, the same namespace of `common`, and `common`, whose namespaces are taken if the kind has none.
 *
 * @throws TypeError or Error for options that contradict each other, and for a namespace or a label selector that is invalid.
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
 * Returns the namespaces with what is selected in each; undefined where nothing is said of them.
 *
 * @throws TypeError or Error as {@link scopesOf}. `what`: what is cached, for the message.
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
  if (isList && namespaces.includes('')) {
    throw new Error(`${cannot} a namespace without a name: all of them are [], and contain the others`)
  }
  if ('' in namespaces && OTHERS in namespaces) {
    throw new TypeError(`${cannot} "" and "*": both are all other namespaces; give one of them`)
  }
  const spaces = new Map<string, SelectionOptions>()
  for (
    const [namespace, selection] of isList ? namespaces.map((each) => [each, {}] as const) : Object.entries(namespaces)
  ) {
    if (namespace === '' || (namespace === OTHERS && !isList)) spaces.set(OTHERS, selection)
    else if (isDomainName(namespace) && namespace.length <= 63 && !namespace.includes('.')) {
      spaces.set(namespace, selection)
    } else {throw new TypeError(
        `${cannot} the namespace "${namespace}": a name has at most 63 lower-case letters, digits and dashes${
          namespace === OTHERS ? '; all of them are []' : ''
        }`,
      )}
  }
  return spaces
}

/** Each option as the first has it that does. */
function firstOf(all: readonly SelectionOptions[]): SelectionOptions {
  const first = <K extends keyof SelectionOptions>(key: K): SelectionOptions[K] =>
    all.find((each) => each[key] !== undefined)?.[key]
  return { labels: first('labels'), fields: first('fields'), strip: first('strip') }
}

/** Whether a declaration agrees with an earlier one. One that asks for nothing in particular agrees with any. */
export function isSubsumed(wanted: CacheOptions, known: CacheOptions): boolean {
  return describeOptions(wanted) === NOTHING_IN_PARTICULAR || jsonEqual(comparable(wanted), comparable(known))
}

/** With the namespaces in one form. */
function comparable({ namespaces, ...options }: CacheOptions): object {
  const spaces = spacesOf('', namespaces)
  return { ...options, spaces: spaces && Object.fromEntries(spaces) }
}

const NOTHING_IN_PARTICULAR = 'nothing in particular'

/** For the message of an error. */
export function describeOptions(options: CacheOptions): string {
  const stated = (['labels', 'fields', 'namespaces', 'strip', 'read'] as const).filter((name) =>
    options[name] !== undefined
  )
  return stated.map((name) => (name === 'strip' ? 'a strip function' : `${name} ${JSON.stringify(options[name])}`))
    .join(', ') || NOTHING_IN_PARTICULAR
}
