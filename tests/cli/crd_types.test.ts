import assert from 'node:assert/strict'
import { test } from 'node:test'
import { typesOf } from '../../lib/cli/crd_types.ts'
import { parseManifest } from '../../lib/cli/manifests.ts'
import { check } from '../types/virtual_program.ts'

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
              parts:
                type: array
                items: { type: object, required: [name], properties: { name: { type: string }, "with-dash": { type: boolean } } }
              extra: { type: object, x-kubernetes-preserve-unknown-fields: true, properties: { known: { type: number } } }
              anything: { x-kubernetes-preserve-unknown-fields: true }
          status: { type: object, properties: { ready: { type: boolean } } }
  - { name: v0, served: false, storage: false, schema: { openAPIV3Schema: { type: object } } }
`

async function typesFrom(yaml: string, source = 'widgets.yaml'): Promise<string> {
  return typesOf(await parseManifest(yaml, source), source)
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
  const files = { widget, use_widget: USE_WIDGET, open, use_open: USE_OPEN }
  // One program: the compiler takes seconds to start.
  assert.deepEqual(check(new Map(Object.entries(files).map(([name, text]) => [`tests/cli/${name}.ts`, text]))), [])
  assert.equal(open.split('  readonly [field: string]: unknown\n').length, 5)
  assert.doesNotMatch(widget, /^ {2}readonly \[field/m)
})

test('an object that is not a definition is refused by name', async () => {
  await assert.rejects(
    typesFrom('{ apiVersion: v1, kind: ConfigMap, metadata: { name: a } }', 'a.yaml'),
    /^Error: Cannot make types from a\.yaml: "a" is a ConfigMap of v1, not a CustomResourceDefinition/,
  )
  const none = CRD.replaceAll('served: true', 'served: false')
  await assert.rejects(
    typesFrom(none),
    /^Error: Cannot make types from "widgets\.example\.dev": no version of it is served/,
  )
})
