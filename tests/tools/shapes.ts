/**
 * Tests the values of every shape of tests/schema/shapes.ts with a CRD on a real API server.
 *
 * `NODE_TLS_REJECT_UNAUTHORIZED=0 node tests/tools/shapes.ts https://127.0.0.1:6443 TOKEN`
 */
import { defineResource } from '../../lib/schema/define_resource.ts'
import { shapes } from '../schema/shapes.ts'
import * as z from 'zod'

const [server = '', token = ''] = process.argv.slice(2)

interface Answer {
  readonly status: number
  readonly text: string
}

async function send(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(server + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, text: await response.text() }
}

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

const created = await send('POST', `${crds}?fieldValidation=Strict`, crd)
if (created.status !== 201) throw new Error(`Cannot install the CRD of all shapes: ${created.text}`)
try {
  while ((await send('GET', path)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 50))
  for (const [index, { name, accepts, refuses }] of shapes.entries()) {
    for (const value of accepts) await tryValue(index, name, value, 201)
    for (const value of refuses) await tryValue(index, name, value, 422)
  }
} finally {
  await send('DELETE', `${crds}/${crd.metadata.name}`)
}
console.log(`${shapes.length} shapes, ${wrong} differences`)
process.exitCode = wrong > 0 ? 1 : 0

async function tryValue(index: number, name: string, value: unknown, expected: number): Promise<void> {
  const object = {
    apiVersion: 'shapes.example.com/v1',
    kind,
    metadata: { name: 'x' },
    spec: { [`s${index}`]: { v: value } },
  }
  const answer = await send('POST', `${path}?dryRun=All`, object)
  if (answer.status === expected) return
  wrong++
  console.log(`${name}: ${JSON.stringify(value)}: ${answer.status}, not ${expected}: ${answer.text}`)
}
