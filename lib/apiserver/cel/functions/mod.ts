/** All functions that expressions can call, by name. */
import { CORE } from './core.ts'
import { remembered } from '../../model/remembered.ts'
import { FORMAT } from './format.ts'
import { LISTS } from './lists.ts'
import { NETWORK } from './network.ts'
import { NUMBERS } from './numbers.ts'
import { STRINGS } from './strings.ts'
import { type Overload, overloadOf, type Row } from './table.ts'
import { TIME } from './time.ts'

const ROWS: readonly Row[] = [...CORE, ...STRINGS, ...LISTS, ...TIME, ...NETWORK, ...NUMBERS, ...FORMAT]

const rowsByName: ReadonlyMap<string, readonly Row[]> = Map.groupBy(ROWS, ([name]) => name)
const parsed = new Map<string, readonly Overload[]>()

/** Returns the overloads of a function; undefined for an unknown name. */
export function overloadsOf(name: string): readonly Overload[] | undefined {
  const rows = rowsByName.get(name)
  if (!rows) return undefined
  // Signatures are parsed when a rule first uses them: most rules use few.
  return remembered(parsed, name, () => rows.map(overloadOf))
}
