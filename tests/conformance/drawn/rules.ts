/** Rules of CEL that are drawn: whether a definition may have them, and what they say of values. */
import type { Body } from '../api.ts'
import type { Chance } from '../../tools/chance.ts'
import { definition, DEFINITIONS, type Drawn, type Server } from './server.ts'

const GROUP = 'rules.example.com'
const [RULES, EVALUATED, VALUES, MAX_LENGTH] = [160, 60, 4, 400]

/** By a type: expressions without parts, and those with parts, whose types are in braces. `x` is a variable there. */
const GRAMMAR: Readonly<Record<string, readonly [leaves: string, nodes: string]>> = {
  int: [
    'self.i | self.j | 0 | 1 | -1 | 2 | 7 | self.o.a | size(self.l) | size(self.s)',
    '{int} + {int} | {int} - {int} | ({int} * {int}) | {int} / {int} | {int} % {int} | size({str}) | size({ls}) | ' +
    'size({ms}) | int({str}) | int({dbl}) | int({ts}) | ({bool} ? {int} : {int}) | {li}[{int}] | {str}.indexOf({str}) | ' +
    '{str}.lastIndexOf({str}) | {ts}.getFullYear() | {ts}.getMonth() | {ts}.getDayOfYear() | {ts}.getDayOfWeek() | ' +
    "{ts}.getHours('Europe/Berlin') | {ts}.getMilliseconds() | {ts}.getDate() | {du}.getHours() | {du}.getSeconds() | " +
    '{du}.getMilliseconds() | {li}.sum() | {li}.min() | {li}.max() | -({int}) | {ls}.size() | {ls}.indexOf({str}) | ' +
    'self.?o.?a.orValue({int}) | math.abs({int}) | math.greatest({int}, {int}) | math.least({int}, {int}) | ' +
    'semver({str}).minor() | semver({str}).patch() | ' +
    'quantity({str}).asInteger() | {str}.indexOf({str}, {int}) | {str}.lastIndexOf({str}, {int}) | int(uint({int})) | ' +
    'size(bytes({str})) | ip({str}).family() | cidr({str}).prefixLength()',
  ],
  dbl: [
    'self.d | 1.5 | 0.0 | -2.5 | 1e10',
    '{dbl} + {dbl} | {dbl} - {dbl} | {dbl} * {dbl} | {dbl} / {dbl} | double({int}) | double({str}) | ' +
    '({bool} ? {dbl} : {dbl}) | math.ceil({dbl}) | math.floor({dbl}) | math.round({dbl}) | math.trunc({dbl})',
  ],
  str: [
    "self.s | self.t | self.o.c | '' | 'a' | 'ab' | 'A.b' | '10' | 'x/y' | 'é' | '1Gi' | '10.0.0.1' | 'a,b' | ' a ' | " +
    "'1.2.3' | '2.0.0-a' | '10.0.0.0/8' | '::1' | '1.5' | 'https://a.b:80/c?d=e'",
    '{str} + {str} | string({int}) | string({dbl}) | string({bool}) | string({ts}) | string({du}) | ' +
    '{str}.lowerAscii() | {str}.upperAscii() | {str}.trim() | {str}.reverse() | {str}.replace({str}, {str}) | ' +
    '{str}.replace({str}, {str}, {int}) | {str}.substring({int}) | {str}.substring({int}, {int}) | {str}.charAt({int}) | ' +
    '{ls}.join() | {ls}.join({str}) | {ls}[{int}] | {ms}[{str}] | self.?m[?{str}].orValue({str}) | ' +
    "{str}.find('[a-z]+') | strings.quote({str}) | '%s-%d'.format([{str}, {int}]) | '%.2f'.format([{dbl}]) | " +
    "'%x'.format([{int}]) | url({str}).getHost() | url({str}).getScheme() | ({bool} ? {str} : {str})",
  ],
  ls: [
    "self.l | ['a', 'b'] | []",
    '{ls} + {ls} | {str}.split({str}) | {str}.split({str}, {int}) | {ls}.filter(x, {bool x str}) | ' +
    "{ls}.map(x, {str x str}) | {ms}.map(x, {str x str}) | [{str}, {str}] | {str}.findAll('[a-z]') | {ls}.sort() | " +
    '{ls}.distinct() | {ls}.slice({int}, {int}) | self.m.transformList(k, v, k + v)',
  ],
  li: ['self.li | [1, 2] | []', '{li} + {li} | {li}.map(x, {int x int}) | {li}.filter(x, {bool x int}) | [{int}]'],
  ms: ["self.m | {'a': 'b'}", '{{str}: {str}} | self.m.transformMap(k, v, v)'],
  ts: ["self.ts | timestamp('2026-01-01T00:00:00Z')", 'timestamp({str}) | {ts} + {du} | {ts} - {du}'],
  du: ["self.du | duration('1h')", 'duration({str}) | {du} + {du} | {ts} - {ts}'],
  bool: [
    "self.b | true | has(self.o) | has(self.o.a) | !self.b | self.ios == 'a' | self.ios == 1",
    '{int} == {int} | {int} < {int} | {int} >= {int} | {str} == {str} | {str} < {str} | {str} != {str} | {dbl} < {dbl} | ' +
    '{dbl} == {dbl} | {int} < {dbl} | {ls} == {ls} | {ms} == {ms} | {ts} < {ts} | {du} > {du} | {bool} == {bool} | ' +
    '{str} in {ls} | {str} in {ms} | {int} in {li} | {str}.startsWith({str}) | {str}.endsWith({str}) | ' +
    "{str}.contains({str}) | {str}.matches('^a') | {str}.matches('[0-9]+$') | {ls}.all(x, {bool x str}) | " +
    '{ls}.exists(x, {bool x str}) | {li}.exists_one(x, {bool x int}) | {ms}.all(x, {bool x str}) | {bool} && {bool} | ' +
    '{bool} || {bool} | ({bool} && {bool}) | !({bool}) | ({bool} ? {bool} : {bool}) | {ls}.isSorted() | ' +
    'isQuantity({str}) | quantity({str}).isGreaterThan(quantity({str})) | isURL({str}) | isIP({str}) | isCIDR({str}) | ' +
    'ip({str}).isLoopback() | cidr({str}).containsIP({str}) | isSemver({str}) | {ls}.exists(i, x, {bool x str}) | ' +
    'format.dns1123Label().validate({str}).hasValue() | format.uuid().validate({str}).hasValue() | ' +
    'cel.bind(x, {int}, {bool x int}) | type({str}) == string | has(self.o) && {bool} | sets.contains({ls}, {ls}) | ' +
    'cidr({str}).containsCIDR(cidr({str})) | semver({str}).isLessThan(semver({str})) | {ts} == {ts} | {du} != {du} | ' +
    'sets.equivalent({ls}, {ls}) | optional.of({int}).hasValue() | self.ios != {str}',
  ],
}
const ALTERNATIVES = Object.fromEntries(
  Object.entries(GRAMMAR).map(([type, sides]) => [type, sides.map((side) => side.split(' | '))]),
)

