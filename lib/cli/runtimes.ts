/** Chooses the runtime of the operator and its arguments, and finds it on this machine. */
import { optionalEnv } from '../runtime/os/env.ts'
import { exec } from '../runtime/os/exec.ts'
import { folderOf, splitPaths } from '../runtime/os/files.ts'
import { type RuntimeName, type ThisRuntime, thisRuntime } from '../runtime/os/this_runtime.ts'
import { findExecutables } from '../runtime/os/workspace.ts'

export interface Environment {
  readonly current: ThisRuntime
  /** `npm_config_user_agent`: the package manager that started the command. */
  readonly userAgent: string | undefined
  /** `npm_execpath`: the program of that package manager. */
  readonly execPath: string | undefined
  /** Returns the path of a program in PATH, or beside another program. */
  find(name: string, beside?: string): string | undefined
}

/** A runtime on this machine. Without a version, only the program itself knows it. */
type ChosenRuntime = Omit<FoundRuntime, 'version'> & { readonly version: string | undefined }

/** Returns the runtime of `--runtime`, else the one that the user called. @throws Error if it is not installed. */
export function chooseRuntime(
  requested: RuntimeName | undefined,
  environment: Environment,
  file: string,
): ChosenRuntime {
  const { current, userAgent, execPath, find } = environment
  const called = calledWith(current.name, userAgent)
  const name = requested ?? called
  if (name === current.name) return current
  // Bun itself is beside bunx.
  const program = (called === 'bun' && name === 'bun' ? find(name, execPath) : undefined) ?? find(name)
  if (program) return { name, program, version: undefined }
  const remedy = `install it (npm install --save-dev ${name}), or choose another with --runtime`
  throw new Error(`Cannot run ${file} with ${name}: there is no "${name}" in PATH; ${remedy}`)
}

/** Returns the runtime that the user called. `bunx` runs a script with node's shebang on Node, but means Bun. */
function calledWith(current: RuntimeName, userAgent: string | undefined): RuntimeName {
  return current === 'node' && (userAgent ?? '').startsWith('bun/') ? 'bun' : current
}

/** The oldest Node that runs TypeScript well enough. `lib/cli/bin.js` has the same version. */
export const OLDEST_NODE: readonly [number, number] = [22, 19]

export function nodeTooOld(version: string, file: string): string | undefined {
  if (!isOlder(version.replace(/^v/, ''), OLDEST_NODE)) return undefined
  const what = /\.[cm]?ts$/.test(file) ? '.ts files need' : 'kubeloop needs'
  const needs = `${what} Node ≥ ${OLDEST_NODE.join('.')}; this is ${version.replace(/^v/, '')}`
  return `Cannot run ${file}: ${needs}; install it (npm install --save-dev node), or choose another with --runtime`
}

/** Returns whether a version, as 22.18.0, is older than an oldest one. */
export function isOlder(version: string | undefined, [oldest, least]: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  return !(major > oldest || (major === oldest && minor >= least))
}

export interface Launch {
  readonly file: string
  /** Loaded before the file. */
  readonly preload: string
  /** `host:port` of the embedded API. */
  readonly server: string
  /** `host:port` of the operator's webhooks. */
  readonly webhooks: string
  /** `host:port` of its health, metrics and profiles. */
  readonly monitoring: string
  /** The environment variables that the command sets for the operator. */
  readonly variables: readonly string[]
  readonly passed: readonly string[]
  /** Deno's configuration file, unless it finds one by the folder. */
  readonly denoConfig?: string | undefined
}

export function launchArguments(
  { name, version }: { readonly name: RuntimeName; readonly version: string },
  launch: Launch,
): string[] {
  const { file, preload, passed, denoConfig } = launch
  switch (name) {
    case 'node':
      return [...quietNode(version), '--import', preload, ...passed, file]
    case 'bun':
      return ['--preload', preload, ...passed, file]
    case 'deno': {
      const config = denoConfig ? [`--config=${denoConfig}`] : []
      // A question would hold the whole operator; its error names the permission.
      return ['run', '--quiet', '--no-prompt', ...config, '--preload', preload, ...denoPermissions(launch), file]
    }
  }
}

