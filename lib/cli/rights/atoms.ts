/** Rights as a set: one verb on one resource, in one place, by one name. Pure. */
import { Collector, type Grant } from '../deploy/rights.ts'

/** A right on the objects of one name. */
export interface Atom extends Omit<Grant, 'names'> {
  /** Undefined for all names. */
  readonly name: string | undefined
}

export function atomsOf(grants: Iterable<Grant>): Atom[] {
  return [...grants].flatMap(({ names, ...grant }) =>
    (names.length > 0 ? names : [undefined]).map((name) => ({ ...grant, name }))
  )
}

/** Returns whether the first right includes the second one. */
export function includes(a: Atom, b: Atom): boolean {
  return a.verb === b.verb && a.group === b.group && a.resource === b.resource &&
    (a.namespace === undefined || a.namespace === b.namespace) && (a.name === undefined || a.name === b.name)
}

/** Returns the rights without those that others of them include, as a collector of rules. */
export function withoutIncluded(grants: Iterable<Grant>): Collector {
  const kept: Atom[] = []
  for (const atom of atomsOf(grants)) {
    if (kept.some((each) => includes(each, atom))) continue
    // Later ones may be wider.
    for (let at = kept.length - 1; at >= 0; at--) if (includes(atom, kept[at]!)) kept.splice(at, 1)
    kept.push(atom)
  }
  const names = new Map<string, { readonly atom: Atom; readonly names: string[] }>()
  for (const atom of kept) {
    const { namespace, group, resource, verb, name } = atom
    const key = JSON.stringify([namespace, group, resource, verb])
    const found = names.get(key) ?? { atom, names: [] }
    names.set(key, found)
    if (name !== undefined) found.names.push(name)
  }
  const collector = new Collector()
  for (const { atom: { namespace, group, resource, verb }, names: of } of names.values()) {
    collector.allow(namespace, group, resource, [verb], of.sort())
  }
  return collector
}
