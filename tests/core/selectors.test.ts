import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { labelSelector } from '../../lib/apiserver/model/selectors.ts'
import { formatLabels, parseLabelSelector } from '../../lib/core/selectors.ts'
import { tries } from '../tools/fuzz.ts'

/** Returns whether labels match a selector, or 'refused'. */
function verdict(
  parse: (text: string) => (labels: Record<string, string>) => boolean,
  text: string,
  labels: Record<string, string>,
): boolean | 'refused' {
  try {
    return parse(text)(labels)
  } catch {
    return 'refused'
  }
}

/** Selector, labels, whether they match: the API documentation's examples, then edge cases of apimachinery's parser. */
const TABLE: readonly (readonly [string, Record<string, string>, boolean])[] = [
  ['', {}, true],
  ['  ', { a: 'b' }, true],
  ['environment=production,tier!=frontend', { environment: 'production', tier: 'backend' }, true],
  ['environment=production,tier!=frontend', { environment: 'production' }, true],
  ['environment=production,tier!=frontend', { environment: 'production', tier: 'frontend' }, false],
  ['environment in (production, qa)', { environment: 'qa' }, true],
  ['environment in (production, qa)', {}, false],
  ['tier notin (frontend, backend)', {}, true],
  ['tier notin (frontend, backend)', { tier: 'backend' }, false],
  ['partition', { partition: '' }, true],
  ['!partition', { partition: '' }, false],
  ['!partition', {}, true],
  ['partition,environment notin (qa)', { partition: '1', environment: 'dev' }, true],
  ['a == b', { a: 'b' }, true],
  ['a=', { a: '' }, true],
  ['a=', {}, false],
  ['a!=', {}, true],
  ['a in ()', { a: '' }, true],
  ['a in (,x)', { a: '' }, true],
  ['a in(x)', { a: 'x' }, true],
  ['in in (in)', { in: 'in' }, true],
  ['notin', { notin: '' }, true],
  ['x>5', { x: '6' }, true],
  ['x>5', { x: '5' }, false],
  ['x<5', { x: 'four' }, false],
  ['x>9007199254740992', { x: '9007199254740993' }, true],
  ['x>5', { x: '9223372036854775807' }, true],
  ['x>5', { x: '9223372036854775808' }, false],
  ['app.kubernetes.io/name=a', { 'app.kubernetes.io/name': 'a' }, true],
  ['toString', {}, false],
]

test('a label selector matches as the API documentation defines', () => {
  for (const [text, labels, matches] of TABLE) {
    assert.equal(parseLabelSelector(text)(labels), matches, `${JSON.stringify(text)} on ${JSON.stringify(labels)}`)
  }
  assert.equal(parseLabelSelector('a')(undefined), false)
  assert.equal(parseLabelSelector('!a')(undefined), true)
})

test('a label selector that the API would refuse throws, with the position', () => {
  const table: readonly (readonly [string, RegExp])[] = [
    ['a=b,', /found the end where a label was expected/],
    [',a', /found "," where a label was expected/],
    ['a b', /found "b" where =, ==, !=, in, notin, > or < was expected/],
    ['a=b=c', /found "=" where a comma or the end was expected/],
    ['!a=b', /found "=" where a comma or the end was expected/],
    ['a in b', /found "b" where \( was expected/],
    ['a in (b', /found the end where a comma or \) was expected/],
    ['a in ((b))', /found "\(" where a value was expected/],
    ['a>b', /"b" is not an integer/],
    ['a<9223372036854775808', /"9223372036854775808" is not an integer of 64 bits/],
    ['a>', /"" is not an integer/],
    ['-a=b', /"-a" is not a label: a name has 1 to 63/],
    ['A.io/x', /before the slash must be a domain name/],
    ['a=-b', /"-b" is not a label value/],
    [`a=${'x'.repeat(64)}`, /at most 63/],
  ]
  for (const [text, message] of table) {
    assert.throws(
      () => parseLabelSelector(text),
      (error: Error) =>
        error instanceof TypeError && message.test(error.message) &&
        error.message.startsWith(`Cannot read label selector "${text}": `),
      text,
    )
  }
})

