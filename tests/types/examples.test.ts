/** What the examples of the doc comments show is TypeScript that the compiler takes, as a reader would paste it into an operator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { besideExamples, docComments } from '../tools/docs.ts'
import { check } from './virtual_program.ts'

test('every example of a doc comment compiles', () => {
  const examples = docComments().map((each) => ({ ...each, file: `examples/${each.name.replaceAll(/\W/g, '_')}.ts` }))
  assert.ok(examples.length >= 15, `there are ${examples.length}`)
  for (const { path, text } of examples) {
    assert.match(text, /^import .* from 'kubeloop/m, `an example in ${path} imports what it shows`)
  }
  // A module of its own, also where it imports nothing.
  const files = new Map(examples.map(({ file, text }) => [file, `${besideExamples(text)}\nexport {}\n`]))
  const places = new Map(examples.map(({ file, path }) => [file, path]))
  // An example may name a thing and leave it at that.
  const complaints = check(files).filter(({ message }) => !/is declared but|are unused/.test(message)).map((
    { file, line, message },
  ) => `${places.get(file)}: ${files.get(file)?.split('\n')[line]}\n  ${message}`)
  assert.deepEqual(complaints, [])
})
