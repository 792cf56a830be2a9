/** The threat model names tests that exist, and what is installed is what the lock says. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../tools/tree.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const page = read('docs/threat-model.md')

test('each line of the threat model names a test, by its file and title', () => {
  const attacks = page.slice(page.indexOf('## What each may try')).split('\n').filter((line) =>
    /^\| (?!attack|---)/.test(line)
  )
  assert.ok(attacks.length > 25, `${attacks.length}`)
  const wrong = attacks.filter((line) => {
    const [, file, title] = /`(tests\/[^`]+)`: (.+) \|$/.exec(line) ?? []
    return !file || !existsSync(join(ROOT, file)) || !read(file).replaceAll('\\`', '`').includes(title!)
  })
  assert.deepEqual(wrong, [])
})

test('each package of the lock has a hash, and no other source than the registry', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Readonly<Record<string, { integrity?: string; resolved?: string; link?: boolean }>>
  }
  const installed = Object.entries(packages).filter(([path]) => path !== '')
  assert.ok(installed.length > 100)
  const isFromRegistry = (url = 'https://registry.npmjs.org/'): boolean => url.startsWith('https://registry.npmjs.org/')
  const wrong = installed.filter(([, { integrity, resolved, link }]) =>
    link === true || !integrity?.startsWith('sha512-') || !isFromRegistry(resolved)
  )
  assert.deepEqual(wrong.map(([path]) => path), [])
})
