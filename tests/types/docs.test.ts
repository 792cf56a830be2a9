/** Compiles the TypeScript of README, docs and doc comments as files beside the sample, in one program. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { besideExamples, docComments, typescriptBlocks } from '../tools/docs.ts'
import { check } from './virtual_program.ts'

const blocks = typescriptBlocks()
const examples = docComments()

/** Files with their texts, and where these are from. Examples may be scripts: an export makes each a module. */
const files = new Map<string, { readonly from: string; readonly text: string }>([
  ...blocks.map(({ name, text }, i) => [`examples/docs_${i}.ts`, { from: name, text: besideExamples(text) }] as const),
  ...examples.map(({ path, text }, i) =>
    [`examples/comment_${i}.ts`, { from: path, text: `${besideExamples(text)}\nexport {}\n` }] as const
  ),
])
let complaints: ReturnType<typeof check> | undefined

function complaintsOf(kind: string): string[] {
  complaints ??= check(new Map([...files].map(([file, { text }]) => [file, text])))
  return complaints.filter(({ file }) => file.startsWith(`examples/${kind}`)).map(({ file, line, message }) =>
    `${files.get(file)!.from}: ${files.get(file)!.text.split('\n')[line]}\n  ${message}`
  )
}

test('every TypeScript block of README and docs compiles', () => {
  assert.ok(blocks.length >= 15, `there are ${blocks.length}`)
  assert.deepEqual(complaintsOf('docs'), [])
})

test('every example of a doc comment imports kubeloop and compiles', () => {
  assert.ok(examples.length >= 15, `there are ${examples.length}`)
  for (const { path, text } of examples) {
    assert.match(text, /^import .* from 'kubeloop/m, `an example in ${path} has no import of kubeloop`)
  }
  // An example may declare a name without using it.
  assert.deepEqual(complaintsOf('comment').filter((each) => !/is declared but|are unused/.test(each)), [])
})