function expression(chance: Chance, type: string, depth: number, variable?: string): string {
  if (variable === type && chance.isIn(0.4)) return 'x'
  const [leaves, nodes] = ALTERNATIVES[type]!
  return chance.pick(depth > 0 ? nodes! : leaves!).replace(
    /\{(\w+)(?: x (\w+))?\}/g,
    (_, part: string, bound?: string) => expression(chance, part, depth - 1, bound ?? variable),
  )
}

const text = (maxLength: number): Body => ({ type: 'string', maxLength })
const PROPERTIES: Body = {
  ...{ i: { type: 'integer' }, j: { type: 'integer' }, b: { type: 'boolean' }, d: { type: 'number' } },
  ...{ s: text(20), t: text(20), ts: { ...text(30), format: 'date-time' }, du: { ...text(20), format: 'duration' } },
  ...{
    l: { type: 'array', maxItems: 5, items: text(10) },
    li: { type: 'array', maxItems: 5, items: { type: 'integer' } },
  },
  m: { type: 'object', maxProperties: 4, additionalProperties: text(10) },
  o: { type: 'object', properties: { a: { type: 'integer' }, c: text(10) } },
  ios: { 'x-kubernetes-int-or-string': true, maxLength: 10 },
}

function valueOf(chance: Chance): Body {
  const word = (): string =>
    chance.pick(['', 'a', 'b', 'ab', 'A.b', '10', '-1', 'x/y', 'é', '1Gi', '10.0.0.1', 'a,b', ' a '])
  const some = <T>(of: () => T): T[] => Array.from({ length: chance.below(4) }, of)
  return {
    ...{
      i: chance.pick([0, 1, -3, 12]),
      j: chance.pick([5, -7, 1_000_000]),
      s: word(),
      t: word(),
      b: chance.isIn(0.5),
    },
    ...{ d: chance.pick([0, 1, 1.5, -2.25, 1e10]), l: some(word), li: some(() => chance.pick([0, 1, 2, 5, -1])) },
    m: Object.fromEntries(some(() => [chance.pick(['a', 'b', 'ab']), word()] as const)),
    ...(chance.isIn(0.8) && { o: { ...(chance.isIn(0.8) && { a: 1 }), ...(chance.isIn(0.8) && { c: word() }) } }),
    ts: chance.pick(['2026-03-04T05:06:07Z', '1999-12-31T23:59:59.123456Z', '2026-01-01T00:00:00+02:00']),
    ...{ du: chance.pick(['1h', '1h30m', '90s', '1.5s', '-2m']), ios: chance.pick([1, 'a', '10', 10]) },
  }
}

