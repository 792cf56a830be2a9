/** Sends bodies that are no object of the kind with each verb, and compares the answers of two servers. */
import assert from 'node:assert/strict'
import type { Api } from './api.ts'
import { comparable } from './random.ts'
import { cm, deploy, foo, runStep } from './transcript.ts'

const BODIES: readonly string[] = [
  '',
  '[]',
  '"x"',
  '5',
  'null',
  'true',
  '{}',
  '[{}]',
  '- a',
  'a: b',
  '---\n',
  '{"kind":5}',
  '{"apiVersion":[],"kind":"ConfigMap"}',
  '{"metadata":5}',
  '{"metadata":[]}',
  '{"metadata":{"name":5}}',
  '{"metadata":{"labels":5}}',
  '{"metadata":{"labels":{"a":5}}}',
  '{"metadata":{"ownerReferences":{}}}',
  '{"metadata":{"finalizers":"x"}}',
  '{"data":[]}',
  '{"spec":5}',
  '{"spec":[]}',
]

const OBJECTS = { cm: cm('a'), foos: foo('a'), deploy: deploy('a') }

function linesOf(kind: string): string[] {
  const apply = `APPLY ${kind}/a?dryRun=All&fieldManager=x`
  const methods = ['PUT', 'MERGE', 'JSON', 'STRATEGIC', 'DELETE'].map((method) => `${method} ${kind}/a?dryRun=All`)
  return [`POST ${kind}?dryRun=All`, ...methods, apply, `DELETE ${kind}?dryRun=All`]
}

/** @throws AssertionError at the first answer that differs. */
export async function compareWrongBodies(real: Api, embedded: Api): Promise<void> {
  for (const [kind, object] of Object.entries(OBJECTS)) {
    for (const api of [real, embedded]) await runStep(api, `POST ${kind}`, object, undefined, [])
    for (const line of linesOf(kind)) {
      for (const body of BODIES) {
        const [expected, actual] = [
          await runStep(real, line, body, undefined, []),
          await runStep(embedded, line, body, undefined, []),
        ]
        assert.equal(
          comparable(actual.full),
          comparable(expected.full),
          `${line} with ${JSON.stringify(body)}`,
        )
      }
    }
  }
}
