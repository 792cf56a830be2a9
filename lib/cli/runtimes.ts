/** Which runtime runs the operator, and how each is told to run it. Pure: what is installed is asked of `find`. */
import type { RuntimeName, ThisRuntime } from '../runtime/os/this_runtime.ts'

export interface Surroundings {
  readonly current: ThisRuntime
  /** `npm_config_user_agent`: who started a package's command. */
  readonly userAgent: string | undefined
  /** `npm_execpath`: the program of whoever did. */
  readonly execPath: string | undefined
  /** The path of a program in PATH, or of one beside another program. */
  find(name: string, beside?: string): string | undefined
}

export interface ChosenRuntime {
  readonly name: RuntimeName
  readonly program: string
  /** Undefined when the program must be asked. */
  readonly version: string | undefined
}

/**
 * The runtime that was asked for, else the one this command was called with: `bunx` means Bun, although a script with
 * node's shebang is run by Node then.
 *
 * @throws Error when it is not installed.
 */
export function chooseRuntime(asked: RuntimeName | undefined, around: Surroundings, file: string): ChosenRuntime {
  const { current, userAgent, execPath, find } = around
  const calledWithBunx = calledWith(current.name, userAgent) !== current.name
  const name = asked ?? calledWith(current.name, userAgent)
  if (name === current.name) return current
  const program = (calledWithBunx && name === 'bun' ? find(name, execPath) : undefined) ?? find(name)
  if (program) return { name, program, version: undefined }
  const remedy = `install it (npm install --save-dev ${name}) or choose another runtime with --runtime`
  throw new Error(`Cannot run ${file} with ${name}: there is no "${name}" in PATH; ${remedy}`)
}

/** The runtime that a command was called with: `bunx` runs one with node's shebang by Node, but means Bun. */
export function calledWith(current: RuntimeName, userAgent: string | undefined): RuntimeName {
  return current === 'node' && (userAgent ?? '').startsWith('bun/') ? 'bun' : current
}

/** The oldest Node that runs TypeScript well enough. `lib/cli/bin.js` has the same number. */
export const OLDEST_NODE: readonly [number, number] = [22, 19]

/** What is wrong with a Node of this version, if anything. */
export function nodeTooOld(version: string, file: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return undefined
  const what = /\.[cm]?ts$/.test(file) ? '.ts files need' : 'kubeloop needs'
  const needs = `${what} Node ≥ ${OLDEST_NODE.join('.')}; this is ${version.replace(/^v/, '')}`
  return `Cannot run ${file}: ${needs} (or: kubeloop dev --runtime bun ${file})`
}

export interface Launch {
  readonly file: string
  /** Loaded before the file. */
  readonly preload: string
  /** `host:port` of the embedded API. */
  readonly server: string
  /** The user's own arguments for the runtime. */
  readonly passed: readonly string[]
  /** Where Deno finds the file's modules, when it is not told by the folder. */
  readonly denoConfig?: string | undefined
}

/** The arguments that run a file. */
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
      return ['run', '--quiet', ...config, '--preload', preload, ...denoPermissions(launch), file]
    }
  }
}

/** Older versions warn of each .ts file they run; nothing else in them is experimental by itself. */
function quietNode(version: string): string[] {
  return Number(version.split('.')[0]) < 25 ? ['--disable-warning=ExperimentalWarning'] : []
}

/** The arguments before a program of ours that loads the user's file, which runs nothing: on Deno it may look at this machine, no more. */
export function loadArguments(
  { name, version }: { readonly name: RuntimeName; readonly version: string },
  passed: readonly string[],
): string[] {
  if (name === 'deno') return ['run', '--quiet', '--no-prompt', '--allow-read', '--allow-env', '--allow-sys', ...passed]
  return [...(name === 'node' ? quietNode(version) : []), ...passed]
}

/** What kubeloop reads of the environment under `kubeloop dev`. */
const ENVIRONMENT = ['KUBECONFIG', 'KUBELOOP_DEV', 'KUBELOOP_ELECT', 'KUBELOOP_FILE', 'KUBELOOP_LOG']

/** Exactly what kubeloop needs, and what the user asks for: Deno takes each flag once, so the lists are joined. */
function denoPermissions({ server, passed }: Launch): string[] {
  const needed: Readonly<Record<string, readonly string[]>> = {
    '--allow-net': [server],
    '--allow-read': ['.'],
    '--allow-env': ENVIRONMENT,
    '--allow-sys': ['hostname'],
  }
  if (passed.some((each) => each === '-A' || each === '--allow-all')) return [...passed]
  const others = passed.filter((each) => !(each.split('=')[0]! in needed))
  const joined = Object.entries(needed).map(([flag, values]) => {
    const own = passed.filter((each) => each.split('=')[0] === flag)
    // Without a list it allows everything.
    if (own.includes(flag)) return flag
    return `${flag}=${[...values, ...own.flatMap((each) => each.slice(flag.length + 1).split(','))].join(',')}`
  })
  return [...joined, ...others]
}
