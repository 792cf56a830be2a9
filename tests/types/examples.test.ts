/** What the examples of the doc comments show is TypeScript that the compiler takes, as a reader would paste it into an operator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTree } from '../tools/tree.ts'
import { check } from './virtual_program.ts'

/** The examples of a file: what is between the fences, without the comment's margin. */
function examplesOf(text: string): string[] {
  return [...text.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)\n\s*\* ```/g)].map(([, lines]) => lines!.replace(/^\s*\* ?/gm, ''))
}

/** What they show is not exported, so that an example cannot import it. */
const INTERNAL: ReadonlySet<string> = new Set(['lib/runtime/certificates.ts'])

test('every example of a doc comment compiles', () => {
  const files = new Map<string, string>()
  const places = new Map<string, string>()
  for (const [path, text] of readTree(['lib'], /\.ts$/)) {
    if (INTERNAL.has(path)) continue
    for (const [i, example] of examplesOf(text).entries()) {
      assert.match(example, /^import .* from 'kubeloop/m, `an example in ${path} imports what it shows`)
      const name = `examples/${path.replaceAll(/\W/g, '_')}_${i}.ts`
      // A module of its own, also where it imports nothing.
      files.set(name, `${example}\nexport {}\n`)
      places.set(name, path)
    }
  }
  assert.ok(files.size >= 15, `there are ${files.size}`)
  // An example may name a thing and leave it at that.
  const complaints = check(files).filter(({ message }) => !/is declared but|are unused/.test(message)).map(({ file, line, message }) => `${places.get(file)}: ${files.get(file)?.split('\n')[line]}\n  ${message}`)
  assert.deepEqual(complaints, [])
})
