/** What objects have in common, by numbers: the shapes of their fields, and strings that occur more than once. */

/** The maximum number of strings, and their length. */
const MAX_STRINGS = 2 ** 15
const MAX_LENGTH = 64
/** The maximum number of strings that are remembered as having occurred once. */
const MAX_SEEN = 4096
/** The maximum number of different beginnings of shapes. Labels and data of ConfigMaps can have any names. */
const MAX_NODES = 2 ** 14
const MAX_FIELDS = 64

export class StringDictionary {
  /** By id. */
  readonly texts: string[] = []
  readonly #ids = new Map<string, number>()
  readonly #seen = new Set<string>()

  /** Returns the id of a string; undefined if it is not there. A long one is never there, and is not hashed. */
  find(text: string): number | undefined {
    return text.length <= MAX_LENGTH ? this.#ids.get(text) : undefined
  }

  /** The same; adds a string when it occurs for the second time. */
  idOf(text: string): number | undefined {
    const known = this.find(text)
    if (known !== undefined || text.length > MAX_LENGTH || this.#ids.size === MAX_STRINGS) return known
    if (this.#seen.delete(text)) {
      const id = this.texts.push(text) - 1
      this.#ids.set(text, id)
      return id
    }
    if (this.#seen.size === MAX_SEEN) this.#seen.clear()
    this.#seen.add(text)
    return undefined
  }
}

/** A beginning of a shape: the fields up to one of them. Most often, the next object continues as the last one. */
interface ShapeNode {
  readonly names: readonly string[]
  /** The id of the shape that ends here. -1: none does. */
  id: number
  readonly next: Map<string, ShapeNode>
  last: ShapeNode | undefined
}

export class ShapeDictionary {
  /** The names of the fields, by id. */
  readonly names: (readonly string[])[] = []
  readonly #root: ShapeNode = nodeOf([])
  #nodes = 1

  /** Returns the id of the shape of these fields; -1 if there are too many shapes. Undefined fields are absent. */
  idOf(fields: Readonly<Record<string, unknown>>, all: readonly string[]): number {
    if (all.length > MAX_FIELDS) return -1
    let node = this.#root
    for (const name of all) {
      if (fields[name] === undefined) continue
      const { names, last } = node
      let next = last?.names[names.length] === name ? last : node.next.get(name)
      if (!next) {
        if (this.#nodes === MAX_NODES) return -1
        this.#nodes++
        node.next.set(name, next = nodeOf([...names, name]))
      }
      node.last = next
      node = next
    }
    if (node.id < 0) node.id = this.names.push(node.names) - 1
    return node.id
  }
}

function nodeOf(names: readonly string[]): ShapeNode {
  return { names, id: -1, next: new Map(), last: undefined }
}
