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

/** Compares the lines of each case, below its title, with a golden file. */
export function goldenCases(
  name: string,
  cases: readonly (readonly [title: string, lines: readonly string[]])[],
): void {
  golden(name, `${cases.flatMap(([title, lines]) => [`=== ${title}`, ...lines]).join('\n')}\n`)
}

/** Returns a line for each value in an object, with its path; a value whose JSON is short has one line. */
export function valueLines(value: unknown, path: string): string[] {
  const text = JSON.stringify(value)
  if (text.length <= 300 || typeof value !== 'object' || value === null) return [`${path} = ${text}`]
  return Object.entries(value).flatMap(([key, each]) =>
    valueLines(each, `${path}${Array.isArray(value) ? `[${key}]` : `.${key}`}`)
  )
}
