import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import ts from 'typescript'
import { typesOf } from '../../lib/cli/crd_types.ts'
import { type ManifestObject, parseManifest } from '../../lib/cli/manifests.ts'
import { tries } from '../tools/fuzz.ts'
import { ensureDist } from '../tools/dist.ts'
import { complaintsOf } from '../types/compiler.ts'

before(ensureDist)

const CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.dev }
spec:
  group: example.dev
  scope: Namespaced
  names: { kind: Widget, plural: widgets }
  versions:
  - name: v1alpha1
    served: true
    storage: false
    schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, properties: { old: { type: string } } }, status: { type: object, properties: { ready: { type: boolean } } } } } }
  - name: v1
    served: true
    storage: true
    subresources: { status: {} }
    schema:
      openAPIV3Schema:
        type: object
        description: A widget, as it's sold.
        required: [spec]
        properties:
          apiVersion: { type: string }
          kind: { type: string }
          metadata: { type: object }
          spec:
            type: object
            required: [size, mode]
            properties:
              size: { type: integer, description: "How large. Ends no */ comment." }
              mode: { type: string, enum: [fast, slow], default: fast }
              port: { x-kubernetes-int-or-string: true }
              note: { type: string, nullable: true }
              labels: { type: object, additionalProperties: { type: string } }
              modes: { type: array, items: { type: string, enum: [a, b] } }
              rows: { type: array, items: { type: array, items: { type: string } } }
              parts:
                type: array
                items: { type: object, required: [name], properties: { name: { type: string }, "with-dash": { type: boolean } } }
              extra: { type: object, x-kubernetes-preserve-unknown-fields: true, properties: { known: { type: number } } }
              anything: { x-kubernetes-preserve-unknown-fields: true }
          status: { type: object, properties: { ready: { type: boolean } } }
  - { name: v0, served: false, storage: false, schema: { openAPIV3Schema: { type: object } } }
`

async function typesFrom(yaml: string, source = 'widgets.yaml'): Promise<string> {
  return typesOf(parseManifest(yaml, source), source)
}

test("the stored version's type has the name of the kind, other served versions have a suffix", async () => {
  const text = await typesFrom(CRD)
  assert.match(text, /^\/\/ Written by `kubeloop types widgets\.yaml`/)
  assert.deepEqual([...text.matchAll(/export (?:interface|const) (\w+)/g)].map(([, name]) => name), [
    'WidgetV1alpha1',
    'WidgetV1alpha1Desired',
    'WidgetV1alpha1',
    'Widget',
    'WidgetDesired',
    'Widget',
  ])
  assert.match(text, /\/\*\* example\.dev\/v1 Widget: A widget, as it's sold\. \*\//)
  assert.match(text, /How large\. Ends no \* \/ comment\./)
  assert.doesNotMatch(text, /v0/)
})

/** A definition whose objects keep fields that their schema does not name. */
const OPENS = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: opens.example.dev }
spec:
  group: example.dev
  scope: Cluster
  names: { kind: Open, plural: opens }
  versions:
  - name: v1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true, required: [size], properties: { size: { type: integer } } } }
  - name: v1alpha1
    served: true
    storage: false
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`

/** Programs that use the types, with what they must not compile. */
const USE_WIDGET = `
import type { Client } from 'kubeloop'
import { Widget, WidgetV1alpha1 } from './widget.ts'
declare const client: Client
const widget = (await client.get(Widget, { namespace: 'a', name: 'b' }))!
const mode: 'fast' | 'slow' = widget.spec.mode
const port: string | number | undefined = widget.spec.port
const note: string | null | undefined = widget.spec.note
const part: { readonly name: string } | undefined = widget.spec.parts?.[0]
const dashed: boolean | undefined = widget.spec.parts?.[0]?.['with-dash']
const label: string | undefined = widget.spec.labels?.['x']
const first: 'a' | 'b' | undefined = widget.spec.modes?.[0]
const extra: unknown = widget.spec.extra?.['whatever']
await client.create(Widget, { metadata: { name: 'c', namespace: 'a' }, spec: { size: 1 } })
await client.setStatus(Widget, widget, { ready: true })
// Without the subresource, the status is a field as others.
await client.edit(WidgetV1alpha1, widget, (draft) => void (draft.status = { ready: true }))
await client.create(WidgetV1alpha1, { metadata: { name: 'c', namespace: 'a' }, status: { ready: true } })
// @ts-expect-error written by setStatus
await client.edit(Widget, widget, (draft) => void (draft.status = { ready: true }))
// @ts-expect-error written by setStatus
await client.create(Widget, { metadata: { name: 'c', namespace: 'a' }, spec: { size: 1 }, status: { ready: true } })
// @ts-expect-error size is needed
await client.create(Widget, { metadata: { name: 'c', namespace: 'a' }, spec: {} })
// @ts-expect-error no such mode
await client.create(Widget, { metadata: { name: 'c', namespace: 'a' }, spec: { size: 1, mode: 'medium' } })
// @ts-expect-error readonly
widget.spec.size = 2
// @ts-expect-error its namespace is missing
await client.get(Widget, { name: 'b' })
void [mode, port, note, part, dashed, label, first, extra]
`
const USE_OPEN = `
import type { Client } from 'kubeloop'
import { Open, OpenV1alpha1 } from './open.ts'
declare const client: Client
const open = (await client.get(Open, { name: 'b' }))!
const [size, data]: [number, unknown] = [open.size, open['data']]
const name: string = open.metadata.name
await client.create(Open, { metadata: { name: 'c' }, size: 1, data: { a: [1] } })
await client.apply(OpenV1alpha1, { metadata: { name: 'c' }, whatever: true })
// @ts-expect-error size is needed
await client.create(Open, { metadata: { name: 'c' }, data: {} })
void [size, data, name]
`

