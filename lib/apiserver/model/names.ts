/** Validates names, labels and annotations, with the messages of apimachinery. */
import { type JsonObject, type Meta, sortedByKey } from './json.ts'
import { type Cause, fault } from './status.ts'

/** A UUID with or without dashes, as formats of schemas and of CEL take it. */
export const UUID: RegExp = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i

export type NameRule = 'subdomain' | 'label' | 'label1035' | 'path'

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

const LABEL_MESSAGE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
  "character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const LABEL_1035_MESSAGE =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an " +
  "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
const SUBDOMAIN_MESSAGE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const NAME_PART_MESSAGE =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const LABEL_VALUE_MESSAGE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

const TOTAL_ANNOTATION_BYTES = 256 * 1024

/** Returns the problems of a name as messages; empty if it is valid. */
export function nameProblems(name: string, rule: NameRule): string[] {
  switch (rule) {
    case 'subdomain':
      return dnsProblems(name, 253, SUBDOMAIN, SUBDOMAIN_MESSAGE)
    case 'label':
      return labelProblems(name)
    case 'label1035':
      return dnsProblems(name, 63, LABEL_1035, LABEL_1035_MESSAGE)
    case 'path':
      return pathProblems(name)
  }
}

function labelProblems(name: string): string[] {
  const problems = name.length > 63 ? ['must be no more than 63 characters'] : []
  if (LABEL.test(name)) return problems
  return [...problems, SUBDOMAIN.test(name) ? 'must not contain dots' : LABEL_MESSAGE]
}

function dnsProblems(text: string, max: number, pattern: RegExp, message: string): string[] {
  return [
    ...(text.length > max ? [`must be no more than ${max} characters`] : []),
    ...(pattern.test(text) ? [] : [message]),
  ]
}

function pathProblems(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`]
  return ['/', '%'].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`)
}

export function isSubdomain(text: string): boolean {
  return text.length <= 253 && SUBDOMAIN.test(text)
}

/** Returns the problems of a label key, a finalizer or another qualified name. */
export function qualifiedNameProblems(text: string): string[] {
  const parts = text.split('/')
  if (parts.length > 2) {
    return [
      "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
      "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ]
  }
  const name = parts[parts.length - 1]!
  const problems: string[] = []
  if (parts.length === 2) {
    const prefix = parts[0]!
    if (prefix === '') problems.push('prefix part must be non-empty')
    else {
      // The texts of qualified names count in bytes, those of names in characters.
      problems.push(
        ...nameProblems(prefix, 'subdomain').map((message) => `prefix part ${message.replace(/characters$/, 'bytes')}`),
      )
    }
  }
  if (name === '') problems.push('name part must be non-empty')
  else if (name.length > 63) problems.push('name part must be no more than 63 bytes')
  if (!QUALIFIED.test(name)) problems.push(NAME_PART_MESSAGE)
  return problems
}

export function labelValueProblems(value: string): string[] {
  return [
    ...(value.length > 63 ? ['must be no more than 63 bytes'] : []),
    ...(LABEL_VALUE.test(value) ? [] : [LABEL_VALUE_MESSAGE]),
  ]
}

/** Returns the faults of a label map at a path. */
export function labelFaults(labels: Readonly<Record<string, unknown>> | undefined, path: string): Cause[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...qualifiedNameProblems(key).map((message) => fault.invalid(path, key, message)),
    ...labelValueProblems(String(value)).map((message) => fault.invalid(path, value, message)),
  ])
}

export function annotationFaults(annotations: Readonly<Record<string, string>> | undefined, path: string): Cause[] {
  const faults: Cause[] = []
  let bytes = 0
  for (const [key, value] of Object.entries(annotations ?? {})) {
    faults.push(...qualifiedNameProblems(key.toLowerCase()).map((message) => fault.invalid(path, key, message)))
    bytes += new TextEncoder().encode(key + value).length
  }
  if (bytes > TOTAL_ANNOTATION_BYTES) faults.push(fault.tooLong(path, TOTAL_ANNOTATION_BYTES))
  return faults
}

/** Returns the faults of an object's metadata, without the rules for updates. */
export function metaFaults(meta: Meta, rule: NameRule, namespaced: boolean): Cause[] {
  const faults: Cause[] = []
  if (meta.generateName) {
    faults.push(
      // The real server masks the last two characters of a base that ends with a dash.
      ...nameProblems(meta.generateName.replace(/.-$/, 'a'), rule).map((m) =>
        fault.invalid('metadata.generateName', meta.generateName, m)
      ),
    )
  }
  if (!meta.name) faults.push(fault.required('metadata.name', 'name or generateName is required'))
  else {faults.push(
      ...nameProblems(meta.name, rule).map((message) => fault.invalid('metadata.name', meta.name, message)),
    )}
  if (namespaced) {
    if (!meta.namespace) faults.push(fault.required('metadata.namespace'))
    else {faults.push(
        ...nameProblems(meta.namespace, 'label').map((message) =>
          fault.invalid('metadata.namespace', meta.namespace, message)
        ),
      )}
  } else if (meta.namespace) {
    faults.push(fault.forbidden('metadata.namespace', 'not allowed on this type'))
  }
  return [...faults, ...commonFaults(meta), ...finalizerFaults(meta)]
}