test('client and embedded server agree on every selector', () => {
  const word = fc.constantFrom('a', 'b', 'in', 'notin', 'x/y', '-', '5', '06', 'a-', '9223372036854775808', '')
  const piece = fc.oneof(
    word,
    fc.constantFrom('=', '==', '!=', '!', '(', ')', ',', '>', '<', ' ', ' in ', ' notin ', '(a,b)', '\t'),
  )
  const labels = fc.dictionary(
    fc.constantFrom('a', 'b', 'in', 'x/y', '5'),
    fc.constantFrom('', 'a', 'b', '5', '06', 'in'),
  )
  let accepted = 0
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join('')), labels, (text, labels) => {
      const ours = verdict(parseLabelSelector, text, labels)
      if (ours !== 'refused') accepted++
      assert.equal(ours, verdict((text) => labelSelector(text).matches, text, labels), JSON.stringify(text))
    }),
    { seed: 1, numRuns: tries(5000, 'everywhere') },
  )
  assert.ok(accepted > 500, `only ${accepted} were accepted: too few to prove the property`)
})

test('labels as an object match by equality, and cannot inject another selector', () => {
  assert.equal(formatLabels({ app: 'a', 'x.io/tier': '' }), 'app=a,x.io/tier=')
  assert.equal(formatLabels({}), '')
  assert.equal(formatLabels('a in (b)'), 'a in (b)')
  assert.throws(
    () => formatLabels({ app: 'a,b=c' }),
    /^TypeError: Cannot select by the label "app": a value is text of at most 63/,
  )
  assert.throws(() => formatLabels({ '!app': 'a' }), TypeError)
  assert.throws(() => formatLabels({ app: undefined as unknown as string }), TypeError)
  assert.equal(parseLabelSelector({ app: 'a' })({ app: 'a', b: 'c' }), true)
})

test('a selector object matches like its text', () => {
  const selector = {
    matchLabels: { app: 'shop' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['web', 'edge'] },
      { key: 'zone', operator: 'NotIn', values: ['a'] },
      { key: 'x.io/y', operator: 'Exists' },
      { key: 'old', operator: 'DoesNotExist', values: [] },
    ],
  }
  assert.equal(formatLabels(selector), 'app=shop,tier in (web,edge),zone notin (a),x.io/y,!old')
  const selects = parseLabelSelector(selector)
  const fits = { app: 'shop', tier: 'edge', 'x.io/y': '' }
  assert.equal(selects(fits), true)
  for (const change of [{ app: 'x' }, { tier: 'db' }, { zone: 'a' }, { old: '' }]) {
    assert.equal(selects({ ...fits, ...change }), false, JSON.stringify(change))
  }
  assert.deepEqual(
    [{}, { matchLabels: {} }, { matchExpressions: [] }].map((
      empty,
    ) => [formatLabels(empty), parseLabelSelector(empty)(undefined)]),
    [['', true], ['', true], ['', true]],
  )
  assert.equal(formatLabels({ matchExpressions: [{ key: 'a', operator: 'Exists' }] }), 'a')
  assert.equal(formatLabels({ matchLabels: 'x', matchExpressions: 'y' }), 'matchLabels=x,matchExpressions=y')
})

const REFUSED: readonly (readonly [object, RegExp])[] = [
  [{ matchLabels: { a: 'b,c' } }, /^TypeError: Cannot select by the label "a": a value is text/],
  [['a=b'], /^TypeError: Cannot select by labels: they must be text or an object$/],
  [[], /^TypeError: Cannot select by labels: they must/],
  [new Map([['a', 'b']]), /^TypeError: Cannot select by labels: they must/],
  [{ matchLabel: { a: 'b' } }, /^TypeError: Cannot select by the label "matchLabel": a value is text/],
  ...[
    ['Equals', ['b']],
    ['', undefined],
    ['in', ['b']],
    ['constructor', undefined],
    ['In', undefined],
    ['NotIn', []],
    ['Exists', ['b']],
    ['DoesNotExist', ['b']],
  ].map(([operator, values]) =>
    [
      { matchExpressions: [{ key: 'a', operator, values }] },
      new RegExp(`label "a": its operator is "${operator}", with ${values?.length ?? 0} values; In and NotIn have`),
    ] as const
  ),
  [{ matchExpressions: [{ key: 'a b', operator: 'Exists' }] }, /"a b": a name has 1 to 63/],
  [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b', 'c)'] }] }, /"a": a value is text of at most 63/],
]

for (const [selector, expected] of REFUSED) {
  test(`${selector.constructor.name} ${JSON.stringify(selector)} is refused`, () => {
    for (const use of [parseLabelSelector, formatLabels]) assert.throws(() => use(selector), expected)
  })
}