test('the text is TypeScript for a client: defaults are there to read, and optional to write; preserved fields are both', async () => {
  const [widget, open] = [await typesFrom(CRD), await typesFrom(OPENS, 'opens.yaml')]
  const files = { 'widget.ts': widget, 'use_widget.ts': USE_WIDGET, 'open.ts': open, 'use_open.ts': USE_OPEN }
  assert.deepEqual(await complaintsOf(files), [])
  assert.equal(open.split('  readonly [field: string]: unknown\n').length, 5)
  assert.doesNotMatch(widget, /^ {2}readonly \[field/m)
})

test('an object that is not a definition is refused by name', async () => {
  await assert.rejects(
    typesFrom('{ apiVersion: v1, kind: ConfigMap, metadata: { name: a } }', 'a.yaml'),
    /^Error: Cannot make types from a\.yaml: it has no CustomResourceDefinition, but ConfigMap$/,
  )
  await assert.rejects(
    typesFrom(CRD.replace('apiextensions.k8s.io/v1', 'apiextensions.k8s.io/v1beta1'), 'a.yaml'),
    /^Error: Cannot make types from "widgets\.example\.dev": it is of apiextensions\.k8s\.io\/v1beta1, not of/,
  )
  // As kubeloop crd prints them.
  const others =
    'apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: { name: a }\n'
  assert.equal(await typesFrom(`${others}---\n${CRD}`), await typesFrom(CRD))
  const none = CRD.replaceAll('served: true', 'served: false')
  await assert.rejects(
    typesFrom(none),
    /^Error: Cannot make types from "widgets\.example\.dev": no version of it is served/,
  )
})

const HOSTILE = fc.array(
  fc.constantFrom(
    ...[
      '*/',
      '/*',
      '//',
      '`',
      '${',
      '}',
      "'",
      '"',
      '\\',
      '\n',
      '\r',
      '\u2028',
      '\u2029',
      '\0',
      ';',
      '{',
      ' ',
      'A',
      '1',
      '-',
      '/',
    ],
    ...['*', ' = evil(', ') //', 'export const x = evil()', '\ufeff', '__proto__', 'widgets', '.'],
  ),
  { maxLength: 6 },
).map((parts) => parts.join(''))

/** Half of the definitions have valid names, and hostile texts elsewhere only. */
const orHostile = (valid: string): fc.Arbitrary<string> =>
  fc.oneof({ arbitrary: fc.constant(valid), weight: 20 }, { arbitrary: HOSTILE, weight: 1 })

const SCHEMAS = fc.letrec<{ schema: object; fields: object }>((tie) => ({
  schema: fc.oneof({ maxDepth: 2 }, fc.constant({}), tie('fields')),
  fields: fc.record({
    type: fc.oneof(fc.constantFrom('object', 'string', 'array', 'integer'), HOSTILE),
    description: HOSTILE,
    enum: fc.array(fc.oneof(HOSTILE, fc.integer(), fc.record({ a: HOSTILE }))),
    default: HOSTILE,
    required: fc.array(HOSTILE),
    properties: fc.dictionary(HOSTILE, tie('schema'), { maxKeys: 3 }),
    additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
    items: tie('schema'),
    nullable: fc.boolean(),
  }, { requiredKeys: [] }),
})).schema

const DEFINITIONS = fc.record({
  group: orHostile('example.dev'),
  scope: orHostile('Cluster'),
  kind: orHostile('Widget'),
  plural: orHostile('widgets'),
  version: orHostile('v1-a'),
  schema: SCHEMAS,
}).map(({ group, scope, kind, plural, version, schema }) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'a' },
  spec: {
    ...{ group, scope, names: { kind, plural } },
    versions: ['v1', version].map((name, at) => ({ name, storage: at === 0, schema: { openAPIV3Schema: schema } })),
  },
}))

