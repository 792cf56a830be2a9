/** A user's project, in which the built package is installed, and its shell. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { DIST } from './dist.ts'
import { COMPILED } from './compiled.ts'
import { mustRun } from './run_command.ts'
import { ROOT } from './tree.ts'
import { followed } from './followed.ts'

export type UserProject = ReturnType<typeof makeUserProject>

type RunningLine = ReturnType<typeof runningLine>

/** Why no command can be given a terminal here; false if it can. */
export const noTerminal: string | false = spawnSync('script', ['--version']).error
  ? 'the command script, which gives a program a terminal, is not installed'
  : false

/** Creates a project for Node or Bun, or for Deno with a package.json, so that nothing is downloaded. */
export function makeUserProject() {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'kubeloop-user-')))
  const [path, home] = [join(top, 'project'), join(top, 'home')]
  mkdirSync(join(home, '.kube'), { recursive: true })
  mkdirSync(join(path, 'node_modules/.bin'), { recursive: true })
  mkdirSync(join(path, 'node_modules/@types'))
  cpSync(DIST, join(path, 'node_modules/kubeloop'), { recursive: true })
  symlinkSync('../kubeloop/cli.js', join(path, 'node_modules/.bin/kubeloop'))
  for (const name of ['zod', '@types/node', 'undici-types']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(path, 'node_modules', name))
  }
  const { version } = JSON.parse(readFileSync(join(DIST, 'package.json'), 'utf8')) as { version: string }
  const dependencies = { kubeloop: version, zod: '*' }
  writeFileSync(join(path, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
  const installed = new Set([...readdirSync(path), ...readdirSync(join(path, 'node_modules'))])
  const env = userEnvironment(home)
  const running = new Set<RunningLine>()
  const clear = async (): Promise<void> => {
    await Promise.all([...running].map((each) => each.stop()))
    for (const folder of [path, join(path, 'node_modules'), join(home, '.kube')]) {
      for (const name of readdirSync(folder).filter((each) => !installed.has(each))) {
        rmSync(join(folder, name), { recursive: true, force: true, maxRetries: 5 })
      }
    }
  }
  return {
    path,
    /** The user's home folder. */
    home,
    write: (name: string, text: string) => writeFileSync(join(path, name), text),
    read: (name: string) => readFileSync(join(path, name), 'utf8'),
    /** Runs a command line to its end, and returns its output. Rejects if it fails. */
    run: (line: string) => mustRun('env', ['-i', ...settings(env), 'sh', '-c', line], { cwd: path }),
    /** Starts a command line. */
    start(line: string, { terminal = false }: { readonly terminal?: boolean } = {}) {
      const [program, ...args] = terminal ? ['script', '-qec', line, '/dev/null'] : ['sh', '-c', `exec ${line}`]
      const child = spawn(program!, args, { cwd: path, env, stdio: 'pipe' })
      const started = runningLine(child, terminal)
      running.add(started)
      child.once('close', () => running.delete(started))
      return started
    },
    /** Ends the commands that still run, and deletes what they and the test have written. */
    clear,
    /** Clears and deletes the project. */
    async remove() {
      await clear()
      rmSync(top, { recursive: true })
    },
  }
}

/** The environment of a new terminal: without the variables of the package manager and of the test runner. */
function userEnvironment(home: string): Record<string, string> {
  const { PATH = '', KUBEBUILDER_ASSETS: assets, TMPDIR = tmpdir() } = process.env
  const folders = [join(ROOT, 'node_modules/.bin'), ...(assets ? [assets] : []), PATH]
  return {
    PATH: folders.join(':'),
    HOME: home,
    TMPDIR,
    TERM: 'dumb',
    NO_COLOR: '1',
    // Deno compiles what it has of Node into this folder, by default in the home, which is new here.
    DENO_DIR: COMPILED['DENO_DIR']!,
    // The package is compiled once for all commands of a project.
    NODE_COMPILE_CACHE: join(home, '.compiled'),
    DENO_NO_UPDATE_CHECK: '1',
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  }
}

function settings(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`)
}

function runningLine(child: ChildProcess, terminal: boolean) {
  const { output, ended, isOver, kill, until } = followed(child)
  let at = 0
  return {
    output,
    /** Resolves with the next match in its output, after those of earlier calls. Rejects if the command ends before. */
    until: (pattern: RegExp) =>
      until(String(pattern), () => {
        const match = pattern.exec(output().slice(at))
        if (!match) return undefined
        at += match.index + match[0].length
        return match[0]
      }),
    /** Ends it: by Ctrl-C on a terminal, else by SIGTERM. Resolves with the exit code. */
    stop() {
      if (terminal && !isOver()) child.stdin!.write('\x03')
      else kill('SIGTERM')
      return ended
    },
  }
}
