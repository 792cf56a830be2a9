/** Lists the rights that an operator's requests needed, with the places in its file. */
import { shortPath } from '../../runtime/os/source_place.ts'
import type { AskedPath, AskedRight } from '../../testing/rights_recorder.ts'

type Asked = AskedRight | AskedPath

/** Returns a line for each rule of a role and each place that needs it. Names of objects are left out. */
export function askedLines(asked: readonly Asked[]): string[] {
  const placed = new Set(asked.filter(({ at }) => at !== undefined).map((each) => `${each.verb} ${ruleOf(each)}`))
  // Of a write that was not sent, as it would have changed nothing, no place is known.
  const known = asked.filter((each) => each.at !== undefined || !placed.has(`${each.verb} ${ruleOf(each)}`))
  const groups = Map.groupBy(
    known,
    (each) => `${ruleOf(each)}   ${each.at === undefined ? 'kubeloop itself' : shortPath(each.at)}`,
  )
  return [...groups].sort(([a], [b]) => a < b ? -1 : 1).map(([where, lines]) =>
    `right    ${[...new Set(lines.map(({ verb }) => verb))].sort().join(', ')} of ${where}`
  )
}

function ruleOf(asked: Asked): string {
  const of = 'path' in asked
    ? asked.path
    : `${asked.resource} (${asked.group || 'core'})${asked.namespace === undefined ? '' : ` in ${asked.namespace}`}`
  return `${of}${asked.cluster === undefined ? '' : ` of the cluster "${asked.cluster}"`}`
}
