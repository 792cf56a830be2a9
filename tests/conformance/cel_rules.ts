/** Rules, the schemas that they are in, and objects to which they apply. */

// deno-lint-ignore no-explicit-any -- schemas and objects are JSON
type Json = any

/** A new object, or an update from an old one. */
type Spec = Json | { readonly old: Json; readonly new: Json }

/** A rule, the properties of the object that has it, and values of that object. */
export type RuleCase = readonly [rule: string, fields: Readonly<Record<string, Json>>, ...specs: readonly Spec[]]

const INT = { type: 'integer' }
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
    ['self.a > 1', { a: INT }, { a: 2 }, { a: 1 }, {}],
    ['self.a <= self.b', { a: INT, b: INT }, { a: 1, b: 1 }, { a: 2, b: 1 }],
    ['type(self.a) == int && type(self.s) == string && type(self.l) == list', { a: INT, s: TEXT, l: list(INT) }, {
      a: 1,
      s: 'x',
      l: [],
    }],
    ['self.l + [3] == [1, 3]', { l: list(INT) }, { l: [1] }, { l: [] }],
    ['int(self.s) > 1', { s: TEXT }, { s: '2' }, { s: '1' }, { s: 'x' }],
    ['double(self.s) > 1.0', { s: TEXT }, { s: '2' }, { s: '1e3' }, { s: 'x' }],
    ['bool(self.s)', { s: TEXT }, { s: 'true' }, { s: 'no' }],
    ["string(self.d) == '1.5'", { d: DOUBLE }, { d: 1.5 }, { d: 2 }],
    ['int(self.d) == 1', { d: DOUBLE }, { d: 1.9 }, { d: 1e+30 }],
    ["self.a == 1 || int(['a'][0]) == 1 || int('a' + 'b') == 1", { a: INT }, { a: 1 }, { a: 2 }],
    ["'%.2f %.0f'.format([self.d, self.d]) == '12,345.68 12,346'", { d: DOUBLE }, { d: 12345.678 }],
    [
      "'%e %.0e'.format([self.d, self.d]) == self.s",
      { d: DOUBLE, s: { type: 'string', maxLength: 50 } },
      { d: 12345.678, s: '1.234568×10⁰⁴ 1.234568×10⁰⁴' },
      { d: 1.5e-7, s: '1.500000×10⁻⁰⁷ 1.500000×10⁻⁰⁷' },
      { d: -1e-100, s: '-1.000000×10⁻¹⁰⁰ -1.000000×10⁻¹⁰⁰' },
      { d: 0, s: '0.000000×10⁰⁰ 0.000000×10⁰⁰' },
    ],
    ["'%.2f %f'.format([self.d, self.d]) == '-1,234,567.10 -1,234,567.100000'", { d: DOUBLE }, { d: -1234567.1 }],
    ["'%f'.format([self.d]) == '100,000,000,000,000,000,000.000000'", { d: DOUBLE }, { d: 1e20 }],
    ["'%d'.format([self.i]) == '12345'", { i: INT }, { i: 12345 }],
    ['self.a in []', { a: INT }, {}, { a: 1 }],
    ['[1].slice(size(self.l), -1).size() == 0', { l: list(INT) }, { l: [] }, { l: [1] }],
  ],
  syntax: [
    [
      'self.namespace == self.__namespace__ && self.o.if > 1 && has(self.o.__for__)',
      { namespace: TEXT, o: object({ if: INT, for: INT }) },
      { namespace: 'a', o: { if: 2, for: 1 } },
      { namespace: 'a', o: { if: 1, for: 1 } },
      { namespace: 'a', o: { if: 2 } },
      { o: { if: 2 } },
    ],
    ['[?self.?a, 2, ?self.?b] == [1, 2]', { a: INT, b: INT }, { a: 1 }, { a: 1, b: 3 }, {}],
    ["{?'x': self.?a, 'y': 2} == {'y': 2}", { a: INT }, {}, { a: 1 }],
    ['self.l.map(x, [?self.?a, x]) == [[1, 5]]', { a: INT, l: list(INT) }, { a: 1, l: [5] }, { l: [5] }],
    [
      'b"é".size() == 2 && b"\\xff\\377\\n" == b\'\\377\\xff\\012\' && br"\\x".size() == 2 && self.a == 1',
      { a: INT },
      { a: 1 },
      { a: 2 },
    ],
  ],
  macros: [
    ['self.l.all(x, x > 0)', { l: list(INT) }, { l: [1, 2] }, { l: [] }, { l: [1, 0] }],
    ['self.l.all(i, x, i < 1 || x > self.l[i - 1])', { l: list(INT) }, { l: [1, 2] }, { l: [2, 1] }],
    ['self.l.transformList(i, x, i + x) == [1, 3]', { l: list(INT) }, { l: [1, 2] }, { l: [] }],
    ['self.l.transformMap(i, x, x * 2)[1] == 4', { l: list(INT) }, { l: [1, 2] }, { l: [1] }],
    ["self.m.transformMapEntry(k, v, {string(v): k})['1'] == 'a'", { m: map(INT) }, { m: { a: 1 } }, {
      m: { a: 1, b: 1 },
    }, { m: {} }],
    ['self.l.map(x, self.l.map(y, x * y)).flatten().sum() == 9', { l: list(INT) }, { l: [1, 2] }, { l: [2] }],
  ],
  strings: [
    ["self.s.startsWith('a') && self.s.endsWith('z') && self.s.contains('m')", { s: TEXT }, { s: 'amz' }, { s: 'az' }],
    ["self.s.find('[0-9]+') == '12'", { s: TEXT }, { s: 'a12b3' }, { s: 'a' }],
    ["self.s.findAll('[0-9]', 1) == ['1']", { s: TEXT }, { s: 'a1b2' }],
    ["self.s.replace('a', 'b') == 'bb' || self.s.replace('a', 'b', 1) == 'ba'", { s: TEXT }, { s: 'aa' }, { s: 'ab' }, {
      s: 'c',
    }],
    ["self.s.split(',').size() == 3 && self.s.split(',', 2)[1] == 'b,c'", { s: TEXT }, { s: 'a,b,c' }, { s: 'a' }],
    ["self.s.substring(1, 3) == 'bc' && self.s.substring(1) == 'bcd'", { s: TEXT }, { s: 'abcd' }, { s: 'a' }, {
      s: 'x',
    }],
    [
      "self.s.charAt(1) == 'é' && self.s.indexOf('c') == 2 && self.s.lastIndexOf('a') == 3",
      { s: TEXT },
      { s: 'aéca' },
      { s: 'x' },
    ],
    ["'%s is %d, %.2f'.format([self.s, self.a, self.d]) == 'x is 1, 1.50'", { s: TEXT, a: INT, d: DOUBLE }, {
      s: 'x',
      a: 1,
      d: 1.5,
    }, { s: 'y', a: 1, d: 1 }],
    ['strings.quote(self.s) == \'"a\\\\nb"\'', { s: TEXT }, { s: 'a\nb' }, { s: 'a' }],
  ],
  lists: [
    ['self.l.isSorted() && self.l.sum() == 6 && self.l.min() == 1 && self.l.max() == 3', { l: list(INT) }, {
      l: [1, 2, 3],
    }, { l: [3, 2, 1] }],
    ['sets.equivalent(self.l, [1, 2])', { l: list(INT) }, { l: [2, 1, 1] }, { l: [1] }],
    ['self.l.distinct().size() == self.l.size()', { l: list(INT) }, { l: [1, 2] }, { l: [1, 1] }],
    ['self.l.sort() == [1, 2] && self.l.reverse() == [1, 2]', { l: list(INT) }, { l: [2, 1] }, { l: [1, 2] }],
    ['self.l.slice(0, 2) == [1, 2]', { l: list(INT) }, { l: [1, 2, 3] }, { l: [1] }],
    ["(self.t + ['a', 'c']).size() == 3", { t: list(TEXT, { 'x-kubernetes-list-type': 'set' }) }, { t: ['b', 'a'] }, {
      t: ['b'],
    }],
    [
      'self.x == oldSelf.x',
      {
        x: list(object({ k: TEXT, v: INT }, { required: ['k'] }), {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
        }),
      },
      { old: { x: [{ k: 'a', v: 1 }, { k: 'b' }] }, new: { x: [{ k: 'b' }, { k: 'a', v: 1 }] } },
      { old: { x: [{ k: 'a', v: 1 }, { k: 'b' }] }, new: { x: [{ k: 'a', v: 2 }, { k: 'b' }] } },
    ],
    [
      '(self.x + oldSelf.x).size() == 2 && (self.x + oldSelf.x)[0].v == 2',
      {
        x: list(object({ k: TEXT, v: INT }, { required: ['k'] }), {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
        }),
      },
      { old: { x: [{ k: 'a', v: 2 }] }, new: { x: [{ k: 'a', v: 1 }, { k: 'b' }] } },
      { old: { x: [{ k: 'a', v: 2 }] }, new: { x: [{ k: 'a', v: 1 }] } },
    ],
    ['lists.range(3) == [0, 1, 2] && self.l.first().orValue(0) == 1', { l: list(INT) }, { l: [1] }, { l: [] }],
  ],
  optionals: [
    ['self.l[?1].hasValue() && self.l[?1].value() == 2', { l: list(INT) }, { l: [1, 2] }, { l: [1] }],
    ["self.m[?'a'].orValue(1) == 1", { m: map(INT) }, { m: {} }, { m: { a: 2 } }],
    [
      'optional.of(self.a) == optional.of(1) && optional.ofNonZeroValue(self.b) == optional.none()',
      { a: INT, b: INT },
      { a: 1, b: 0 },
      { a: 1, b: 1 },
    ],
  ],
  values: [
    [
      "self.t > timestamp('2020-01-01T00:00:00Z') && self.t.getFullYear() == 2020",
      { t: { type: 'string', format: 'date-time' } },
      { t: '2020-06-01T00:00:00Z' },
      { t: '2019-06-01T00:00:00Z' },
      { t: '2020-06-31T00:00:00Z' },
      { t: '2020-06-01T24:00:00Z' },
    ],
    [
      "self.t.getHours('+02:00') == 1 && self.t.getDayOfWeek() == 3 && self.t.getMonth() == 11 && self.t.getDate() == 31 && self.t.getDayOfYear() == 364",
      { t: { type: 'string', format: 'date-time' } },
      { t: '2025-12-31T23:30:00Z' },
      { t: '2020-01-01T01:30:00+02:00' },
    ],
    [
      'timestamp(self.s).getHours() == 23',
      { s: TEXT },
      ...['2024-02-29T23:00:00Z', '2026-02-29T23:00:00Z', '2026-02-28T24:00:00Z', '2026-04-31T23:00:00Z'].map((s) => ({
        s,
      })),
    ],
    ["self.t.getHours('America/New_York') == 18", { t: { type: 'string', format: 'date-time' } }, {
      t: '2025-12-31T23:30:00Z',
    }],
    ["self.d > duration('1h') && self.d.getMinutes() == 90", { d: { type: 'string', format: 'duration' } }, {
      d: '1h30m',
    }, { d: '5m' }],
    [
      "self.t + self.d == timestamp('2020-01-01T01:00:00Z')",
      { t: { type: 'string', format: 'date-time' }, d: { type: 'string', format: 'duration' } },
      { t: '2020-01-01T00:00:00Z', d: '1h' },
      { t: '2020-01-01T00:00:00.5Z', d: '1h' },
    ],
    ['self.y.getMonth() == 1', { y: { type: 'string', format: 'date' } }, { y: '2020-02-03' }, { y: '2020-03-03' }, {
      y: '2026-02-30',
    }],
    ["self.b == b'abc' && size(self.b) == 3", { b: { type: 'string', format: 'byte' } }, { b: 'YWJj' }, { b: 'YQ==' }],
    ["string(self.b) == 'abc'", { b: { type: 'string', format: 'byte' } }, { b: 'YWJj' }, { b: '/w==' }],
    ['self.p > 5', { p: { 'x-kubernetes-int-or-string': true } }, { p: 6 }, { p: 'x' }],
    ["self.p.startsWith('x')", { p: { 'x-kubernetes-int-or-string': true } }, { p: 'xy' }, { p: 6 }],
    [
      'self.u[0] == self.u[1]',
      { u: list(object({ a: INT }, { 'x-kubernetes-preserve-unknown-fields': true })) },
      { u: [{ a: 1, z: 2 }, { a: 1, z: 2 }] },
      { u: [{ a: 1, z: 2 }, { a: 1 }] },
      { u: [{ a: 1, z: 2 }, { a: 1, z: 3 }] },
    ],
  ],
  libraries: [
    [
      'isIP(self.s) && ip(self.s).family() == 4 && !ip(self.s).isLoopback()',
      { s: TEXT },
      { s: '10.0.0.1' },
      { s: '127.0.0.1' },
      { s: '::1' },
      { s: 'x' },
    ],
    ["ip(self.s) == ip('::1')", { s: TEXT }, { s: '0:0::1' }, { s: '1' }, { s: '::ffff:1.2.3.4' }, { s: '1.2.3.4.5' }, {
      s: '1.2.3.256',
    }],
    ['ip.isCanonical(self.s)', { s: TEXT }, { s: '::1' }, { s: '0::1' }],
    [
      "cidr(self.s).containsIP('10.1.2.3') && cidr(self.s).prefixLength() == 8 && cidr(self.s).masked() == cidr(self.s)",
      { s: TEXT },
      { s: '10.0.0.0/8' },
      { s: '10.1.0.0/8' },
      { s: '10.0.0.0' },
      { s: '10.0.0.0/99' },
    ],
    ["isCIDR(self.s) && cidr('10.0.0.0/8').containsCIDR(self.s)", { s: TEXT }, { s: '10.1.0.0/16' }, {
      s: '11.0.0.0/8',
    }, { s: 'x' }],
    ["string(ip(self.s)) == '2001:db8::1' && ip(self.s).isGlobalUnicast()", { s: { type: 'string', maxLength: 50 } }, {
      s: '2001:0db8:0:0:0:0:0:1',
    }, { s: '::2' }],
    [
      "isURL(self.s) && url(self.s).getHost() == 'a.b:80' && url(self.s).getHostname() == 'a.b' && url(self.s).getPort() == '80' && url(self.s).getScheme() == 'https' && url(self.s).getEscapedPath() == '/p' && url(self.s).getQuery() == {'q': ['1', '2']}",
      { s: { type: 'string', maxLength: 50 } },
      { s: 'https://a.b:80/p?q=1&q=2' },
      { s: 'https://a.b' },
      { s: '../x' },
    ],
    ["['-', 'Ki', '.', 'e3'].all(x, quantity(x) == quantity('0')) && !isQuantity(self.s)", { s: TEXT }, { s: '' }, {
      s: 'E',
    }],
    ["['http://[::1', 'http://%'].all(x, !isURL(x) && format.uri().validate(x).hasValue()) && isURL(self.s)", {
      s: TEXT,
    }, { s: '/' }],
    ['double(self.s) > 1.0', { s: TEXT }, { s: '1e300' }, { s: '1e400' }],
    ["timestamp(self.s) > timestamp('0001-01-01T00:00:00Z')", { s: TEXT }, { s: '2026-01-01T00:00:00Z' }, {
      s: '2026-01-01t00:00:00z',
    }, { s: '0000-01-01T00:00:00Z' }],
    ["quantity(self.s).isGreaterThan(quantity('1Gi')) && isQuantity(self.s)", { s: TEXT }, { s: '2Gi' }, { s: '1G' }, {
      s: 'x',
    }, { s: '1Xi' }],
    [
      'quantity(self.s).asInteger() == 5 && quantity(self.s).isInteger() && sign(quantity(self.s)) == 1',
      { s: TEXT },
      { s: '5' },
      { s: '5.5' },
      { s: '6' },
    ],
    [
      "quantity(self.s).add(quantity('1')).sub(1) == quantity('500m') && quantity(self.s).compareTo(quantity('1')) == -1",
      { s: TEXT },
      { s: '0.5' },
      { s: '2' },
    ],
    ["cidr('10.0.0.0/16').containsCIDR(cidr(self.s))", { s: TEXT }, { s: '10.0.1.0/24' }, { s: '10.0.0.0/8' }],
    [
      'ip(self.s).isGlobalUnicast()',
      { s: TEXT },
      { s: '8.8.8.8' },
      { s: '255.255.255.255' },
      { s: '0.0.0.0' },
      { s: '::' },
    ],
    [
      "timestamp(self.s).getHours('-02:30') == 21 && timestamp(self.s).getMilliseconds() == 250",
      { s: { type: 'string', maxLength: 30 } },
      { s: '1969-12-31T23:59:59.25Z' },
      { s: '1970-01-01T02:00:00Z' },
    ],
    ["quantity(self.s).compareTo(quantity('1n')) == 0", { s: TEXT }, { s: '1e-10' }, { s: '11e-10' }, { s: '1.5n' }],
    [
      "semver(self.s).isGreaterThan(semver('1.2.3')) && semver(self.s).major() == 1",
      { s: TEXT },
      { s: '1.3.0' },
      { s: '1.2.3-alpha' },
      { s: 'v1.3' },
      { s: '1.2' },
    ],
    [
      "isSemver(self.s, true) && semver(self.s, true) == semver('1.2.0')",
      { s: TEXT },
      { s: 'v1.2' },
      { s: '01.02.00' },
      { s: 'x' },
    ],
    [
      "['date', 'datetime', 'byte', 'uri', 'dns1123Subdomain', 'dns1035Label', 'dns1123LabelPrefix', 'dns1035LabelPrefix', 'dns1123SubdomainPrefix', 'uuid'].filter(name, !format.named(name).value().validate(self.s).hasValue()) == self.l",
      { s: { ...TEXT, maxLength: 40 }, l: { type: 'array', maxItems: 20, items: { type: 'string', maxLength: 40 } } },
      ...[
        ['2026-02-28', ['date', 'dns1123Subdomain', 'dns1123LabelPrefix', 'dns1123SubdomainPrefix']],
        ['2026-02-30', ['dns1123Subdomain', 'dns1123LabelPrefix', 'dns1123SubdomainPrefix']],
        ['2026-02-28T01:02:03Z', ['datetime']],
        ['YQ==', ['byte']],
        ['/a/b', ['byte', 'uri']],
        ['a-', ['dns1123LabelPrefix', 'dns1035LabelPrefix', 'dns1123SubdomainPrefix']],
        ['123e4567-e89b-12d3-a456-426614174000', [
          'dns1123Subdomain',
          'dns1123LabelPrefix',
          'dns1123SubdomainPrefix',
          'uuid',
        ]],
      ].map(([s, l]) => ({ s, l })),
    ],
  ],
  transitions: [],
}
