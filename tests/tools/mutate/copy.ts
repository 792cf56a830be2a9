/** Runs tests with one bug in a copy of the tree, by processes of their own. */
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { run } from '../runner/processes.js'
import { ROOT } from '../tree.ts'

const COPIED = ['lib', 'tests', 'examples', 'docs', 'mod.ts', 'package.json', 'tsconfig.json', 'README.md']
const FAILED = /^ +✖ (.*) \([\d.]+ms\)/m
const LIMIT_MS = 600_000

export class Copy {
  readonly #folder: string
  #isMade = false

  /** @param folder An empty folder, which is filled at the first write. */
  constructor(folder: string) {
    this.#folder = folder
  }

  write(path: string, text: string): void {
    if (!this.#isMade) {
      for (const name of COPIED) cpSync(join(ROOT, name), join(this.#folder, name), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules'), join(this.#folder, 'node_modules'))
      this.#isMade = true
    }
    writeFileSync(join(this.#folder, path), text)
  }

  /** Returns the first test of files that fails. */
  async firstFailure(files: readonly string[]): Promise<string | undefined> {
    if (files.length === 0) return undefined
    const args = ['tests/run.js', '--tests', '--only', 'node', '--jobs', '1', '--timeout', '60', ...files]
    const { code, output } = await run(process.execPath, args, {
      cwd: this.#folder,
      env: { ...process.env, NO_COLOR: '1' },
      limit: LIMIT_MS,
      signal: 'SIGTERM',
      // Ends the run soon after its first failure, when the names are printed.
      onLine: (line: string) => FAILED.test(line) ? 200 : undefined,
    })
    return code === 0 ? undefined : FAILED.exec(output)?.[1] ?? `exit code ${code}: ${output.slice(-200)}`
  }

  /** Returns the first error of the type check while a file has another text. */
  async typeError(path: string, changed: string, text: string): Promise<string | undefined> {
    this.write(path, changed)
    const args = [
      'node_modules/typescript7/bin/tsc',
      '-p',
      '.',
      '--noEmit',
      '--incremental',
      '--tsBuildInfoFile',
      'types.info',
    ]
    const { code, output } = await run(process.execPath, args, { cwd: this.#folder, env: process.env, limit: LIMIT_MS })
    this.write(path, text)
    return code === 0 ? undefined : `types: ${output.trim().split('\n')[0]}`
  }
}
