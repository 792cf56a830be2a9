/** Compiles the TypeScript of README, docs and doc comments as files beside the sample, at once. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ensureDist } from '../tools/dist.ts'
import { besideExamples, docComments, typescriptBlocks } from '../tools/docs.ts'
import { type Complaint, complaintsOf } from './compiler.ts'

before(ensureDist)

const blocks = typescriptBlocks()
const examples = docComments()

/** Files with their texts, and where these are from. Examples may be scripts: an export makes each a module. */
const files = new Map<string, { readonly from: string; readonly text: string }>([
  ...blocks.map(({ name, text }, i) => [`docs_${i}.ts`, { from: name, text: besideExamples(text) }] as const),
  ...examples.map(({ path, text }, i) =>
    [`comment_${i}.ts`, { from: path, text: `${besideExamples(text)}\nexport {}\n` }] as const
  ),
])
let complaints: Promise<readonly Complaint[]> | undefined

async function complaintsAbout(kind: string): Promise<string[]> {
  complaints ??= complaintsOf(Object.fromEntries([...files].map(([file, { text }]) => [file, text])))
  const all = await complaints
  return all.filter(({ file }) => !files.has(file) || file.startsWith(kind)).map(({ file, line, message }) => {
    const { from = file, text = '' } = files.get(file) ?? {}
    return `${from}: ${text.split('\n')[line - 1]}\n  ${message}`
  })
}

test('every TypeScript block of README and docs compiles', async () => {
  assert.ok(blocks.length >= 15, `there are ${blocks.length}`)
  assert.deepEqual(await complaintsAbout('docs'), [])
})

test('every example of a doc comment imports kubeloop and compiles', async () => {
  assert.ok(examples.length >= 15, `there are ${examples.length}`)
  for (const { path, text } of examples) {
    assert.match(text, /^import .* from 'kubeloop/m, `an example in ${path} has no import of kubeloop`)
  }
  // An example may declare a name without using it.
  assert.deepEqual((await complaintsAbout('comment')).filter((each) => !/is declared but|are unused/.test(each)), [])
})
