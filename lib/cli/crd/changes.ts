/** Compares committed definitions and webhook configurations with those of the operator, as lines of a short diff. */
import { isFields } from '../../core/clone.ts'
import { jsonEqual, project } from '../../core/equal.ts'
import type { CustomResourceDefinition, CustomResourceVersion, JsonSchema } from '../../core/resource.ts'
import type { ForeignCrd } from '../../schema/crd_differences.ts'
import { isNarrowing, type SchemaChange, schemaChanges, without } from '../../schema/schema_changes.ts'

export interface CrdChange {
  /** The path and the change from the committed definition to that of the operator. */
  readonly text: string
  /** What the change does to objects that are stored, or to clients. Undefined for a harmless one. */
  readonly effect?: string
}

type ForeignVersion = NonNullable<NonNullable<ForeignCrd['spec']>['versions']>[number]

const BREAKS = 'breaks stored objects'
const MAY_BREAK = 'may break stored objects'

export interface CommittedCrd extends ForeignCrd {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  /** A definition of apiextensions.k8s.io/v1beta1 kept all fields, and may still do so. */
  readonly spec?: ForeignCrd['spec'] & { readonly preserveUnknownFields?: boolean }
}

/**
 * Returns the changes from a committed definition to that of the operator. Empty if they mean the same: what the server
 * or another tool fills in, the order of sets, and annotations of others make no difference.
 */
export function crdChanges(committed: CommittedCrd, ours: CustomResourceDefinition): readonly CrdChange[] {
  const { spec = {} } = committed
  const found: CrdChange[] = []
  const compare = (path: string, was: unknown, is: unknown, effect?: string): void => {
    if (!jsonEqual(was, is)) {
      found.push({ text: `${path} is ${shown(is)}, not ${shown(was)}`, ...(effect && { effect }) })
    }
  }
  for (const [name, text] of Object.entries(ours.metadata.annotations ?? {})) {
    compare(`annotation ${name}`, committed.metadata.annotations?.[name], text)
  }
  compare('scope', spec.scope, ours.spec.scope, 'cannot be changed: the kind must be deleted with its objects')
  const { kind, singular, listKind, shortNames, categories } = defaultNames(spec.names ?? {})
  const names = ours.spec.names
  compare('kind', kind, names.kind, 'cannot be changed: the kind must be deleted with its objects')
  compare('singular', singular, names.singular)
  compare('listKind', listKind, names.listKind)
  found.push(...listChanges('short names', shortNames, names.shortNames))
  found.push(...listChanges('categories', categories, names.categories))
  found.push(...conversionChanges(spec.conversion, ours.spec.conversion))
  if (committed.spec?.preserveUnknownFields) {
    found.push({ text: 'fields that a schema does not name are no longer kept', effect: MAY_BREAK })
  }
  const before = spec.versions ?? []
  for (const version of ours.spec.versions) {
    const theirs = before.find(({ name }) => name === version.name)
    if (theirs) found.push(...versionChanges(theirs, version))
    else found.push({ text: `version ${version.name} is new` })
  }
  for (const { name, storage } of before) {
    if (ours.spec.versions.some((version) => version.name === name)) continue
    const effect = storage
      ? `${BREAKS}, which are stored in it`
      : 'breaks its clients, and applies of what was written in it'
    found.push({ text: `version ${name} is gone`, effect })
  }
  return found
}

function defaultNames(names: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kind = String(names['kind'])
  return { ...names, singular: names['singular'] || kind.toLowerCase(), listKind: names['listKind'] || `${kind}List` }
}

function conversionChanges(was: unknown, is: unknown): readonly CrdChange[] {
  const [before, after] = [was, is].map((each) => (each ?? { strategy: 'None' }) as { readonly strategy?: string })
  if (before!.strategy !== after!.strategy) {
    return [{ text: `conversion strategy is ${shown(after!.strategy)}, not ${shown(before!.strategy)}` }]
  }
  // Another writer injects the certificates, and the server fills in ports.
  return jsonEqual(project(before, after), after) ? [] : [{ text: 'conversion webhook has another address' }]
}

