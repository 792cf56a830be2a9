/** What the README shows is TypeScript that the compiler takes, as a reader would paste it beside the sample. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { check, ROOT } from './virtual_program.ts'

const blocks = [...readFileSync(`${ROOT}README.md`, 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)

test('every TypeScript block of the README compiles', () => {
  assert.ok(blocks.length >= 5, `there are ${blocks.length}`)
  const files = new Map(blocks.map((text, i) => [`examples/readme_${i}.ts`, text]))
  const complaints = check(files).map(({ file, line, message }) => `${files.get(file)?.split('\n')[line]}\n  ${message}`)
  assert.deepEqual(complaints, [])
})
