/** Chooses the bugs to plant, and finds saved ones again where the lines around them have moved. */
import { seededRandom } from '../../../lib/testing/world/random.ts'
import { type Mutant, mutantsOf } from './mutants.ts'

/** A bug with its outcome; `from` becomes `to`, whole lines, at the nth place where `from` stands. */
export interface Bug {
  readonly path: string
  readonly line: number
  readonly kind: string
  readonly from: string
  readonly to: string
  readonly nth: number
  /** What found it. */
  by?: string | undefined
}

/** Texts by path. */
type Files = ReadonlyMap<string, string>

/** Data and generated files. */
const EXCLUDED = /^lib\/(?:kinds|apiserver\/model\/builtin_schemas)/

/** Draws bugs of a room, a file or lines of one: first the kind, then the place, so that rare kinds are among them. */
export function draw(place: string, files: Files, count: number, seed: number): Bug[] {
  const [, named = place, first = '1', last = first] = /^(.*):(\d+)(?:-(\d+))?$/.exec(place) ?? []
  const paths = [...files.keys()].filter((path) =>
    (path === named || path.startsWith(`lib/${named}/`)) && path.endsWith('.ts') && !EXCLUDED.test(path)
  )
  const all = paths.flatMap((path) =>
    mutantsOf(path, files.get(path)!).map((each) => bugOf(path, files.get(path)!, each))
  )
    .filter(({ line }) => named === place || (line >= Number(first) && line <= Number(last)))
  const kinds = [...Map.groupBy(all, ({ kind }) => kind).values()]
  const random = seededRandom(seed)
  const drawn: Bug[] = []
  while (drawn.length < count && kinds.length > 0) {
    const kind = kinds[Math.floor(random() * kinds.length)]!
    drawn.push(...kind.splice(Math.floor(random() * kind.length), 1))
    if (kind.length === 0) kinds.splice(kinds.indexOf(kind), 1)
  }
  return drawn
}

function bugOf(path: string, text: string, { kind, start, end, text: to }: Mutant): Bug {
  const first = text.lastIndexOf('\n', start - 1) + 1
  const last = text.indexOf('\n', end) < 0 ? text.length : text.indexOf('\n', end)
  const from = text.slice(first, last)
  const nth = text.slice(0, first).split(from).length - 1
  const line = text.slice(0, first).split('\n').length
  return { path, line, kind, from, to: text.slice(first, start) + to + text.slice(end, last), nth }
}

/** Returns a file with a bug; undefined if its lines are gone. */
export function plant({ from, to, nth }: Bug, text: string): string | undefined {
  const parts = text.split(from)
  if (parts.length < 2) return undefined
  const at = Math.min(nth, parts.length - 2)
  return parts.slice(0, at + 1).join(from) + to + parts.slice(at + 1).join(from)
}

/** Returns the mutant that is a bug, and its index in its file. */
export function mutantOf(bug: Bug, text: string): { index: number; mutant: Mutant } | undefined {
  const planted = plant(bug, text)
  const mutants = mutantsOf(bug.path, text)
  const index = mutants.findIndex(({ start, end, text: to }) => text.slice(0, start) + to + text.slice(end) === planted)
  return index < 0 ? undefined : { index, mutant: mutants[index]! }
}
