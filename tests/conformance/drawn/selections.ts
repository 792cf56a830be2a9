/** Lists with selectors that are drawn. */
import type { Body } from '../api.ts'
import type { Chance } from '../../tools/chance.ts'
import { type Drawn, refusal, type Server } from './server.ts'

const [OBJECTS, LISTS] = [12, 150]
const PATH = '/api/v1/namespaces/default/configmaps'
const KEYS = ['a', 'b', 'x.dev/c', 'A', 'none', 'a b', '/a', 'x.dev/', '', '-a', 'in', 'notin', 'é', 'x'.repeat(64)]
const VALUES = [
  '',
  '1',
  '2',
  '10',
  'z',
  '-1',
  'a.b',
  'a b',
  '"1"',
  'in',
  'é',
  'x'.repeat(64),
  '01',
  '+1',
  '1.5',
  '9'.repeat(20),
]
const FIELDS = ['metadata.name', 'metadata.namespace', 'metadata.uid', 'a', 'metadata.name ']
const FIELD_VALUES = ['m1', 'm2', 'default', '', 'a\\,b', 'a\\=b', 'a=b', 'x\\', '*']

function requirement(chance: Chance): string {
  const [key, value, gap] = [chance.pick(KEYS), chance.pick(VALUES), chance.pick(['', '', ' ', '\t'])]
  const values = Array.from({ length: chance.below(4) }, () => chance.pick(VALUES)).join(chance.pick([',', ', ']))
  return chance.pick([
    `${gap}${key}${gap}${chance.pick(['=', '==', '!='])}${gap}${value}`,
    `${gap}${key}${gap}`,
    `!${gap}${key}`,
    `${key} ${chance.pick(['in', 'notin', 'IN', 'exists'])}${gap}(${values})`,
    `${key}${gap}${chance.pick(['>', '<', '>=', ' gt '])}${gap}${value}`,
  ])
}

const fieldTerm = (chance: Chance): string =>
  chance.pick(FIELDS) + chance.pick(['=', '==', '!=', '', '=!', ' = ']) + chance.pick(FIELD_VALUES)

export async function* drawnSelections(server: Server, chance: Chance, seed: number): AsyncGenerator<Drawn> {
  const own = `s${seed}-`
  for (let at = 0; at < OBJECTS; at++) {
    const labels = Object.fromEntries(
      ['a', 'b', 'x.dev/c', 'A'].slice(chance.below(4))
        .map((key) => [key, chance.pick(['', '1', '2', '10', 'z', 'a.b'])]),
    )
    await server.send('POST', PATH, { metadata: { name: `${own}m${at}`, labels } })
  }
  for (let list = 0; list < LISTS; list++) {
    const isOfLabels = chance.isIn(0.7)
    const terms = Array.from(
      { length: 1 + chance.below(2) },
      () => isOfLabels ? requirement(chance) : fieldTerm(chance),
    )
    const selector = terms.join(chance.pick([',', ', ', ',,']))
    const query = `${isOfLabels ? 'labelSelector' : 'fieldSelector'}=${encodeURIComponent(selector)}`
    const answer = await server.send('GET', `${PATH}?${query}`)
    const names = (answer.body.items ?? []).map(({ metadata }: Body) => metadata.name)
      .filter((name: string) => name.startsWith(own)).sort()
    yield { request: selector, answer: answer.status === 200 ? names.join() : refusal(answer) }
  }
}
