/** The text of a list, which is made while it is read: no turn is long, and no text of all objects is held. */
import type { TurnBudget } from '../../async/clock.ts'
import type { HttpBody } from '../../core/transport.ts'
import { yamlWriter } from './yaml.ts'
import type { ApiObject, Json, JsonObject } from '../model/json.ts'

/** The list at one version. Its objects never change. */
export interface ObjectList {
  /** All fields but the items. */
  readonly head: JsonObject
  readonly field: 'items' | 'rows'
  readonly objects: readonly ApiObject[]
  /** Returns an item as JSON. */
  readonly render: (object: ApiObject) => string
}

export type TextForm = 'json' | 'indented' | 'yaml'

const encoder = new TextEncoder()
/** The number of characters from which a chunk gets no more items. */
const CHUNK_LENGTH = 64 * 1024

export class ListBody implements HttpBody {
  readonly #list: ObjectList
  readonly #budget: TurnBudget
  readonly #parts: Generator<string, void>
  /** What was made before it was read. */
  #ahead = ''

  constructor(list: ObjectList, budget: TurnBudget, form: TextForm = 'json') {
    this.#list = list
    this.#budget = budget
    this.#parts = FORMS[form](list)
  }

  /** Returns the unread list in another form. */
  as(form: TextForm): ListBody {
    return new ListBody(this.#list, this.#budget, form)
  }

  /** Returns whether the text is longer than a number of characters. Makes no more of it than that. */
  async isLongerThan(length: number): Promise<boolean> {
    this.#ahead = await this.#next(length + 1)
    return this.#ahead.length > length
  }

  text(): Promise<string> {
    return this.#next(Infinity)
  }

  cancel(): void {
    this.#ahead = ''
    this.#parts.return()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (let text = await this.#next(CHUNK_LENGTH); text; text = await this.#next(CHUNK_LENGTH)) {
      yield encoder.encode(text)
    }
  }

  /** Returns the next part of the text, of at least a length; a shorter one at the end. */
  async #next(length: number): Promise<string> {
    let text = this.#ahead
    this.#ahead = ''
    while (text.length < length) {
      const { done, value } = this.#parts.next()
      if (done) break
      text += value
      if (this.#budget.isSpent) await this.#budget.turn()
    }
    return text
  }
}

const FORMS: Readonly<Record<TextForm, (list: ObjectList) => Generator<string, void>>> = {
  *json({ head, field, objects, render }) {
    yield JSON.stringify({ ...head, [field]: [] }).slice(0, -2)
    for (const [at, object] of objects.entries()) yield at > 0 ? `,${render(object)}` : render(object)
    yield ']}\n'
  },
  *indented({ head, field, objects, render }) {
    yield JSON.stringify({ ...head, [field]: [] }, null, 2).slice(0, -3)
    const frame = '[\n  [\n'.length
    for (const [at, object] of objects.entries()) {
      // Indented as deep as in the list.
      const text = JSON.stringify([[JSON.parse(render(object))]], null, 2)
      yield `${at > 0 ? ',' : ''}\n${text.slice(frame, -frame)}`
    }
    yield objects.length > 0 ? '\n  ]\n}' : ']\n}'
  },
  *yaml({ head, field, objects, render }) {
    const yamlText = yamlWriter()
    const part = (isPart: (name: string) => boolean): string => {
      const fields = Object.entries(head).filter(([name]) => isPart(name))
      return fields.length > 0 ? yamlText(Object.fromEntries(fields)) : ''
    }
    yield `${part((name) => name < field)}${field}:${objects.length > 0 ? '' : ' []'}\n`
    for (const object of objects) yield yamlText([JSON.parse(render(object)) as Json])
    yield part((name) => name > field)
  },
}
