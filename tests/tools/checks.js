/**
 * What `npm run check` runs besides the tests, and `npm test` before them. Each is one command that prints nothing when
 * all is well.
 *
 * Plain JavaScript without dependencies: tests/run.js imports it, which runs on Node 20.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Rules of `deno lint` that are off, each with its reason. What else it finds is mended, or ignored beside the code. */
const LINT_RULES_OFF = {
  'require-await': 'an async function turns what it throws into a rejection, with or without an await',
  'no-control-regex':
    'terminal colors, control characters and the zero of a page token are what these patterns are for',
}

const SOURCES = ['lib', 'tests', 'examples', 'mod.ts']

/**
 * The checks of the repository at `root`, as `{ name, command, args }`; commands come from `bin`. TypeScript 7 checks in
 * a quarter of the time; what users compile, the declarations of the package, dist.test.ts checks by TypeScript 6, too. One
 * thread takes two thirds of the processor time of several, which check the same types again each.
 */
export function checksOf(root, bin) {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const node = join(bin, 'node')
  const deno = join(bin, 'deno')
  const tsc = 'node_modules/typescript7/bin/tsc'
  // The flags of the formatter are those of `npm run format`.
  const [, ...format] = scripts.format.split(' ')
  return [
    { name: 'types of all', command: node, args: [tsc, '-p', '.', '--singleThreaded'] },
    // Only what declarations need: the types themselves are checked with all.
    { name: 'types of mod.ts and lib, declared', command: node, args: [tsc, '-p', 'lib', '--noCheck'] },
    { name: 'format (mend it by `npm run format`)', command: deno, args: [...format, '--check'] },
    {
      name: 'lint',
      command: deno,
      args: ['lint', '--quiet', `--rules-exclude=${Object.keys(LINT_RULES_OFF).join()}`, ...SOURCES],
    },
    { name: 'unused files, exports, dependencies', command: node, args: ['node_modules/knip/bin/knip.js'] },
    { name: 'doc comments', command: node, args: ['tests/tools/reference.ts', '--lint'] },
  ]
}