/** Returns the faults of labels, annotations and owner references. */
export function commonFaults(meta: Meta): Cause[] {
  return [
    ...labelFaults(meta.labels, 'metadata.labels'),
    ...annotationFaults(meta.annotations, 'metadata.annotations'),
    ...ownerFaults(meta),
  ]
}

function pathOf(owner: JsonObject): string {
  return `${String(owner['kind'] ?? '')}/${String(owner['name'] ?? '')}`
}

function ownerFaults(meta: Meta): Cause[] {
  const faults: Cause[] = []
  let controller: string | undefined
  for (const owner of meta.ownerReferences ?? []) {
    const { apiVersion = '' } = owner
    const parts = String(apiVersion).split('/')
    if (parts.length > 2 || !parts.at(-1)) {
      faults.push(fault.invalid('metadata.ownerReferences.apiVersion', apiVersion, 'version must not be empty'))
    }
    for (const part of ['kind', 'name', 'uid']) {
      if (!owner[part]) {
        faults.push(fault.invalid(`metadata.ownerReferences.${part}`, owner[part] ?? '', 'must not be empty'))
      }
    }
    if (owner['controller'] === true) {
      if (controller !== undefined) {
        const detail =
          `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${
            pathOf(owner)
          }`
        faults.push(fault.invalid('metadata.ownerReferences', meta.ownerReferences, detail))
      } else controller = pathOf(owner)
    }
    if (owner['apiVersion'] === 'v1' && owner['kind'] === 'Event') {
      faults.push(fault.invalid('metadata.ownerReferences', owner, '/v1, Kind=Event is disallowed from being an owner'))
    }
  }
  return faults
}

function finalizerFaults(meta: Meta): Cause[] {
  const finalizers = meta.finalizers ?? []
  const faults = finalizers.flatMap((finalizer) =>
    qualifiedNameProblems(finalizer).map((message) => fault.invalid('metadata.finalizers', finalizer, message))
  )
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    faults.push(
      fault.invalid('metadata.finalizers', finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'),
    )
  }
  return faults
}

const STANDARD_FINALIZERS: readonly string[] = ['orphan', 'foregroundDeletion', 'kubernetes']

/** Returns the faults of finalizers without a domain. Custom kinds get a warning instead, definitions nothing. */
export function finalizerNameFaults(
  { finalizers = [] }: Meta,
  { custom, group }: { readonly custom: boolean; readonly group: string },
): Cause[] {
  if (custom || group === 'apiextensions.k8s.io') return []
  return finalizers.flatMap((finalizer, index) =>
    finalizer.includes('/') || STANDARD_FINALIZERS.includes(finalizer) ? [] : [
      fault.invalid(
        `metadata.finalizers[${index}]`,
        finalizer,
        'name is neither a standard finalizer name nor is it fully qualified',
      ),
    ]
  )
}

/** Removes repeated owner references, in place, and returns a warning of them. */
export function dedupedOwners(meta: Meta, isPatched: boolean): string[] {
  const owners = meta.ownerReferences ?? []
  const byText = new Map<string, JsonObject>()
  const repeated = owners.length < 2 ? [] : owners.filter((owner) => {
    const text = JSON.stringify(sortedByKey(owner))
    const isKnown = byText.has(text)
    byText.set(text, owner)
    return isKnown
  })
  if (repeated.length === 0) return []
  meta.ownerReferences = [...byText.values()]
  const uids = [...new Set(repeated.map(({ uid }) => String(uid)))].join(', ')
  return [
    `.metadata.ownerReferences contains duplicate entries${isPatched ? ' after mutating admission happens' : ''}; ` +
    'API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; ' +
    `please fix your requests; duplicate UID(s) observed: ${uids}`,
  ]
}

/** Returns the warnings about the names of new finalizers of a custom object. */
export function finalizerWarnings({ finalizers = [] }: Meta, before: readonly string[]): string[] {
  const added = [...new Set(finalizers)].filter((finalizer) => !before.includes(finalizer)).sort()
  return added.flatMap((finalizer) => {
    const named = `metadata.finalizers: ${JSON.stringify(finalizer)}: `
    const problems = qualifiedNameProblems(finalizer)
    if (!finalizer.includes('/') && !STANDARD_FINALIZERS.includes(finalizer)) {
      const path = finalizer.includes('.') ? 'including a path (/) ' : ''
      problems.push(
        `prefer a domain-qualified finalizer name ${path}to avoid accidental conflicts with other finalizer writers`,
      )
    }
    return problems.map((problem) => named + problem)
  })
}

const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789'
const MAX_GENERATED_LENGTH = 63

/** Returns `base` with five random letters, truncated to the length of a label. */
export function generateName(base: string, random: () => number): string {
  const suffix = Array.from({ length: 5 }, () => SUFFIX_LETTERS[Math.floor(random() * SUFFIX_LETTERS.length)]).join('')
  return base.slice(0, MAX_GENERATED_LENGTH - 5) + suffix
}