const ruled = (rule: string): Body => ({
  type: 'object',
  properties: PROPERTIES,
  'x-kubernetes-validations': [{ rule }],
})

export async function* drawnRules(server: Server, chance: Chance, seed: number): AsyncGenerator<Drawn> {
  const singular = `rule${seed}`
  const evaluated: { readonly name: string; readonly rule: string; readonly values: readonly Body[] }[] = []
  const accepted: Record<string, Body> = {}
  for (let at = 0; at < RULES; at++) {
    const rule = expression(chance, 'bool', chance.pick([1, 2, 2, 3, 3])).slice(0, MAX_LENGTH)
    const { status, body } = await server.send(
      'POST',
      `${DEFINITIONS}?dryRun=All`,
      definition(GROUP, singular, { spec: ruled(rule) }),
    )
    const isCostly = /estimated rule cost|exceeds budget/.test(body.message)
    yield { request: rule, answer: status === 201 ? 'accepted' : isCostly ? 'too expensive' : 'refused' }
    if (at >= EVALUATED) continue
    const name = `r${at}`
    evaluated.push({ name, rule, values: Array.from({ length: VALUES }, () => valueOf(chance)) })
    if (status === 201) accepted[name] = ruled(rule)
  }
  const refused = await server.define(definition(GROUP, singular, accepted))
  yield { request: 'all of them', answer: refused === undefined ? 'defined' : 'refused' }
  const path = `/apis/${GROUP}/v1/namespaces/default/${singular}s?dryRun=All`
  const id = { apiVersion: `${GROUP}/v1`, kind: singular.toUpperCase(), metadata: { name: 'x' } }
  for (const { name, rule, values } of evaluated) {
    for (const value of values) {
      const request = `${rule} of ${JSON.stringify(value)}`
      const { status, body } = accepted[name] && refused === undefined
        ? await server.send('POST', path, { ...id, [name]: value })
        : { status: 0, body: undefined }
      const answer = status === 0
        ? 'no rule'
        : status === 201
        ? 'holds'
        : body.message.includes('failed rule')
        ? 'fails'
        : 'error'
      yield { request, answer }
    }
  }
}
