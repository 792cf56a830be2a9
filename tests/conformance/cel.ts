/** Cases of rules in CEL: each rule, what is refused in a definition, and how rules are evaluated. */
import assert from 'node:assert/strict'
import { type Api, type Body, type Case, caseOf, CRDS, MERGE } from './api.ts'
import { definitionOf } from '../tools/definitions.ts'
import { CONDITION_CASES } from './cel_conditions.ts'
import { EXPRESSIONS } from './cel_expressions.ts'
import { CHANGES, changingSchema, FORMS, OLD, SCHEMA, SPECS } from './cel_features.ts'
import { type RuleCase, RULES } from './cel_rules.ts'
import { DEFINITION_CASES } from './definitions.ts'
import { LIFECYCLE_CASES } from './lifecycle.ts'
import { lineOf, recordedCase } from './recording.ts'

interface Definition {
  readonly body: Body
  /** The path of the kind, which is not namespaced. */
  readonly path: string
  object(spec: unknown, more?: Body): Body
}

function definition(api: Api, name: string, schema: unknown): Definition {
  const plural = `${name}s`
  const kind = name[0]!.toUpperCase() + name.slice(1)
  return {
    body: definitionOf({ kind, group: api.group, schema, version: { subresources: { status: {} } } }),
    path: `/apis/${api.group}/v1/${plural}`,
    object: (spec, more = {}) => ({
      apiVersion: `${api.group}/v1`,
      kind,
      metadata: { name: api.namespace },
      spec,
      ...more,
    }),
  }
}

/** Installs a definition, if another case has not done so on the same server. */
async function install(api: Api, name: string, schema: unknown): Promise<Definition> {
  const made = definition(api, name, schema)
  const answer = await api.request('POST', CRDS, made.body)
  assert.ok(answer.status === 201 || answer.status === 409, JSON.stringify(answer.body))
  for (let tries = 0; tries < 5000; tries++) {
    const { status } = await api.request('POST', `${made.path}?dryRun=All`, { ...made.object({}), kind: 'Wrong' })
    if (status !== 404) return made
  }
  assert.fail('the kind was never served')
}

/** The words of a syntax error, and the errors behind it. */
const SYNTAX = /(?<=Syntax error): .*$/s

/** Returns the causes of a refusal as `Reason field: message`, sorted: Go visits the fields of an object in any order. */
function causesOf(body: Body): string {
  const causes: Body[] = body.details?.causes ?? []
  return causes
    .map(({ reason, field, message }) => `${String(reason).replace('FieldValue', '')} ${field}: ${message}`)
    .map((text) => text.replace(SYNTAX, ''))
    // Of a rule that cannot be evaluated, the reason is not compared.
    .map((text) => text.replace(/(Invalid value: [^:]*: ).* evaluating rule: /s, '$1evaluating rule: '))
    // The type of `self` has a new name each time. The rule itself is shown as the value.
    .map((text) => text.replaceAll(/selfType\d*/g, 'selfType').replace(/Invalid value: \{"Rule":.*?\}: (?=c)/, ''))
    .toSorted().join('; ') || 'accepted'
}

function rulesCase(group: string, rules: readonly RuleCase[]): Case {
  return recordedCase('cel_rules', `rules are evaluated: ${group}`, async function* (api) {
    const parts = rules.map(([rule, properties], at) =>
      [`c${at}`, { type: 'object', properties, 'x-kubernetes-validations': [{ rule }] }] as const
    )
    const schema = { type: 'object', properties: { spec: { type: 'object', properties: Object.fromEntries(parts) } } }
    const made = await install(api, `rule${group}`, schema)
    for (const [index, [rule, , ...specs]] of rules.entries()) {
      for (const spec of specs) {
        const wanted = made.object({ [`c${index}`]: spec.new ?? spec })
        const answer = await (spec.new
          ? change(api, made, `c${index}`, spec.old, wanted)
          : api.request('POST', `${made.path}?dryRun=All`, wanted))
        const found = causesOf(answer.body).replaceAll(rule, 'RULE')
        yield lineOf(`${rule} ${JSON.stringify(spec)}`, `${answer.status} ${found}`)
      }
    }
  })
}

/** Sends an update of an object that has just been created. */
async function change(api: Api, made: Definition, field: string, old: Body, wanted: Body): ReturnType<Api['request']> {
  const { metadata } = await api.expect(201, 'POST', made.path, made.object({ [field]: old }))
  const path = `${made.path}/${metadata.name}`
  const answer = await api.request('PUT', path, { ...wanted, metadata })
  await api.expect(200, 'DELETE', path)
  return answer
}

const EXPRESSION_FIELDS = {
  a: { type: 'integer' },
  n: { type: 'integer', nullable: true },
  s: { type: 'string' },
  short: { type: 'string', maxLength: 10 },
  l: { type: 'array', items: { type: 'string' } },
  bl: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 5 } },
  o: { type: 'object', properties: { x: { type: 'string' } } },
  m: { type: 'object', additionalProperties: { type: 'integer' } },
  io: { 'x-kubernetes-int-or-string': true },
  d: { type: 'number' },
  t: { type: 'string', format: 'date-time' },
  dur: { type: 'string', format: 'duration' },
  b: { type: 'string', format: 'byte' },
  ll: { type: 'array', items: { type: 'array', items: { type: 'integer' } } },
  'x-y': { type: 'string' },
  u: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  lo: { type: 'array', items: { type: 'object', properties: { k: { type: 'string' } } } },
  namespace: { type: 'string', maxLength: 10 },
  if: { type: 'array', items: { type: 'string' }, maxItems: 5 },
}

