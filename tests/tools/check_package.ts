/**
 * Checks dist as npm and jsr.io would take it, without a network: `publint` and `attw` on the packed tarball, and
 * `deno publish --dry-run`, which checks types and that every public one is declared.
 *
 *   node tests/tools/check_package.ts      after `npm run build`
 *
 * Prints what is wrong; the exit code is 0 when nothing is.
 */
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DIST } from './dist.ts'
import { mustRun, runCommand } from './run_command.ts'
import { ROOT } from './tree.ts'

const PACKAGES = join(ROOT, 'node_modules')
const node = join(PACKAGES, '.bin/node')

async function pack(folder: string): Promise<string> {
  const answer = await mustRun('npm', ['pack', DIST, '--json', '--pack-destination', folder])
  return join(folder, (JSON.parse(answer) as { filename: string }[])[0]!.filename)
}

/** Lays dist and the packages that it imports into a folder, where Deno finds them as installed: it asks no registry. */
function layOut(folder: string): string {
  const copy = join(folder, 'dist')
  cpSync(DIST, copy, { recursive: true })
  copyFileSync(join(ROOT, '.gitignore'), join(folder, '.gitignore'))
  const config = JSON.parse(readFileSync(join(DIST, 'jsr.json'), 'utf8')) as object
  writeFileSync(join(copy, 'jsr.json'), JSON.stringify({ ...config, nodeModulesDir: 'manual' }))
  for (const name of ['zod', 'prom-client', '@types/node', 'undici-types']) {
    const link = join(copy, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(PACKAGES, name), link)
  }
  return copy
}

const folder = mkdtempSync(join(tmpdir(), 'kubeloop-package-'))
try {
  const tarball = await pack(folder)
  const publish = ['publish', '--dry-run', '--allow-dirty']
  const attw = ['--profile', 'esm-only', '--no-definitely-typed', '--no-emoji', '--no-color', '--format', 'ascii']
  const checks: readonly (readonly [name: string, command: string, args: readonly string[], cwd?: string])[] = [
    ['publint', node, [join(PACKAGES, 'publint/src/cli.js'), 'run', tarball, '--strict']],
    ['attw', node, [join(PACKAGES, '@arethetypeswrong/cli/dist/index.js'), tarball, ...attw]],
    ['deno publish', join(PACKAGES, '.bin/deno'), publish, layOut(folder)],
  ]
  const env = { NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' }
  await Promise.all(checks.map(async ([name, command, args, cwd]) => {
    const { code, stdout, stderr } = await runCommand(command, args, { env, ...(cwd !== undefined && { cwd }) })
    if (code === 0) return
    console.log(`${name} ended with code ${code}:\n${stdout}${stderr}`)
    process.exitCode = 1
  }))
} finally {
  rmSync(folder, { recursive: true })
}
