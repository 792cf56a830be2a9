/**
 * Tests the values of every shape of tests/schema/shapes.ts with a CRD on a real API server.
 *
 * Run: node tests/tools/shapes.ts
 */
import { defineResource } from '../../lib/schema/define_resource.ts'
import { shapes } from '../schema/shapes.ts'
import * as z from 'zod'
import { type ApiServer, withApiServer } from './api_server.ts'

const kind = 'Shape'
// One CRD for all, since a server takes seconds to serve a new one; each object has one value.
const fields = Object.fromEntries(shapes.map(({ schema }, index) => [`s${index}`, z.object({ v: schema }).optional()]))
const { plural, definition } = defineResource({
  group: 'shapes.example.com',
  version: 'v1',
  kind,
  spec: z.object(fields),
})
const { crd } = definition!
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const path = `/apis/shapes.example.com/v1/namespaces/default/${plural}`
let wrong = 0

async function main({ send }: ApiServer): Promise<void> {
  const created = await send('POST', `${crds}?fieldValidation=Strict`, crd)
  if (created.status !== 201) throw new Error(`Cannot install the CRD of all shapes: ${created.text}`)
  while ((await send('GET', path)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 50))
  const tryValue = async (index: number, value: unknown, expected: number): Promise<void> => {
    const spec = { [`s${index}`]: { v: value } }
    const object = { apiVersion: 'shapes.example.com/v1', kind, metadata: { name: 'x' }, spec }
    const answer = await send('POST', `${path}?dryRun=All`, object)
    if (answer.status === expected) return
    wrong++
    console.log(`${shapes[index]!.name}: ${JSON.stringify(value)}: ${answer.status}, not ${expected}: ${answer.text}`)
  }
  for (const [index, { accepts, refuses }] of shapes.entries()) {
    for (const value of accepts) await tryValue(index, value, 201)
    for (const value of refuses) await tryValue(index, value, 422)
  }
}

await withApiServer(main)
console.log(`${shapes.length} shapes, ${wrong} differences`)
process.exitCode = wrong > 0 ? 1 : 0
