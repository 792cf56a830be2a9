/** Compiles the examples of doc comments as separate modules. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { besideExamples, docComments } from '../tools/docs.ts'
import { check } from './virtual_program.ts'

test('every example of a doc comment compiles', () => {
  const examples = docComments().map((each) => ({ ...each, file: `examples/${each.name.replaceAll(/\W/g, '_')}.ts` }))
  assert.ok(examples.length >= 15, `there are ${examples.length}`)
  for (const { path, text } of examples) {
    assert.match(text, /^import .* from 'kubeloop/m, `an example in ${path} has no import of kubeloop`)
  }
  // Makes it a module, even without an import.
  const files = new Map(examples.map(({ file, text }) => [file, `${besideExamples(text)}\nexport {}\n`]))
  const places = new Map(examples.map(({ file, path }) => [file, path]))
  // An example may declare a name without using it.
  const complaints = check(files).filter(({ message }) => !/is declared but|are unused/.test(message)).map((
    { file, line, message },
  ) => `${places.get(file)}: ${files.get(file)?.split('\n')[line]}\n  ${message}`)
  assert.deepEqual(complaints, [])
})