function versionChanges(was: ForeignVersion, is: CustomResourceVersion): readonly CrdChange[] {
  const found: CrdChange[] = []
  const add = (text: string, effect?: string): void =>
    void found.push({ text: `${is.name} ${text}`, ...(effect && { effect }) })
  if (was.served !== is.served) {
    add(is.served ? 'is served' : 'is no longer served', is.served ? undefined : 'breaks its clients')
  }
  if (was.storage !== is.storage) add(is.storage ? 'is the version in which objects are stored' : 'is no longer stored')
  const plain: readonly (readonly [string, unknown, unknown])[] = [
    ['deprecated', was.deprecated || undefined, is.deprecated],
    ['deprecationWarning', was.deprecationWarning, is.deprecationWarning],
    ['status subresource', was.subresources?.status && {}, is.subresources?.status],
    ['scale subresource', was.subresources?.scale, is.subresources?.scale],
  ]
  for (const [name, before, after] of plain) {
    if (!jsonEqual(before, after)) add(`${name} is ${shown(after)}, not ${shown(before)}`)
  }
  const pathOf = ({ jsonPath }: { readonly jsonPath: string }): string => jsonPath
  found.push(
    ...listChanges(`${is.name} selectable fields`, was.selectableFields?.map(pathOf), is.selectableFields?.map(pathOf)),
  )
  columnChanges(was, is).forEach((text) => add(text))
  const [before, after] = [was.schema?.openAPIV3Schema ?? {}, is.schema.openAPIV3Schema].map((schema) =>
    comparable(schema, true)
  ) as [JsonSchema, JsonSchema]
  for (const change of schemaChanges(before, after)) {
    const effect = !isNarrowing(change) ? undefined : CERTAIN.test(change.keyword) ? BREAKS : MAY_BREAK
    for (const { text, isHarmless } of changeTexts(change)) add(text, isHarmless ? undefined : effect)
  }
  textChanges(before, after, '').forEach((text) => add(text))
  return found
}

/** Keywords whose narrowing refuses values for certain. Of two patterns, formats or rules, it is unknown. */
const CERTAIN = /^(?:type|properties|additionalProperties|required|enum|nullable|m(?:in|ax)[A-Z]\w*|minimum|maximum)$/

interface ChangeText {
  readonly text: string
  /** Whether this part of the change allows more than before. */
  readonly isHarmless?: boolean
}

/** Returns one text for each value that a list has gained or lost, or one for the keyword. */
function changeTexts({ path, keyword, from, to }: SchemaChange): readonly ChangeText[] {
  const at = path || 'the object'
  if (keyword === 'properties') return [{ text: `${at} is ${to ? 'new' : 'gone'}` }]
  if (keyword === 'additionalProperties') {
    return [{ text: `${at} ${to ? 'keeps' : 'no longer keeps'} fields that it does not name` }]
  }
  const [gained, lost] = [without(to, from), without(from, to)]
  switch (keyword) {
    case 'required':
      return [
        ...gained.map((name) => ({ text: `${at} requires ${String(name)}` })),
        ...lost.map((name) => ({ text: `${at} no longer requires ${String(name)}`, isHarmless: true })),
      ]
    case 'enum':
      return [
        ...lost.map((value) => ({ text: `${at} no longer allows ${shown(value)}` })),
        // A new enum allows less than none.
        ...gained.map((value) => ({ text: `${at} allows ${shown(value)}`, isHarmless: from !== undefined })),
      ]
    case 'x-kubernetes-validations':
      return ruleTexts(at, gained as readonly Rule[], lost as readonly Rule[])
    default:
      return [{ text: `${at}: ${keyword} is ${shown(to)}, not ${shown(from)}` }]
  }
}

interface Rule {
  readonly rule?: string
}

function ruleTexts(at: string, gained: readonly Rule[], lost: readonly Rule[]): readonly ChangeText[] {
  const isIn = (rules: readonly Rule[]) => ({ rule }: Rule): boolean => rules.some((other) => other.rule === rule)
  return [
    ...gained.map((each) =>
      isIn(lost)(each)
        ? { text: `${at}: the rule ${shown(each.rule)} has another message, reason or path`, isHarmless: true }
        : { text: `${at} has the new rule ${shown(each.rule)}` }
    ),
    ...lost.filter((each) => !isIn(gained)(each)).map(({ rule }) => ({
      text: `${at} no longer has the rule ${shown(rule)}`,
      isHarmless: true,
    })),
  ]
}

function listChanges(what: string, was: unknown, is: unknown): readonly CrdChange[] {
  return [
    ...without(is, was).map((value) => ({ text: `${what} have ${shown(value)}` })),
    ...without(was, is).map((value) => ({ text: `${what} no longer have ${shown(value)}` })),
  ]
}

