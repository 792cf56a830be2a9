/** Compiles files of a user with the built package, by one of two major versions of TypeScript. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DIST } from '../tools/dist.ts'
import { ROOT } from '../tools/tree.ts'
import { withFolder } from '../tools/folder.ts'

export interface Complaint {
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  readonly message: string
}

/** What the files can import. */
const PACKAGES = ['@kubernetes', '@opentelemetry', '@types', 'fast-check', 'prom-client', 'zod']

const EXAMPLES = join(ROOT, 'examples')

/** Returns the messages of the compiler for files, by their names, which are beside the examples. */
export async function complaintsOf(
  files: Readonly<Record<string, string>>,
  compiler: 'typescript' | 'typescript7' = 'typescript7',
): Promise<Complaint[]> {
  return await withFolder((folder) => {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(DIST, join(folder, 'node_modules/kubeloop'))
    for (const name of PACKAGES) symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    for (const name of readdirSync(EXAMPLES)) symlinkSync(join(EXAMPLES, name), join(folder, name))
    const config = { extends: join(ROOT, 'tsconfig.json'), include: [], files: Object.keys(files) }
    const all = { 'package.json': '{ "type": "module" }', 'tsconfig.json': JSON.stringify(config), ...files }
    for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text)
    const args = [join(ROOT, 'node_modules', compiler, 'bin/tsc'), '-p', '.', '--pretty', 'false']
    // More threads check the same types again each.
    if (compiler === 'typescript7') args.push('--singleThreaded')
    const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin/node'), args, { encoding: 'utf8', cwd: folder })
    const found = stdout.matchAll(/^(?:(\S+)\((\d+),\d+\): )?(.*(?:\n[ ]+.*)*)\n/gm)
    return [...found].map(([, file = '', line, message = '']) => ({ file, line: Number(line ?? 0), message }))
  })
}
