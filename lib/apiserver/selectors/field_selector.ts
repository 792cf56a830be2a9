/** Field selectors: `path=value` and `path!=value` on the selectable fields of a kind. */
import type { ApiObject } from '../json.ts'
import type { Kind } from '../kinds.ts'
import { badRequest } from '../http/status.ts'

interface Term {
  readonly path: string
  readonly value: string
  readonly equal: boolean
}

/** Returns a predicate on objects. Throws 400 for an invalid selector or a field that the kind does not support. */
export function fieldSelector(text: string, kind: Kind): (object: ApiObject) => boolean {
  const terms = split(text).map((part) => parseTerm(part, text))
  const known = selectableFields(kind, EMPTY)
  for (const { path } of terms) {
    if (!Object.hasOwn(known, path)) throw refuseField(path, kind)
  }
  return (object) => {
    const fields = selectableFields(kind, object)
    return terms.every(({ path, value, equal }) => (fields[path] === value) === equal)
  }
}

/** Returns the name that a field selector requires; undefined if it allows several names. */
export function selectedName(text: string): string | undefined {
  for (const part of split(text)) {
    const match = /^metadata\.name==?(?!=)(.*)$/.exec(part)
    if (match) return unescape(match[1]!)
  }
  return undefined
}

const EMPTY: ApiObject = { apiVersion: '', kind: '', metadata: {} }

function selectableFields(kind: Kind, object: ApiObject): Readonly<Record<string, string>> {
  return {
    'metadata.name': object.metadata.name ?? '',
    ...(kind.namespaced || !kind.custom ? { 'metadata.namespace': object.metadata.namespace ?? '' } : {}),
    ...kind.rules.fields?.(object),
  }
}

function refuseField(path: string, kind: Kind): Error {
  if (kind.custom) return badRequest(`field label not supported: ${path}`)
  if (kind.rules.fields) return badRequest(`field label not supported: ${path}`)
  return badRequest(`"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`)
}

function split(text: string): string[] {
  return text.split(/(?<!\\),/).filter(Boolean)
}

function parseTerm(part: string, whole: string): Term {
  const match = /^((?:[^=!\\]|\\.)*?)(==|!=|=)(.*)$/s.exec(part)
  if (!match) throw badRequest(`invalid selector: '${whole}'; can't understand '${part}'`)
  return { path: match[1]!, equal: match[2] !== '!=', value: unescape(match[3]!) }
}

function unescape(value: string): string {
  return value.replace(/\\([\\,=])/g, '$1')
}
