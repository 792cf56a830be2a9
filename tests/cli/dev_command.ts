/** Runs `kubeloop` in a folder of its own: in this process, or as the real command, whose lines can be awaited. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { Cluster, loadConfig } from 'kubeloop'
import { runCommand } from '../../lib/cli/commands.ts'
import { UsageError } from '../../lib/cli/options.ts'
import { followed } from '../tools/followed.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

export type Line = Record<string, unknown> & { message: string; level: string }

/** Tests of lines: of a reconcile by its causes, of a message by a part of it, and of an applied object. */
export const reconciled = (causes: string) => (line: Line): boolean =>
  line.message === 'reconcile' && String(line['causes']).includes(causes)
export const says = (text: string) => (line: Line): boolean => line.message.includes(text)
export const applied = (object: string, result: string) => (line: Line): boolean =>
  line.message === 'applied' && line['object'] === object && line['result'] === result
export const isError = ({ level }: Line): boolean => level === 'error'

export type Folder = ReturnType<typeof makeFolder>

export type Command = ReturnType<typeof command>

/** Calls `use` with a folder of {@link makeFolder}, then ends its commands and removes it. */
export async function inFolder(use: (folder: Folder) => Promise<void>): Promise<void> {
  const folder = makeFolder()
  try {
    await use(folder)
  } finally {
    await folder.remove()
  }
}

/** Creates a folder in which `kubeloop` and `zod` are installed. */
export function makeFolder() {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'kubeloop-cli-')))
  const running = new Set<Command>()
  const clusters: Cluster[] = []
  const noted = (command: Command): Command => {
    running.add(command)
    void command.ended.then(() => running.delete(command))
    return command
  }
  mkdirSync(join(path, 'node_modules'))
  symlinkSync(ROOT, join(path, 'node_modules/kubeloop'))
  symlinkSync(join(ROOT, 'node_modules/zod'), join(path, 'node_modules/zod'))
  writeFileSync(join(path, 'package.json'), '{ "type": "module", "dependencies": { "kubeloop": "*", "zod": "*" } }')
  return {
    path,
    write(name: string, text: string) {
      mkdirSync(dirname(join(path, name)), { recursive: true })
      // By a rename, as editors do: between truncate and write a watcher would see an empty file.
      writeFileSync(join(path, `${name}.new`), text)
      renameSync(join(path, `${name}.new`), join(path, name))
    },
    read: (name: string) => readFileSync(join(path, name), 'utf8'),
    /** Runs the command in this process until it ends. */
    call: (...args: string[]) => callIn(path, args),
    run: (...args: string[]) => noted(start(path, args)),
    /** Runs it as npx does: by a shell, which a signal to npx ends without the command. */
    runByNpx: (...args: string[]) => noted(start(path, args, '"$@"; exit $?')),
    runInto: (file: string, ...args: string[]) => noted(start(path, args, `"$@" > ${file}`)),
    /** Returns a client of a kubeconfig in the folder, by default that of the commands. */
    async client(
      { kubeconfig = '.kubeloop/kubeconfig', context }: { readonly kubeconfig?: string; readonly context?: string } =
        {},
    ) {
      const { cluster: config } = await loadConfig({ kubeconfig: join(path, kubeconfig), context })
      const cluster = new Cluster({ name: 'test', config })
      clusters.push(cluster)
      return cluster.client
    },
    async remove() {
      for (const each of clusters) each.close()
      for (const command of running) {
        command.kill('SIGTERM')
        await command.ended
      }
      rmSync(path, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function callIn(folder: string, args: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const context = {
    parent: 0,
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
  }
  const before = process.cwd()
  process.chdir(folder)
  let code: number
  try {
    code = await runCommand(args, context)
  } catch (error) {
    err.push((error as Error).message)
    code = error instanceof UsageError ? 2 : 1
  } finally {
    process.chdir(before)
  }
  return { code, out: out.join('\n'), err: err.join('\n') }
}

/** `shell`: the script that runs the command. */
function start(cwd: string, args: readonly string[], shell?: string): Command {
  const own = 'Deno' in globalThis ? ['run', '-A'] : []
  // The variables of the package manager that started the tests must not reach this command.
  const { npm_lifecycle_event: _, ...outer } = process.env
  const env = { ...outer, npm_config_user_agent: '', npm_execpath: '' }
  const words = [process.execPath, ...own, join(ROOT, 'lib/cli/bin.js'), ...args]
  const [program = '', ...rest] = shell ? ['sh', '-c', shell, 'sh', ...words] : words
  const child = spawn(program, rest, {
    cwd,
    env: shell?.includes('exit') ? { ...env, npm_lifecycle_event: 'npx' } : env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return command(child)
}

function command(child: ChildProcess) {
  const { output, ended, kill, until } = followed(child)
  const lines: Line[] = []
  const read = { stdout: 0, stderr: 0 }
  const readLines = (): void => {
    for (const stream of ['stdout', 'stderr'] as const) {
      const whole = output(stream).slice(read[stream], output(stream).lastIndexOf('\n') + 1)
      read[stream] += whole.length
      lines.push(...whole.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line))
    }
  }
  return {
    pid: child.pid!,
    output: () => output().trimEnd(),
    printed: () => output('stdout').trimEnd(),
    errors: () => output('stderr').trimEnd(),
    /** Resolves with its exit code when it and all processes that share its output have ended. */
    ended,
    kill,
    /** Sends a signal, and waits for the end, whose code must be 0. */
    async stop(signal: NodeJS.Signals = 'SIGTERM') {
      kill(signal)
      assert.equal(await ended, 0, output())
    },
    /** Closes this end of its standard output. */
    closeOutput: () => void child.stdout!.destroy(),
    /** Resolves with the next line that matches, each line once. Rejects if the command ends before. */
    line: (what: string, like: (line: Line) => boolean) =>
      until(`a line like: ${what}`, () => {
        readLines()
        const at = lines.findIndex(like)
        return at < 0 ? undefined : lines.splice(at, 1)[0]
      }),
  }
}
