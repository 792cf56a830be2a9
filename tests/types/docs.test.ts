/** Compiles the TypeScript blocks of README and docs as files beside the sample. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { besideExamples, typescriptBlocks } from '../tools/docs.ts'
import { check } from './virtual_program.ts'

const blocks = typescriptBlocks()

test('every TypeScript block of README and docs compiles', () => {
  assert.ok(blocks.length >= 15, `there are ${blocks.length}`)
  const files = new Map(blocks.map(({ text }, i) => [`examples/docs_${i}.ts`, besideExamples(text)]))
  const complaints = check(files).map(({ file, line, message }) => {
    const block = blocks[Number(/_(\d+)/.exec(file)?.[1])]
    return `${block?.name}: ${files.get(file)?.split('\n')[line]}\n  ${message}`
  })
  assert.deepEqual(complaints, [])
})
