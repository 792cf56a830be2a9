/** Applies, patches and updates by several managers, of kinds with schemas that are drawn. */
import { APPLY, type Body, MERGE } from '../api.ts'
import type { Chance } from '../../tools/chance.ts'
import { canonical, definition, type Drawn, refusal, type Server } from './server.ts'

const GROUP = 'applies.example.com'
const [OBJECTS, WRITES] = [5, 12]

const SCALARS: readonly (readonly [schema: Body, fallback: unknown])[] = [
  [{ type: 'string' }, 'd'],
  [{ type: 'integer' }, 7],
  [{ type: 'boolean' }, true],
  [{ type: 'number' }, 1.5],
  [{ 'x-kubernetes-int-or-string': true }, 'd'],
]

function scalar(chance: Chance): Body {
  const [schema, fallback] = chance.pick(SCALARS)
  return { ...schema, ...(chance.isIn(0.25) ? { default: fallback } : chance.isIn(0.15) && { nullable: true }) }
}

function schemaOf(chance: Chance, depth: number): Body {
  if (depth === 0) return scalar(chance)
  const inner = (): Body => schemaOf(chance, depth - 1)
  switch (chance.below(8)) {
    case 0:
    case 1: {
      const properties = Object.fromEntries(['a', 'b', 'c'].slice(chance.below(3)).map((name) => [name, inner()]))
      const open = 'x-kubernetes-preserve-unknown-fields'
      const kind = chance.pick([{}, {}, {}, { 'x-kubernetes-map-type': 'atomic' }, { [open]: true }, {
        nullable: true,
      }])
      return { type: 'object', properties, ...kind, ...(chance.isIn(0.15) && { default: {} }) }
    }
    case 2:
      return {
        type: 'object',
        additionalProperties: inner(),
        ...(chance.isIn(0.2) && { 'x-kubernetes-map-type': 'atomic' }),
      }
    case 3:
    case 4: {
      const keys = chance.isIn(0.3) ? ['k', 'p'] : ['k']
      const port = { type: 'string', ...(chance.isIn(0.5) && { default: 'TCP' }) }
      const properties: Body = { k: chance.pick(SCALARS.slice(0, 2))[0], ...(keys[1] && { p: port }), v: inner() }
      const required = keys.filter((key) => properties[key].default === undefined)
      const items = { type: 'object', required, properties }
      return { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys, items }
    }
    case 5:
      return { type: 'array', 'x-kubernetes-list-type': 'set', items: chance.pick(SCALARS.slice(0, 2))[0] }
    case 6:
      return { type: 'array', items: inner() }
    default:
      return chance.isIn(0.5) ? scalar(chance) : { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  }
}

function valueOf(schema: Body, chance: Chance): Body {
  const { type, properties = {}, additionalProperties, items, required = [], nullable } = schema
  if (nullable && chance.isIn(0.2)) return null
  if (type === 'array') {
    const all = Array.from({ length: chance.below(4) }, () => valueOf(items, chance)).filter((each) => each !== null)
    const keys: readonly string[] | undefined = schema['x-kubernetes-list-map-keys']
    const idOf = (item: Body): string =>
      JSON.stringify(keys ? keys.map((key) => item[key] ?? items.properties[key].default) : item)
    return schema['x-kubernetes-list-type'] ? [...new Map(all.map((item) => [idOf(item), item])).values()] : all
  }
  if (type !== 'object') {
    return chance.pick<unknown>(
      { string: ['x', 'y'], integer: [1, 2], number: [1, 2.5], boolean: [true, false] }[type as string] ?? [1, 'x'],
    )
  }
  const fields = additionalProperties ? { m: additionalProperties, n: additionalProperties } : properties
  const object = Object.fromEntries(
    Object.entries(fields as Body)
      .filter(([name]) => required.includes(name) || chance.isIn(0.6))
      .map(([name, field]) => [name, valueOf(field, chance)]),
  )
  if (schema['x-kubernetes-preserve-unknown-fields'] && chance.isIn(0.6)) {
    object['u'] = chance.pick<unknown>([1, ['a'], { deep: 1 }, [{ k: 1 }], [], {}])
  }
  return object
}

export async function* drawnApplies(server: Server, chance: Chance, seed: number): AsyncGenerator<Drawn> {
  const spec = {
    type: 'object',
    properties: { a: schemaOf(chance, 3), b: schemaOf(chance, 3), c: schemaOf(chance, 2) },
  }
  const status = { type: 'object', properties: { s: schemaOf(chance, 2) } }
  const created = definition(GROUP, `apply${seed}`, { spec, status })
  const refused = await server.define(created)
  yield { request: JSON.stringify(created), answer: refused === undefined ? 'defined' : 'refused' }
  if (refused !== undefined) return
  const { plural, kind } = created.spec.names
  for (let object = 0; object < OBJECTS; object++) {
    const name = `o${object}`
    let last: Body
    for (let write = 0; write < WRITES; write++) {
      const sub = chance.isIn(0.15) ? '/status' : ''
      const part = sub ? { status: valueOf(status, chance) } : { spec: valueOf(spec, chance) }
      const labels = chance.isIn(0.2) ? { labels: { x: chance.pick(['1', '2']) } } : {}
      const whole = { apiVersion: `${GROUP}/v1`, kind, metadata: { name, ...labels }, ...part }
      const query = `?fieldManager=${chance.pick(['one', 'two', 'three'])}`
      const path = `/apis/${GROUP}/v1/namespaces/default/${plural}/${name}${sub}${query}`
      const how = chance.below(6)
      const answer = how === 0
        ? await server.send('PATCH', path, part, MERGE)
        : how === 1
        ? await server.send('PUT', path, { ...last, ...part, metadata: { ...last?.metadata, name, ...labels } })
        : await server.send('PATCH', `${path}${how < 4 ? '&force=true' : ''}`, whole, APPLY)
      const isDone = answer.status < 300
      if (isDone) last = answer.body
      // Entries of one second are in an order by their time, which differs.
      const managed = (answer.body.metadata?.managedFields ?? []).map(canonical).sort()
      yield {
        request: `${['merge', 'put', 'force', 'force', 'apply', 'apply'][how]} ${path} ${JSON.stringify(whole)}`,
        answer: isDone
          ? canonical({ spec: last.spec, status: last.status, generation: last.metadata.generation, managed })
          : refusal(answer),
      }
    }
  }
}
