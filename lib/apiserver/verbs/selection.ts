/** What the selectors of a list or a watch select. */
import { fromStored } from '../context/context.ts'
import type { ApiObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { fieldSelector, labelSelector, selectableFields } from '../model/selectors.ts'
import type { Term } from '../storage/terms.ts'

export interface Selection {
  readonly matches: (stored: ApiObject) => boolean
  /** A value that all selected objects have, by which they are found; undefined if there is none. */
  readonly term: Term | undefined
}

/** Parses `labelSelector` and `fieldSelector`. Throws 400 if they are invalid. */
export function selectionOf(kind: Kind, query: URLSearchParams): Selection {
  const [labelText, fieldText] = [query.get('labelSelector'), query.get('fieldSelector')]
  const labels = labelText ? labelSelector(labelText) : undefined
  const fields = fieldText ? fieldSelector(fieldText, kind) : undefined
  const field = fields?.required
  const byField = field && fieldTerm(kind, field)
  return {
    matches: (stored) =>
      (!labels || labels.matches(stored.metadata.labels)) && (!fields || fields.matches(fromStored(kind, stored))),
    term: byField?.path === NAME ? byField : labels?.required ? labelTerm(labels.required) : byField,
  }
}

const NAME = 'metadata.name'

/** Returns the term of an object's name. */
export function nameTerm(value: string): Term {
  return { path: NAME, value, read: ({ metadata }) => metadata.name }
}

type Required = Pick<Term, 'path' | 'value'>

function labelTerm({ path, value }: Required): Term {
  return { path: `label ${path}`, value, read: ({ metadata: { labels } }) => labels?.[path] }
}

function fieldTerm(kind: Kind, { path, value }: Required): Term | undefined {
  if (path === NAME) return nameTerm(value)
  // The fields of a custom kind change with its definition, and may need a conversion.
  if (kind.custom) return undefined
  return {
    path: `${kind.apiVersion} ${path}`,
    value,
    read: (stored) => selectableFields(kind, fromStored(kind, stored))[path],
  }
}