/** Names of a definition that are not checked by the examples below. */
const WIDGET = { group: 'example.dev', scope: 'Cluster', names: { kind: 'Widget', plural: 'widgets' } }

test('hostile definitions are refused, or become imports, interfaces and resources of text alone', () => {
  let written = 0
  const generate = (definition: ManifestObject, source: string): string | undefined => {
    try {
      return typesOf([definition], source)
    } catch (error) {
      assert.match((error as Error).message, /^Cannot make types from "a": /)
      return undefined
    }
  }
  fc.assert(
    fc.property(DEFINITIONS, HOSTILE, (definition, source) => {
      const text = generate(definition, source)
      if (text === undefined) return
      written++
      const { group, scope, names: { kind, plural }, versions } = definition.spec
      const resources = versions.map(({ name }) => ({ group, version: name, kind, plural, scope }))
      assert.deepEqual(runningParts(text), resources)
    }),
    { numRuns: tries(400) },
  )
  assert.ok(written > 100, `${written} were written`)
})

/** Returns the options of the resources. Fails if a text has any other part that would run. */
function runningParts(text: string): object[] {
  const source = ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true)
  const { parseDiagnostics } = source as unknown as { parseDiagnostics: readonly { messageText: string }[] }
  assert.deepEqual(parseDiagnostics.map(({ messageText }) => messageText), [], text)
  return source.statements.flatMap((statement, at): object[] => {
    if (at === 0 && ts.isImportDeclaration(statement) || ts.isInterfaceDeclaration(statement)) return []
    assert.ok(ts.isVariableStatement(statement) && statement.declarationList.declarations.length === 1, text)
    const [{ initializer }] = statement.declarationList.declarations as unknown as [ts.VariableDeclaration]
    assert.ok(initializer && ts.isCallExpression(initializer), text)
    assert.equal(initializer.expression.getText(), 'dynamicResource')
    const [options] = initializer.arguments
    assert.ok(options && ts.isObjectLiteralExpression(options), text)
    const texts = options.properties.map((property) => {
      assert.ok(ts.isPropertyAssignment(property) && ts.isStringLiteral(property.initializer), text)
      return [property.name.getText(), property.initializer.text] as const
    })
    return [Object.fromEntries(texts)]
  })
}

for (
  const [what, spec, message] of [
    [
      'group',
      { ...WIDGET, group: 'a*/.b' },
      'group "a*/.b" must be a domain, such as "apps" or "example.com", or empty for the core group',
    ],
    ['group without a dot', { ...WIDGET, group: 'a' }, 'group "a" must be a domain, such as "example.com"'],
    [
      'kind',
      { ...WIDGET, names: { kind: 'A/*', plural: 'as' } },
      'kind "A/*" must be CamelCase with at most 63 letters and digits, such as "Foo"',
    ],
    [
      'no names',
      { ...WIDGET, names: undefined },
      'kind "" must be CamelCase with at most 63 letters and digits, such as "Foo"',
    ],
    [
      'plural',
      { ...WIDGET, names: { kind: 'A', plural: "a's" } },
      '"a\'s" must be a lower-case label, such as "foos" or "v1"',
    ],
    ['scope', { ...WIDGET, scope: "'" }, 'spec.scope must be Namespaced or Cluster'],
    [
      'version',
      { ...WIDGET, versions: [{ name: 'v1' }, { name: '1', served: false }] },
      '"1" must be a lower-case label, such as "foos" or "v1"',
    ],
    ['versions', { ...WIDGET, versions: undefined }, 'spec.versions must be a list'],
  ] as const
) {
  test(`a definition with a wrong name is refused: ${what}`, () => {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'a' },
    }
    assert.throws(() => typesOf([{ ...definition, spec: { versions: [{ name: 'v1' }], ...spec } }], 'a.yaml'), {
      message: `Cannot make types from "a": ${message}`,
    })
  })
}