function columnChanges(was: ForeignVersion, is: CustomResourceVersion): readonly string[] {
  // The server drops a priority of 0.
  const [before = [], after = []] = [was, is].map(({ additionalPrinterColumns: columns = [] }) =>
    columns.map(({ priority, ...column }) => ({ ...column, ...(priority && { priority }) }))
  )
  const found = [...new Set([...after, ...before].map(({ name }) => name))].flatMap((name) => {
    const [a, b] = [before, after].map((columns) => columns.find((column) => column.name === name))
    if (!a || !b) return [`column ${shown(name)} is ${b ? 'new' : 'gone'}`]
    return jsonEqual(a, b) ? [] : [`column ${shown(name)} is ${shown(b)}, not ${shown(a)}`]
  })
  const isMoved = found.length === 0 && before.some(({ name }, at) => after[at]?.name !== name)
  return isMoved ? ['columns are in another order'] : found
}

const EITHER: readonly unknown[] = [{ type: 'integer' }, { type: 'string' }]
const DEFAULT_KINDS: Readonly<Record<string, unknown>> = {
  'x-kubernetes-list-type': 'atomic',
  'x-kubernetes-map-type': 'granular',
}
const IDENTITY: readonly string[] = ['apiVersion', 'kind', 'metadata']

/** Returns a schema without what has no meaning: the fields that every object has, and other ways to say the same. */
function comparable(schema: JsonSchema, isRoot = false): JsonSchema {
  const { anyOf, properties, items, additionalProperties, required, ...given } = schema
  // Kinds of lists and maps that are the default.
  const rest = Object.fromEntries(Object.entries(given).filter(([keyword, value]) => DEFAULT_KINDS[keyword] !== value))
  const isRedundant = rest['x-kubernetes-int-or-string'] === true && jsonEqual(anyOf, EITHER)
  const fields = Object.entries((properties ?? {}) as Readonly<Record<string, JsonSchema>>)
    .filter(([name]) => !isRoot || !IDENTITY.includes(name))
    .map(([name, field]) => [name, comparable(field)] as const)
  const needed = ((required ?? []) as readonly string[]).filter((name) => !isRoot || !IDENTITY.includes(name))
  return {
    ...rest,
    ...(anyOf !== undefined && !isRedundant && { anyOf }),
    ...(fields.length > 0 && { properties: Object.fromEntries(fields) }),
    ...(items !== undefined && { items: comparable(items as JsonSchema) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: typeof additionalProperties === 'object'
        ? comparable(additionalProperties as JsonSchema)
        : additionalProperties,
    }),
    ...(needed.length > 0 && { required: needed }),
  }
}

/** Returns the changes of descriptions, titles and examples, where both schemas have the field. */
function textChanges(was: JsonSchema, is: JsonSchema, path: string): readonly string[] {
  const own = ['description', 'title', 'example'].flatMap((keyword) =>
    jsonEqual(was[keyword], is[keyword])
      ? []
      : [`${path || 'the object'}: ${keyword} is ${shown(is[keyword])}, not ${shown(was[keyword])}`]
  )
  const [before, after] = [was, is].map(partsOf) as [Map<string, JsonSchema>, Map<string, JsonSchema>]
  const below = [...after].flatMap(([step, schema]) => {
    const other = before.get(step)
    return other ? textChanges(other, schema, path ? path + step : step.replace(/^\./, '')) : []
  })
  return [...own, ...below]
}

function partsOf({ properties = {}, items, additionalProperties }: JsonSchema): Map<string, JsonSchema> {
  const fields = Object.entries(properties as object).map(([name, field]) => [`.${name}`, field] as const)
  const all: (readonly [step: string, part: unknown])[] = [...fields, ['[]', items], ['{}', additionalProperties]]
  return new Map(all.filter((each): each is [string, JsonSchema] => isFields(each[1])))
}

/**
 * Returns what the operator states otherwise, and what only a committed webhook has: with a condition of others it gets
 * fewer requests. Metadata that only the committed object has makes no difference, nor do CAs.
 */
export function configurationChanges(committed: object, ours: object): readonly CrdChange[] {
  return differences(committed, ours, '')
}

function differences(was: unknown, is: unknown, path: string): readonly CrdChange[] {
  if (jsonEqual(was, is) || path.endsWith('caBundle')) return []
  if (Array.isArray(is) && Array.isArray(was) && is.length === was.length) {
    return is.flatMap((each, at) => differences(was[at], each, `${path}[${at}]`))
  }
  if (isFields(is) && isFields(was)) {
    const stated = Object.keys(is).filter((name) => is[name] !== undefined)
    const names = path.startsWith('webhooks') ? new Set([...stated, ...Object.keys(was)]) : stated
    return [...names].flatMap((name) => differences(was[name], is[name], path ? `${path}.${name}` : name))
  }
  return [{ text: `${path} is ${shown(is)}, not ${shown(was)}` }]
}

const MAX_SHOWN = 80

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent'
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text
}
