/** Rules, the schemas that they are in, and what a real server answers to objects. */

// deno-lint-ignore no-explicit-any -- schemas and objects are JSON
type Json = any

/** A new object, or an update from an old one. */
type Spec = Json | { readonly old: Json; readonly new: Json }

export interface RuleCase {
  readonly rule: string
  /** The properties of the object that has the rule. */
  readonly fields: Readonly<Record<string, Json>>
  readonly accepted: readonly Spec[]
  /** Objects that break the rule. */
  readonly broken?: readonly Spec[]
  /** Objects for which the rule fails, with the message. */
  readonly failing?: readonly (readonly [spec: Spec, message: string])[]
}

const INT = { type: 'integer' }
const BOOL = { type: 'boolean' }
const DOUBLE = { type: 'number' }
const TEXT = { type: 'string', maxLength: 20 }

function list(items: Json, more: Json = {}): Json {
  return { type: 'array', maxItems: 10, items, ...more }
}

function object(properties: Json, more: Json = {}): Json {
  return { type: 'object', properties, ...more }
}

function map(values: Json): Json {
  return { type: 'object', maxProperties: 10, additionalProperties: values }
}

export const RULES: Readonly<Record<string, readonly RuleCase[]>> = {
  operators: [
    {
      rule: 'self.a > 1',
      fields: { a: INT },
      accepted: [{ a: 2 }],
      broken: [{ a: 1 }],
      failing: [[{}, 'no such key: a evaluating rule']],
    },
    { rule: 'self.a <= self.b', fields: { a: INT, b: INT }, accepted: [{ a: 1, b: 1 }], broken: [{ a: 2, b: 1 }] },
    {
      rule: 'self.a + 1 < self.d',
      fields: { a: INT, d: DOUBLE },
      accepted: [{ a: 1, d: 2.5 }],
      broken: [{ a: 1, d: 2 }],
    },
    {
      rule: 'self.a / self.b == 2',
      fields: { a: INT, b: INT },
      accepted: [{ a: 5, b: 2 }],
      failing: [[{ a: 5, b: 0 }, 'division by zero evaluating rule']],
    },
    {
      rule: 'self.a % self.b == 1',
      fields: { a: INT, b: INT },
      accepted: [{ a: 5, b: 2 }],
      broken: [{ a: -5, b: 2 }],
      failing: [[{ a: 5, b: 0 }, 'modulus by zero evaluating rule']],
    },
    {
      rule: 'self.a * 2 > 0',
      fields: { a: INT },
      accepted: [{ a: 3 }],
      failing: [[{ a: 4611686018427388000 }, 'integer overflow evaluating rule']],
    },
    { rule: 'self.d / 0.0 > 1.0', fields: { d: DOUBLE }, accepted: [{ d: 1.5 }], broken: [{ d: -1 }] },
    { rule: 'has(self.a) || has(self.b)', fields: { a: INT, b: INT }, accepted: [{ a: 1 }, { b: 1 }], broken: [{}] },
    {
      rule: 'has(self.a) ? self.a > 1 : self.b > 1',
      fields: { a: INT, b: INT },
      accepted: [{ a: 2 }, { b: 2 }],
      broken: [{ a: 0 }],
      failing: [[{}, 'no such key: b evaluating rule']],
    },
    {
      rule: 'self.a > 1 || self.b > 1',
      fields: { a: INT, b: INT },
      accepted: [{ b: 2 }, { a: 2 }],
      failing: [[{}, 'no such key: a evaluating rule'], [{ a: 0 }, 'no such key: b evaluating rule']],
    },
    {
      rule: 'self.a > 1 && self.b > 1',
      fields: { a: INT, b: INT },
      accepted: [],
      broken: [{ a: 0 }, { b: 0 }],
      failing: [[{ a: 2 }, 'no such key: b evaluating rule']],
    },
    {
      rule: '!self.f || self.a == 0',
      fields: { a: INT, f: BOOL },
      accepted: [{ f: false, a: 1 }],
      broken: [{ f: true, a: 1 }],
    },
    {
      rule: 'self.n == 1',
      fields: { n: { type: 'integer', nullable: true } },
      accepted: [{ n: 1 }],
      failing: [[{ n: null }, 'no such key: n evaluating rule']],
    },
    {
      rule: 'has(self.n)',
      fields: { n: { type: 'integer', nullable: true } },
      accepted: [],
      broken: [{ n: null }, {}],
    },
    { rule: "self.s < 'b'", fields: { s: TEXT }, accepted: [{ s: 'a' }], broken: [{ s: 'c' }] },
    { rule: 'self.a in [1, 2]', fields: { a: INT }, accepted: [{ a: 1 }], broken: [{ a: 3 }] },
    {
      rule: 'self.o[0] == self.o[1]',
      fields: { o: list(object({ x: INT })) },
      accepted: [{ o: [{ x: 1 }, { x: 1 }] }],
      broken: [{ o: [{ x: 1 }, { x: 2 }] }, { o: [{ x: 1 }, {}] }],
    },
    { rule: 'self.l == [1, 2]', fields: { l: list(INT) }, accepted: [{ l: [1, 2] }], broken: [{ l: [2, 1] }] },
    {
      rule: 'self.l[1] == 2',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }],
      broken: [{ l: [1, 3] }],
      failing: [[{ l: [1] }, 'index out of bounds: 1 evaluating rule']],
    },
    {
      rule: "self.m['a'] == 2",
      fields: { m: map(INT) },
      accepted: [{ m: { a: 2 } }],
      failing: [[{ m: { b: 2 } }, 'no such key: a evaluating rule']],
    },
    {
      rule: 'self.m.a == 2',
      fields: { m: map(INT) },
      accepted: [{ m: { a: 2 } }],
      failing: [[{ m: { b: 2 } }, 'no such key: a evaluating rule']],
    },
    { rule: "'a' in self.m", fields: { m: map(INT) }, accepted: [{ m: { a: 2 } }], broken: [{ m: { b: 2 } }] },
    {
      rule: 'size(self.l) == 2 && self.l.size() == 2',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }],
      broken: [{ l: [] }],
    },
    {
      rule: 'type(self.a) == int && type(self.s) == string && type(self.l) == list',
      fields: { a: INT, s: TEXT, l: list(INT) },
      accepted: [{ a: 1, s: 'x', l: [] }],
    },
    { rule: 'dyn(self.a) == 1.0', fields: { a: INT }, accepted: [{ a: 1 }], broken: [{ a: 2 }] },
    { rule: "dyn(self.a) == 'x'", fields: { a: INT }, accepted: [], broken: [{ a: 1 }] },
    { rule: 'self.l + [3] == [1, 3]', fields: { l: list(INT) }, accepted: [{ l: [1] }], broken: [{ l: [] }] },
    {
      rule: 'int(self.s) > 1',
      fields: { s: TEXT },
      accepted: [{ s: '2' }],
      broken: [{ s: '1' }],
      failing: [[{ s: 'x' }, "type conversion error from 'string' to 'int' evaluating rule"]],
    },
    {
      rule: 'double(self.s) > 1.0',
      fields: { s: TEXT },
      accepted: [{ s: '2' }, { s: '1e3' }],
      failing: [[{ s: 'x' }, "type conversion error from 'string' to 'double' evaluating rule"]],
    },
    {
      rule: 'bool(self.s)',
      fields: { s: TEXT },
      accepted: [{ s: 'true' }],
      failing: [[{ s: 'no' }, "type conversion error from 'string' to 'bool' evaluating rule"]],
    },
    { rule: "string(self.a) == '1'", fields: { a: INT }, accepted: [{ a: 1 }], broken: [{ a: 2 }] },
    { rule: "string(self.d) == '1.5'", fields: { d: DOUBLE }, accepted: [{ d: 1.5 }], broken: [{ d: 2 }] },
    {
      rule: 'int(self.d) == 1',
      fields: { d: DOUBLE },
      accepted: [{ d: 1.9 }],
      failing: [[{ d: 1e+30 }, 'integer overflow evaluating rule']],
    },
  ],
  macros: [
    {
      rule: 'self.l.all(x, x > 0)',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }, { l: [] }],
      broken: [{ l: [1, 0] }],
    },
    {
      rule: 'self.l.exists(x, 6 / x == 2)',
      fields: { l: list(INT) },
      accepted: [{ l: [0, 3] }],
      broken: [{ l: [1] }],
      failing: [[{ l: [0] }, 'division by zero evaluating rule']],
    },
    {
      rule: 'self.l.all(x, 6 / x == 2)',
      fields: { l: list(INT) },
      accepted: [],
      broken: [{ l: [0, 1] }],
      failing: [[{ l: [0, 3] }, 'division by zero evaluating rule']],
    },
    {
      rule: 'self.l.exists_one(x, x == 1)',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }],
      broken: [{ l: [1, 1] }, { l: [] }],
    },
    {
      rule: 'self.l.filter(x, x > 1).map(x, x * 2) == [4, 6]',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2, 3] }],
      broken: [{ l: [2] }],
    },
    {
      rule: 'self.l.map(x, x > 1, x * 2) == [4, 6]',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2, 3] }],
      broken: [{ l: [2] }],
    },
    {
      rule: 'self.m.all(k, self.m[k] > 0)',
      fields: { m: map(INT) },
      accepted: [{ m: { a: 1 } }],
      broken: [{ m: { a: 0 } }],
    },
    {
      rule: "self.m.exists(k, k.startsWith('a'))",
      fields: { m: map(INT) },
      accepted: [{ m: { ab: 1 } }],
      broken: [{ m: { b: 0 } }],
    },
    {
      rule: 'self.l.all(i, x, i < 1 || x > self.l[i - 1])',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }],
      broken: [{ l: [2, 1] }],
    },
    {
      rule: 'self.m.all(k, v, v > 0 && size(k) > 1)',
      fields: { m: map(INT) },
      accepted: [{ m: { ab: 1 } }],
      broken: [{ m: { a: 1 } }],
    },
    {
      rule: 'self.m.exists(k, v, v == 2)',
      fields: { m: map(INT) },
      accepted: [{ m: { ab: 2 } }],
      broken: [{ m: { a: 1 } }],
    },
    {
      rule: 'self.l.existsOne(i, x, i == x)',
      fields: { l: list(INT) },
      accepted: [{ l: [0, 2] }],
      broken: [{ l: [0, 1] }],
    },
    {
      rule: 'self.l.transformList(i, x, i + x) == [1, 3]',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }],
      broken: [{ l: [] }],
    },
    {
      rule: 'self.l.transformMap(i, x, x * 2)[1] == 4',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }],
      failing: [[{ l: [1] }, 'no such key: 1 evaluating rule']],
    },
    {
      rule: "self.m.transformMapEntry(k, v, {string(v): k})['1'] == 'a'",
      fields: { m: map(INT) },
      accepted: [{ m: { a: 1 } }],
      failing: [[{ m: { a: 1, b: 1 } }, 'insert failed: key 1 already exists evaluating rule'], [
        { m: {} },
        'no such key: 1 evaluating rule',
      ]],
    },
    {
      rule: 'self.ll.all(x, x.exists(y, y == 1))',
      fields: { ll: list(list(INT)) },
      accepted: [{ ll: [[1], [2, 1]] }],
      broken: [{ ll: [[]] }],
    },
    {
      rule: 'self.l.map(x, self.l.map(y, x * y)).flatten().sum() == 9',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }],
      broken: [{ l: [2] }],
    },
  ],
  strings: [
    {
      rule: "self.s.startsWith('a') && self.s.endsWith('z') && self.s.contains('m')",
      fields: { s: TEXT },
      accepted: [{ s: 'amz' }],
      broken: [{ s: 'az' }],
    },
    { rule: "self.s.matches('^[a-z]+$')", fields: { s: TEXT }, accepted: [{ s: 'abc' }], broken: [{ s: 'aB' }] },
    {
      rule: "self.s.matches('(?i)^[[:alpha:]]+\\\\z')",
      fields: { s: TEXT },
      accepted: [{ s: 'aBc' }],
      broken: [{ s: 'a1' }],
    },
    {
      rule: 'self.s.matches(self.p)',
      fields: { s: TEXT, p: TEXT },
      accepted: [{ s: 'aa', p: 'a+' }],
      failing: [[{ s: 'a', p: '[' }, 'error parsing regexp: missing closing ]: `[` evaluating rule']],
    },
    { rule: "self.s.find('[0-9]+') == '12'", fields: { s: TEXT }, accepted: [{ s: 'a12b3' }], broken: [{ s: 'a' }] },
    {
      rule: "self.s.findAll('[0-9]+') == ['1', '2']",
      fields: { s: TEXT },
      accepted: [{ s: 'a1b2' }],
      broken: [{ s: 'a1' }],
    },
    { rule: "self.s.findAll('[0-9]', 1) == ['1']", fields: { s: TEXT }, accepted: [{ s: 'a1b2' }] },
    {
      rule: "self.s.lowerAscii() == 'abÉ' && self.s.upperAscii() == 'ABÉ'",
      fields: { s: TEXT },
      accepted: [{ s: 'aBÉ' }],
      broken: [{ s: 'É' }],
    },
    {
      rule: "self.s.replace('a', 'b') == 'bb' || self.s.replace('a', 'b', 1) == 'ba'",
      fields: { s: TEXT },
      accepted: [{ s: 'aa' }, { s: 'ab' }],
      broken: [{ s: 'c' }],
    },
    {
      rule: "self.s.split(',').size() == 3 && self.s.split(',', 2)[1] == 'b,c'",
      fields: { s: TEXT },
      accepted: [{ s: 'a,b,c' }],
      broken: [{ s: 'a' }],
    },
    {
      rule: "self.l.join('-') == 'a-b'",
      fields: { l: list(TEXT) },
      accepted: [{ l: ['a', 'b'] }],
      broken: [{ l: [] }],
    },
    {
      rule: "self.s.substring(1, 3) == 'bc' && self.s.substring(1) == 'bcd'",
      fields: { s: TEXT },
      accepted: [{ s: 'abcd' }],
      broken: [{ s: 'a' }, { s: 'x' }],
    },
    {
      rule: "self.s.charAt(1) == 'é' && self.s.indexOf('c') == 2 && self.s.lastIndexOf('a') == 3",
      fields: { s: TEXT },
      accepted: [{ s: 'aéca' }],
      broken: [{ s: 'x' }],
    },
    { rule: "self.s.trim() == 'a'", fields: { s: TEXT }, accepted: [{ s: ' a\t' }], broken: [{ s: 'b' }] },
    { rule: 'self.s.size() == 2', fields: { s: TEXT }, accepted: [{ s: 'é😀' }], broken: [{ s: 'a' }] },
    {
      rule: "'%s is %d, %.2f'.format([self.s, self.a, self.d]) == 'x is 1, 1.50'",
      fields: { s: TEXT, a: INT, d: DOUBLE },
      accepted: [{ s: 'x', a: 1, d: 1.5 }],
      broken: [{ s: 'y', a: 1, d: 1 }],
    },
    {
      rule: 'strings.quote(self.s) == \'"a\\\\nb"\'',
      fields: { s: TEXT },
      accepted: [{ s: 'a\nb' }],
      broken: [{ s: 'a' }],
    },
  ],
  lists: [
    {
      rule: 'self.l.isSorted() && self.l.sum() == 6 && self.l.min() == 1 && self.l.max() == 3',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2, 3] }],
      broken: [{ l: [3, 2, 1] }],
    },
    {
      rule: 'self.l.min() == 1',
      fields: { l: list(INT) },
      accepted: [],
      failing: [[{ l: [] }, 'min called on empty list evaluating rule']],
    },
    {
      rule: 'self.l.indexOf(2) == 1 && self.l.lastIndexOf(2) == 2',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2, 2] }],
      broken: [{ l: [] }],
    },
    {
      rule: 'sets.contains(self.l, [1, 2]) && sets.intersects(self.l, [3])',
      fields: { l: list(INT) },
      accepted: [{ l: [3, 2, 1] }],
      broken: [{ l: [1, 2] }],
    },
    {
      rule: 'sets.equivalent(self.l, [1, 2])',
      fields: { l: list(INT) },
      accepted: [{ l: [2, 1, 1] }],
      broken: [{ l: [1] }],
    },
    {
      rule: 'self.l.distinct().size() == self.l.size()',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }],
      broken: [{ l: [1, 1] }],
    },
    {
      rule: 'self.l.sort() == [1, 2] && self.l.reverse() == [1, 2]',
      fields: { l: list(INT) },
      accepted: [{ l: [2, 1] }],
      broken: [{ l: [1, 2] }],
    },
    {
      rule: 'self.l.slice(0, 2) == [1, 2]',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2, 3] }],
      failing: [[{ l: [1] }, 'cannot slice(0, 2), list is length 1 evaluating rule']],
    },
    {
      rule: "self.o.sortBy(x, x.k)[0].k == 'a'",
      fields: { o: list(object({ k: TEXT })) },
      accepted: [{ o: [{ k: 'b' }, { k: 'a' }] }],
      broken: [{ o: [{ k: 'b' }] }],
    },
    {
      rule: "self.t == ['a', 'b']",
      fields: { t: list(TEXT, { 'x-kubernetes-list-type': 'set' }) },
      accepted: [{ t: ['b', 'a'] }],
      broken: [{ t: ['a'] }],
    },
    {
      rule: "['a', 'b'] == self.t",
      fields: { t: list(TEXT, { 'x-kubernetes-list-type': 'set' }) },
      accepted: [{ t: ['a', 'b'] }],
      broken: [{ t: ['b', 'a'] }],
    },
    {
      rule: "(self.t + ['a', 'c']).size() == 3",
      fields: { t: list(TEXT, { 'x-kubernetes-list-type': 'set' }) },
      accepted: [{ t: ['b', 'a'] }, { t: ['b'] }],
    },
    {
      rule: 'self.x == oldSelf.x',
      fields: {
        x: list(object({ k: TEXT, v: INT }, { required: ['k'] }), {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
        }),
      },
      accepted: [{ old: { x: [{ k: 'a', v: 1 }, { k: 'b' }] }, new: { x: [{ k: 'b' }, { k: 'a', v: 1 }] } }],
      broken: [{ old: { x: [{ k: 'a', v: 1 }, { k: 'b' }] }, new: { x: [{ k: 'a', v: 2 }, { k: 'b' }] } }],
    },
    {
      rule: '(self.x + oldSelf.x).size() == 2 && (self.x + oldSelf.x)[0].v == 2',
      fields: {
        x: list(object({ k: TEXT, v: INT }, { required: ['k'] }), {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
        }),
      },
      accepted: [{ old: { x: [{ k: 'a', v: 2 }] }, new: { x: [{ k: 'a', v: 1 }, { k: 'b' }] } }],
      broken: [{ old: { x: [{ k: 'a', v: 2 }] }, new: { x: [{ k: 'a', v: 1 }] } }],
    },
    {
      rule: 'self.t == oldSelf.t && self.t != ["x"]',
      fields: { t: list(TEXT, { 'x-kubernetes-list-type': 'set' }) },
      accepted: [{ old: { t: ['b', 'a'] }, new: { t: ['a', 'b'] } }],
      broken: [{ old: { t: ['b', 'a'] }, new: { t: ['a'] } }],
    },
    {
      rule: 'lists.range(3) == [0, 1, 2] && self.l.first().orValue(0) == 1',
      fields: { l: list(INT) },
      accepted: [{ l: [1] }],
      broken: [{ l: [] }],
    },
  ],
  optionals: [
    { rule: 'self.?a.orValue(5) == 5', fields: { a: INT }, accepted: [{}, { a: 5 }], broken: [{ a: 1 }] },
    {
      rule: "self.?o.?x.optMap(v, v == 'a').orValue(true)",
      fields: { o: object({ x: TEXT }) },
      accepted: [{}, { o: { x: 'a' } }],
      broken: [{ o: { x: 'b' } }],
    },
    {
      rule: 'self.l[?1].hasValue() && self.l[?1].value() == 2',
      fields: { l: list(INT) },
      accepted: [{ l: [1, 2] }],
      broken: [{ l: [1] }],
    },
    { rule: "self.m[?'a'].orValue(1) == 1", fields: { m: map(INT) }, accepted: [{ m: {} }], broken: [{ m: { a: 2 } }] },
    {
      rule: 'optional.of(self.a) == optional.of(1) && optional.ofNonZeroValue(self.b) == optional.none()',
      fields: { a: INT, b: INT },
      accepted: [{ a: 1, b: 0 }],
      broken: [{ a: 1, b: 1 }],
    },
    {
      rule: 'self.?a.or(self.?b).value() == 1',
      fields: { a: INT, b: INT },
      accepted: [{ b: 1 }, { a: 1, b: 2 }],
      failing: [[{}, 'optional.none() dereference evaluating rule']],
    },
    {
      rule: "self.?o.optFlatMap(v, v.?x).orValue('') == ''",
      fields: { o: object({ x: TEXT }) },
      accepted: [{}, { o: {} }],
      broken: [{ o: { x: 'a' } }],
    },
  ],
  values: [
    {
      rule: "self.t > timestamp('2020-01-01T00:00:00Z') && self.t.getFullYear() == 2020",
      fields: { t: { type: 'string', format: 'date-time' } },
      accepted: [{ t: '2020-06-01T00:00:00Z' }],
      broken: [{ t: '2019-06-01T00:00:00Z' }],
    },
    {
      rule:
        "self.t.getHours('+02:00') == 1 && self.t.getDayOfWeek() == 3 && self.t.getMonth() == 11 && self.t.getDate() == 31 && self.t.getDayOfYear() == 364",
      fields: { t: { type: 'string', format: 'date-time' } },
      accepted: [{ t: '2025-12-31T23:30:00Z' }],
      broken: [{ t: '2020-01-01T01:30:00+02:00' }],
    },
    {
      rule: "self.t.getHours('America/New_York') == 18",
      fields: { t: { type: 'string', format: 'date-time' } },
      accepted: [{ t: '2025-12-31T23:30:00Z' }],
    },
    {
      rule: "self.d > duration('1h') && self.d.getMinutes() == 90",
      fields: { d: { type: 'string', format: 'duration' } },
      accepted: [{ d: '1h30m' }],
      broken: [{ d: '5m' }],
    },
    {
      rule: "self.t + self.d == timestamp('2020-01-01T01:00:00Z')",
      fields: { t: { type: 'string', format: 'date-time' }, d: { type: 'string', format: 'duration' } },
      accepted: [{ t: '2020-01-01T00:00:00Z', d: '1h' }],
      broken: [{ t: '2020-01-01T00:00:00.5Z', d: '1h' }],
    },
    {
      rule: 'self.y.getMonth() == 1',
      fields: { y: { type: 'string', format: 'date' } },
      accepted: [{ y: '2020-02-03' }],
      broken: [{ y: '2020-03-03' }],
    },
    {
      rule: "self.b == b'abc' && size(self.b) == 3",
      fields: { b: { type: 'string', format: 'byte' } },
      accepted: [{ b: 'YWJj' }],
      broken: [{ b: 'YQ==' }],
    },
    {
      rule: "string(self.b) == 'abc'",
      fields: { b: { type: 'string', format: 'byte' } },
      accepted: [{ b: 'YWJj' }],
      failing: [[
        { b: '/w==' },
        'Invalid byte formatted string /w==: illegal base64 data at input byte 0 evaluating rule',
      ]],
    },
    {
      rule: "type(self.p) == int ? self.p < 100 : self.p.endsWith('%')",
      fields: { p: { 'x-kubernetes-int-or-string': true } },
      accepted: [{ p: 5 }, { p: '5%' }],
      broken: [{ p: 500 }, { p: '5' }],
    },
    {
      rule: 'self.p > 5',
      fields: { p: { 'x-kubernetes-int-or-string': true } },
      accepted: [{ p: 6 }],
      failing: [[
        { p: 'x' },
        "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.p > 5",
      ]],
    },
    {
      rule: "self.p.startsWith('x')",
      fields: { p: { 'x-kubernetes-int-or-string': true } },
      accepted: [{ p: 'xy' }],
      failing: [[
        { p: 6 },
        "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.p.startsWith('x')",
      ]],
    },
    {
      rule:
        'self.x__dash__y == 1 && self.__namespace__ == 2 && self.a__dot__b == 3 && self.c__slash__d == 4 && self.e__underscores__f == 5 && self.__if__ == 6',
      fields: { 'x-y': INT, namespace: INT, 'a.b': INT, 'c/d': INT, e__f: INT, if: INT },
      accepted: [{ 'x-y': 1, namespace: 2, 'a.b': 3, 'c/d': 4, e__f: 5, if: 6 }],
      broken: [{ 'x-y': 2 }],
    },
    {
      rule: "self.e.kind == 'Pod' && self.e.metadata.name == 'x'",
      fields: {
        e: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      },
      accepted: [{ e: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } } }],
      broken: [{ e: { apiVersion: 'v1', kind: 'Foo', metadata: { name: 'x' } } }],
    },
    {
      rule: 'self.u.a == 1',
      fields: { u: object({ a: INT }, { 'x-kubernetes-preserve-unknown-fields': true }) },
      accepted: [{ u: { a: 1, z: 2 } }],
      failing: [[{ u: { z: 2 } }, 'no such key: a evaluating rule']],
    },
    {
      rule: 'self.u[0] == self.u[1]',
      fields: { u: list(object({ a: INT }, { 'x-kubernetes-preserve-unknown-fields': true })) },
      accepted: [{ u: [{ a: 1, z: 2 }, { a: 1, z: 2 }] }],
      broken: [{ u: [{ a: 1, z: 2 }, { a: 1 }] }, { u: [{ a: 1, z: 2 }, { a: 1, z: 3 }] }],
    },
    { rule: 'self.d == 1.0', fields: { d: DOUBLE }, accepted: [{ d: 1 }], broken: [{ d: 1.5 }] },
    {
      rule: "self.x == 'y'",
      fields: { x: { type: 'string', enum: ['x', 'y'] } },
      accepted: [{ x: 'y' }],
      broken: [{ x: 'x' }],
    },
  ],
  libraries: [
    {
      rule: 'isIP(self.s) && ip(self.s).family() == 4 && !ip(self.s).isLoopback()',
      fields: { s: TEXT },
      accepted: [{ s: '10.0.0.1' }],
      broken: [{ s: '127.0.0.1' }, { s: '::1' }, { s: 'x' }],
    },
    {
      rule: "ip(self.s) == ip('::1')",
      fields: { s: TEXT },
      accepted: [{ s: '0:0::1' }],
      failing: [
        [
          { s: '1' },
          'IP Address "1" parse error during conversion from string: ParseAddr("1"): unable to parse IP evaluating rule',
        ],
        [{ s: '::ffff:1.2.3.4' }, 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed evaluating rule'],
        [
          { s: '1.2.3.4.5' },
          'IP Address "1.2.3.4.5" parse error during conversion from string: ParseAddr("1.2.3.4.5"): IPv4 address too long evaluating rule',
        ],
        [
          { s: '1.2.3.256' },
          'IP Address "1.2.3.256" parse error during conversion from string: ParseAddr("1.2.3.256"): IPv4 field has value >255 evaluating rule',
        ],
      ],
    },
    { rule: 'ip.isCanonical(self.s)', fields: { s: TEXT }, accepted: [{ s: '::1' }], broken: [{ s: '0::1' }] },
    {
      rule:
        "cidr(self.s).containsIP('10.1.2.3') && cidr(self.s).prefixLength() == 8 && cidr(self.s).masked() == cidr(self.s)",
      fields: { s: TEXT },
      accepted: [{ s: '10.0.0.0/8' }],
      broken: [{ s: '10.1.0.0/8' }],
      failing: [[
        { s: '10.0.0.0' },
        'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0"): no \'/\' evaluating rule',
      ], [
        { s: '10.0.0.0/99' },
        'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/99"): prefix length out of range evaluating rule',
      ]],
    },
    {
      rule: "isCIDR(self.s) && cidr('10.0.0.0/8').containsCIDR(self.s)",
      fields: { s: TEXT },
      accepted: [{ s: '10.1.0.0/16' }],
      broken: [{ s: '11.0.0.0/8' }, { s: 'x' }],
    },
    {
      rule: "string(ip(self.s)) == '2001:db8::1' && ip(self.s).isGlobalUnicast()",
      fields: { s: { type: 'string', maxLength: 50 } },
      accepted: [{ s: '2001:0db8:0:0:0:0:0:1' }],
      broken: [{ s: '::2' }],
    },
    {
      rule:
        "isURL(self.s) && url(self.s).getHost() == 'a.b:80' && url(self.s).getHostname() == 'a.b' && url(self.s).getPort() == '80' && url(self.s).getScheme() == 'https' && url(self.s).getEscapedPath() == '/p' && url(self.s).getQuery() == {'q': ['1', '2']}",
      fields: { s: { type: 'string', maxLength: 50 } },
      accepted: [{ s: 'https://a.b:80/p?q=1&q=2' }],
      broken: [{ s: 'https://a.b' }, { s: '../x' }],
    },
    {
      rule: "url(self.s).getHost() == ''",
      fields: { s: TEXT },
      accepted: [{ s: '/a' }],
      failing: [[
        { s: 'x y' },
        'URL parse error during conversion from string: parse "x y": invalid URI for request evaluating rule',
      ], [{ s: '' }, 'URL parse error during conversion from string: parse "": empty url evaluating rule']],
    },
    {
      rule: "quantity(self.s).isGreaterThan(quantity('1Gi')) && isQuantity(self.s)",
      fields: { s: TEXT },
      accepted: [{ s: '2Gi' }],
      broken: [{ s: '1G' }, { s: 'x' }, { s: '1Xi' }],
    },
    {
      rule: 'quantity(self.s).asInteger() == 5 && quantity(self.s).isInteger() && sign(quantity(self.s)) == 1',
      fields: { s: TEXT },
      accepted: [{ s: '5' }],
      broken: [{ s: '5.5' }, { s: '6' }],
    },
    {
      rule:
        "quantity(self.s).add(quantity('1')).sub(1) == quantity('500m') && quantity(self.s).compareTo(quantity('1')) == -1",
      fields: { s: TEXT },
      accepted: [{ s: '0.5' }],
      broken: [{ s: '2' }],
    },
    {
      rule: "semver(self.s).isGreaterThan(semver('1.2.3')) && semver(self.s).major() == 1",
      fields: { s: TEXT },
      accepted: [{ s: '1.3.0' }],
      broken: [{ s: '1.2.3-alpha' }],
      failing: [[{ s: 'v1.3' }, 'No Major.Minor.Patch elements found evaluating rule'], [
        { s: '1.2' },
        'No Major.Minor.Patch elements found evaluating rule',
      ]],
    },
    {
      rule: "isSemver(self.s, true) && semver(self.s, true) == semver('1.2.0')",
      fields: { s: TEXT },
      accepted: [{ s: 'v1.2' }, { s: '01.02.00' }],
      broken: [{ s: 'x' }],
    },
    {
      rule: '!format.dns1123Label().validate(self.s).hasValue()',
      fields: { s: TEXT },
      accepted: [{ s: 'abc' }],
      broken: [{ s: 'A' }],
    },
    {
      rule:
        "format.named('uuid').hasValue() && !format.named('nope').hasValue() && format.labelValue().validate(self.s).orValue(['']).size() == 1",
      fields: { s: TEXT },
      accepted: [{ s: 'a' }, { s: '-' }],
    },
    {
      rule: "format.qualifiedName().validate(self.s).value()[0] == ''",
      fields: { s: TEXT },
      accepted: [],
      broken: [{ s: 'a/b/c' }],
      failing: [[{ s: 'a' }, 'optional.none() dereference evaluating rule']],
    },
  ],
  transitions: [
    {
      rule: 'self.a == oldSelf.a',
      fields: { a: INT },
      accepted: [{ a: 1 }, { old: { a: 1 }, new: { a: 1, z: 1 } }],
      broken: [{ old: { a: 1 }, new: { a: 2 } }],
      failing: [[{ old: { a: 1 }, new: {} }, 'no such key: a evaluating rule']],
    },
    {
      rule: 'self.a >= oldSelf.a',
      fields: { a: INT },
      accepted: [{ old: { a: 2 }, new: { a: 3 } }],
      broken: [{ old: { a: 2 }, new: { a: 1 } }],
    },
    {
      rule: '!has(oldSelf.a) || has(self.a)',
      fields: { a: INT, b: INT },
      accepted: [{ old: { a: 2 }, new: { a: 3 } }],
      broken: [{ old: { a: 2 }, new: { b: 1 } }],
    },
  ],
}