/** Versions before 25 warn about each .ts file that they run; they have no other experimental feature on by default. */
function quietNode(version: string): string[] {
  return Number(version.split('.')[0]) < 25 ? ['--disable-warning=ExperimentalWarning'] : []
}

/** Returns the arguments for what loads a file. On Deno it may read files, variables and system, and `permissions`. */
export function loadArguments(
  { name, version }: { readonly name: RuntimeName; readonly version: string },
  passed: readonly string[],
  permissions: Permissions = {},
): string[] {
  if (name === 'deno') {
    const own = ['--allow-read', '--allow-env', '--allow-sys']
    return ['run', '--quiet', '--no-prompt', ...own, ...joinedPermissions(permissions, passed)]
  }
  return [...(name === 'node' ? quietNode(version) : []), ...passed]
}

/** Flags of Deno with what they allow, as `--allow-net` with hosts. */
export type Permissions = Readonly<Record<string, readonly string[]>>

function denoPermissions({ server, webhooks, monitoring, variables, passed }: Launch): string[] {
  const needed = {
    '--allow-net': [server, webhooks, monitoring],
    '--allow-read': ['.'],
    '--allow-env': [...variables, 'KUBELOOP_LOG'].sort(),
    '--allow-sys': ['hostname'],
  }
  return joinedPermissions(needed, passed)
}

/** Deno takes each flag once, so lists are joined. */
function joinedPermissions(needed: Permissions, passed: readonly string[]): string[] {
  if (passed.some((each) => each === '-A' || each === '--allow-all')) return [...passed]
  const others = passed.filter((each) => !(each.split('=')[0]! in needed))
  const joined = Object.entries(needed).map(([flag, values]) => {
    const own = passed.filter((each) => each.split('=')[0] === flag)
    // A flag without a list allows everything.
    if (own.includes(flag)) return flag
    return `${flag}=${[...values, ...own.flatMap((each) => each.slice(flag.length + 1).split(','))].join(',')}`
  })
  return [...joined, ...others]
}

export interface FoundRuntime {
  readonly name: RuntimeName
  readonly program: string
  readonly version: string
}

/** @throws Error if the runtime is not installed, too old, or does not report its version. */
export async function findRuntime(requested: RuntimeName | undefined, file: string): Promise<FoundRuntime> {
  const { name, program, version: known } = chooseRuntime(requested, {
    current: thisRuntime(),
    userAgent: optionalEnv('npm_config_user_agent'),
    execPath: optionalEnv('npm_execpath'),
    find,
  }, file)
  const version = known ?? (await versionOf(program))
  const tooOld = name === 'node' ? nodeTooOld(version, file) : undefined
  if (tooOld) throw new Error(tooOld)
  return { name, program, version }
}

export function callingRuntime(): RuntimeName {
  return calledWith(thisRuntime().name, optionalEnv('npm_config_user_agent'))
}

function find(name: string, beside?: string): string | undefined {
  const folders = beside === undefined ? splitPaths(optionalEnv('PATH') ?? '') : [folderOf(beside)]
  for (const folder of folders) {
    const { paths } = findExecutables(folder, [name, `${name}.exe`])
    const found = paths[name] ?? paths[`${name}.exe`]
    if (found) return found
  }
  return undefined
}

async function versionOf(program: string): Promise<string> {
  const { code, stdout, stderr } = await exec(program, ['--version'])
  const version = /\d+\.\d+\.\d+\S*/.exec(stdout)?.[0]
  if (code === 0 && version) return version
  const [said] = (stderr || stdout).trim().split('\n')
  throw new Error(`Cannot use "${program}": the output of --version has no version: ${said || 'nothing'}`)
}
