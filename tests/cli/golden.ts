/** Compares texts with golden files. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'

/** With KUBELOOP_WRITE_GOLDEN=1 in the environment, the file is written anew instead. */
export function golden(name: string, text: string): void {
  const file = new URL(`golden/${name}`, import.meta.url)
  if (process.env['KUBELOOP_WRITE_GOLDEN']) writeFileSync(file, text)
  assert.equal(text, readFileSync(file, 'utf8'))
}
