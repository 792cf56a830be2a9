/**
 * The API reference, from the doc comments of every entry of package.json.
 *
 *   node tests/tools/reference.ts            writes it as HTML into dist/reference
 *   node tests/tools/reference.ts --lint     checks the doc comments: `deno doc --lint`
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './run_command.ts'
import { ROOT } from './tree.ts'

const OUTPUT = 'dist/reference'

/** One finding of `deno doc --lint`. */
export interface Finding {
  readonly code: string
  readonly message: string
  /** From the top of the repository. */
  readonly path: string
  readonly line: number
  readonly column: number
}

/** The findings in what `deno doc --lint` prints; paths lose `root` and its slash. */
export function findingsIn(output: string, root: string): Finding[] {
  return [...output.matchAll(/^error\[([\w-]+)\]: (.*)\n *--> (.+):(\d+):(\d+)$/gm)].map(
    ([, code = '', message = '', path = '', line, column]) => ({
      code,
      message,
      path: path.replace(`${root}/`, ''),
      line: Number(line),
      column: Number(column),
    }),
  )
}

/**
 * Tests whether a finding needs no change. Members may be without a comment where the name says it all: only what a module
 * exports needs one, the types generated from Kubernetes' own excepted. Deno takes for private the
 * types of zod's core, and a type that has the name of a value beside it, also where its written form names it.
 */
export function isAllowed({ code, message, path }: Finding, line: string): boolean {
  if (code === 'private-type-ref') {
    return /private type '\$Zod|'(?:Desired)?(\w+)' references private type '\1'$/.test(message)
  }
  return code === 'missing-jsdoc' && (path === 'lib/kinds/models.ts' || !/^export\b/.test(line))
}

async function lint(entries: readonly string[]): Promise<boolean> {
  const { code, stdout, stderr } = await deno(['doc', '--lint', ...entries])
  const all = findingsIn(stdout + stderr, ROOT)
  // An output that is read wrongly must not pass as one without findings.
  if ((all.length === 0) !== (code === 0)) {
    console.log(`deno doc --lint ended with code ${code}, and its output has ${all.length} findings:\n${stderr}`)
    return false
  }
  const sources = new Map<string, string[]>()
  for (const { path } of all) sources.set(path, readFileSync(join(ROOT, path), 'utf8').split('\n'))
  const wrong = all.filter((each) => !isAllowed(each, sources.get(each.path)![each.line - 1]!))
  for (const { path, line, column, message } of wrong) console.log(`${path}:${line}:${column}: ${message}`)
  if (wrong.some(({ code }) => code === 'private-type-ref')) {
    console.log('Of a private type: export it, or mark a helper of the same file by a comment with @internal')
  }
  return wrong.length === 0
}

async function write(entries: readonly string[]): Promise<boolean> {
  const args = ['doc', '--html', '--quiet', '--name=kubeloop', `--output=${OUTPUT}`, ...entries]
  const { code, stderr } = await deno(args)
  console.log(code === 0 ? `${OUTPUT}/index.html is written` : stderr)
  return code === 0
}

function deno(args: readonly string[]): ReturnType<typeof runCommand> {
  const env = { NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' }
  return runCommand(join(ROOT, 'node_modules/.bin/deno'), args, { cwd: ROOT, env })
}

if (process.argv[1] === import.meta.filename) {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, string>
  }
  const entries = Object.values(exports).filter((path) => path.endsWith('.ts'))
  const done = process.argv.includes('--lint') ? await lint(entries) : await write(entries)
  process.exitCode = done ? 0 : 1
}
