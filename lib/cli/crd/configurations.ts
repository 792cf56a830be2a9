/** Compares committed webhook configurations with those of the operator. */
import { jsonEqual } from '../../core/equal.ts'
import { type CrdChange, shown } from './changes.ts'

/**
 * Returns what the operator states and the committed object has not. What only that has, as from the server or from
 * another writer, makes no difference; nor do certificates.
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
    return Object.entries(is).flatMap(([name, each]) =>
      each === undefined ? [] : differences(was[name], each, path ? `${path}.${name}` : name)
    )
  }
  return [{ text: `${path} is ${shown(is)}, not ${shown(was)}` }]
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
