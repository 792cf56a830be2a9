/** Flow collections for `simple_yaml.ts`: `{ token: x }` and `[a, b]`, on one or several lines of any indentation. */
import { type Lines, refuse, resolve, unquote } from './yaml_scalars.ts'

/** Deeper than any kubeconfig, and less deep than js-yaml's limit. */
const LARGEST_DEPTH = 40

const SPACE = /(?:[ \n]|(?<=[ \n])#.*)*/y
const QUOTED = /"(?:[^"\\]|\\[^])*"|'(?:[^']|'')*'/y
const PLAIN = /(?:[^ \n,[\]{}#&*!|>'"%@`:?-]|-(?![ \n,[\]{}]))(?: *(?:[^ \n,[\]{}:#]|:(?![ \n,[\]{}])|(?<! )#))*/y

/** Reads the collection that begins with `first`, on the current line. */
export function readFlow(lines: Lines, first: string): unknown {
  const source = [first, ...lines.all.slice(lines.at + 1), ''].join('\n')
  const firstLine = lines.at
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(source)?.[0]
    if (found === undefined) return undefined
    at += found.length
    lines.at += found.split('\n').length - 1
    return found
  }
  const fail = (): never => {
    // A collection that is never closed is reported where it begins.
    if (at === source.length) lines.at = firstLine
    return refuse()
  }
  const readScalar = (): unknown => {
    const quoted = take(QUOTED)
    return quoted === undefined ? resolve(take(PLAIN) ?? fail()) : unquote(quoted)
  }
  /** Reads the items between commas, up to the end of a collection. */
  const readItems = (closing: RegExp, depth: number, readItem: () => void): void => {
    if (depth > LARGEST_DEPTH) refuse()
    for (take(SPACE); !take(closing); take(SPACE)) {
      readItem()
      take(SPACE)
      if (!take(/,/y)) return void (take(closing) ?? fail())
    }
  }
  const readNode = (depth: number): unknown => {
    if (take(/\[/y)) {
      const items: unknown[] = []
      readItems(/\]/y, depth, () => items.push(readNode(depth + 1)))
      return items
    }
    if (!take(/\{/y)) return readScalar()
    const entries = new Map<string, unknown>()
    readItems(/\}/y, depth, () => {
      const line = lines.at
      const key = String(readScalar())
      if (entries.has(key) || key === '<<' || lines.at > line) refuse()
      const hasValue = take(/ *:/y)
      take(SPACE)
      entries.set(key, !hasValue || /[,}]/.test(source.charAt(at)) ? null : readNode(depth + 1))
    })
    return Object.fromEntries(entries)
  }
  const value = readNode(1)
  // A document never ends inside a collection.
  if (!take(/(?: +#.*| *)\n/y) || /\n(?:---|\.\.\.)/.test(source.slice(0, at))) refuse()
  return value
}