const EXPRESSION_CASE = recordedCase('cel_expressions', 'expressions are checked', async function* (api) {
  for (const rule of EXPRESSIONS) {
    const spec = {
      type: 'object',
      properties: EXPRESSION_FIELDS,
      'x-kubernetes-validations': [{ rule, ...(rule.includes('\n') && { message: 'm' }) }],
    }
    const { body } = definition(api, 'expression', { type: 'object', properties: { spec } })
    const answer = await api.request('POST', `${CRDS}?dryRun=All`, body)
    yield lineOf(rule, `${answer.status} ${causesOf(answer.body)}`)
  }
})

/** A rule among those that are too expensive together. */
const EXPENSIVE = /[^;]* contributed to/g

const FEATURE_CASES: readonly Case[] = [
  recordedCase('cel_features', 'the rules of a schema', async function* (api) {
    const made = await install(api, 'ruled', SCHEMA)
    for (const spec of SPECS) {
      const { body } = await api.request('POST', `${made.path}?dryRun=All`, made.object(spec))
      yield lineOf(JSON.stringify(spec), causesOf(body))
    }
  }),
  recordedCase('cel_features', 'definitions with rules', async function* (api) {
    for (const [name, schema] of FORMS) {
      const { body } = await api.request('POST', `${CRDS}?dryRun=All`, definition(api, 'formed', schema).body)
      // Of equally expensive rules, the real server shows any four.
      yield lineOf(name, causesOf(body).replaceAll(name === 'total' ? EXPENSIVE : /$^/g, 'a rule contributed to'))
    }
  }),
  caseOf('rules are evaluated for patches, applies and status updates', async (api) => {
    const made = await install(api, 'ruled', SCHEMA)
    const created = await api.expect(201, 'POST', made.path, made.object({ a: { x: 2 } }))
    const path = `${made.path}/${created.metadata.name}`
    const broken = 'Invalid spec.a: Invalid value: x must be large'
    const patched = await api.request('PATCH', path, { spec: { a: { x: 1 } } }, { type: MERGE })
    assert.equal(causesOf(patched.body), broken)
    const { managedFields: _, ...metadata } = created.metadata
    const config = { ...made.object({ a: { x: 1 } }), metadata: { name: metadata.name } }
    const applied = await api.request('PATCH', `${path}?fieldManager=m&force=true`, config, {
      type: 'application/apply-patch+yaml',
    })
    assert.equal(causesOf(applied.body), broken)
    const status = await api.request('PUT', `${path}/status`, { ...created, status: { n: 1 } })
    assert.equal(causesOf(status.body), 'Invalid status: Invalid value: failed rule: self.n > 1')
    assert.deepEqual((await api.expect(200, 'GET', path)).spec, { a: { x: 2 } }, 'nothing is stored')
  }),
  recordedCase('cel_features', 'rules that an unchanged value breaks are warnings', async function* (api) {
    const made = await install(api, 'changing', changingSchema(false))
    const created = await api.expect(201, 'POST', made.path, made.object(OLD))
    const path = `${made.path}/${created.metadata.name}`
    const crd = await api.expect(200, 'GET', `${CRDS}/${made.body.metadata.name}`)
    crd.spec.versions[0].schema.openAPIV3Schema = changingSchema(true)
    await api.expect(200, 'PUT', `${CRDS}/${made.body.metadata.name}`, crd)
    for (let tries = 0; tries < 5000; tries++) {
      if ((await api.request('POST', `${made.path}?dryRun=All`, made.object({ p: { x: 1 } }))).status === 422) break
    }
    for (const change of CHANGES) {
      const next = { ...created, spec: { ...created.spec, ...change } }
      const { body, headers } = await api.request('PUT', `${path}?dryRun=All`, next)
      const warnings = headers['warning']?.split(/, (?=299)/).toSorted().join(', ')
      yield lineOf(JSON.stringify(change), `${causesOf(body)}${warnings ? ` warnings: ${warnings}` : ''}`)
    }
  }),
  caseOf('a new object may use an optional oldSelf', async (api) => {
    const made = await install(api, 'optional', changingSchema(false))
    const { body } = await api.request('POST', made.path, made.object({ o: 11 }))
    // The messageExpression gets no oldSelf without an old object.
    assert.equal(causesOf(body), 'Invalid spec.o: Invalid value: 11: failed rule: oldSelf.hasValue() || self < 10')
  }),
  caseOf('an evaluation that costs too much is ended', async (api) => {
    const rule = 'self.l.all(x, self.l.all(y, x != y || x == y))'
    const spec = {
      type: 'object',
      properties: { l: { type: 'array', maxItems: 1000, items: { type: 'integer' } } },
      'x-kubernetes-validations': [{ rule }],
    }
    const made = await install(api, 'costly', { type: 'object', properties: { spec } })
    const l = Array.from({ length: 900 }, (_, index) => index)
    const { body } = await api.request('POST', made.path, made.object({ l }))
    assert.equal(
      causesOf(body),
      `Invalid spec: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further ` +
        `validation rules will be run due to call cost exceeds limit for rule: ${rule}`,
    )
  }),
]

export const CEL_CASES: readonly Case[] = [
  ...Object.entries(RULES).map(([group, rules]) => rulesCase(group, rules)),
  EXPRESSION_CASE,
  ...FEATURE_CASES,
  ...CONDITION_CASES,
  ...DEFINITION_CASES,
  ...LIFECYCLE_CASES,
]
