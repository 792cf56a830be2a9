/**
 * Runs a program to its end. On Deno through `Deno.Command`, which needs `--allow-run=PROGRAM` alone;
 * `node:child_process` there asks for the whole environment.
 */
import process from 'node:process'
import { abortScope } from '../../async/abort.ts'
import { type Clock, systemClock } from '../../async/clock.ts'
import { builtins } from './builtins.ts'

/** How a program is run. */
export interface ExecOptions {
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** The program talks with the user: its input and its error output are this process's. Default: false. */
  readonly interactive?: boolean | undefined
  /** What the program reads. Default: nothing. */
  readonly stdin?: string | undefined
  /** After this the program is killed. Default: 60 s. */
  readonly timeoutMs?: number | undefined
  /** More output than this ends the program. Default: 1 MiB. */
  readonly maxBytes?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Default: the real one. */
  readonly clock?: Clock | undefined
}

/** How a program ended. */
export interface ExecResult {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** The program to run is not there, or may not be run. */
export class CommandNotFound extends Error {
  override readonly name = 'CommandNotFound'
}

/**
 * Runs `command` with `args`, without a shell. Resolves however the program ends; rejects with {@link CommandNotFound}
 * when it cannot be started, and with an Error when it took too long or said too much. No error has its output.
 */
export async function exec(command: string, args: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
  const { timeoutMs = 60_000, clock = systemClock } = options
  const scope = abortScope(options.signal)
  const stopWaiting = clock.after(
    timeoutMs,
    () => scope.abort(new Error(`Cannot run "${command}": it took longer than ${timeoutMs / 1000} s`)),
  )
  try {
    scope.signal.throwIfAborted()
    const child = denoApi ? startOnDeno(denoApi, command, args, options) : startOnNode(command, args, options)
    return await finish(child, command, options.maxBytes ?? 1024 * 1024, scope.signal)
  } finally {
    stopWaiting()
    scope[Symbol.dispose]()
  }
}

/** A started program, alike on every runtime. */
interface Child {
  readonly stdout: AsyncIterable<Uint8Array>
  /** Undefined when it goes to the user. */
  readonly stderr: AsyncIterable<Uint8Array> | undefined
  /** Its exit code; rejects when it could not be started. */
  readonly ended: Promise<number | undefined>
  kill(): void
}

/** Gives up at once on an abort: a program's own children may hold its pipes open after it was killed. */
async function finish(child: Child, command: string, maxBytes: number, signal: AbortSignal): Promise<ExecResult> {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  const end = (reason: unknown): void => {
    reject(reason)
    child.kill()
  }
  const onAbort = (): void => end(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const tooMuch = (): void => end(new Error(`Cannot run "${command}": it printed more than ${maxBytes} bytes`))
  const collected = Promise.all([
    child.ended,
    collect(child.stdout, maxBytes, tooMuch),
    collect(child.stderr, maxBytes, tooMuch),
  ])
  try {
    const [code, stdout, stderr] = await Promise.race([collected, failed])
    return { code, stdout, stderr }
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function collect(
  chunks: AsyncIterable<Uint8Array> | undefined,
  maxBytes: number,
  tooMuch: () => void,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of chunks ?? NONE) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) tooMuch()
    else text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

const NONE: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
}

function startOnNode(command: string, args: readonly string[], { env, stdin, interactive }: ExecOptions): Child {
  const shared = interactive ? 'inherit' : 'pipe'
  const child = builtins.childProcess().spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: [shared, 'pipe', shared],
    windowsHide: true,
  })
  const ended = new Promise<number | undefined>((resolve, reject) => {
    child.once('error', (error) => reject(cannotStart(command, error)))
    child.once('close', (code) => resolve(code ?? undefined))
  })
  // A program that does not read its input closes it; that is its right.
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin)
  return {
    stdout: child.stdout!,
    stderr: child.stderr ?? undefined,
    ended,
    kill() {
      child.kill('SIGKILL')
      child.stdout?.destroy()
      child.stderr?.destroy()
    },
  }
}

/** What is used of Deno's own API. */
interface DenoApi {
  readonly Command: new (command: string, options: {
    args: readonly string[]
    env: Readonly<Record<string, string>>
    stdin: 'inherit' | 'piped' | 'null'
    stdout: 'piped'
    stderr: 'inherit' | 'piped'
  }) => { spawn(): DenoChild }
}

interface DenoChild {
  readonly stdin: WritableStream<Uint8Array>
  readonly stdout: AsyncIterable<Uint8Array>
  readonly stderr: AsyncIterable<Uint8Array>
  readonly status: Promise<{ readonly code: number; readonly signal: string | null }>
  kill(signal: 'SIGKILL'): void
}

const denoApi = (globalThis as { readonly Deno?: DenoApi }).Deno

function startOnDeno(
  deno: DenoApi,
  command: string,
  args: readonly string[],
  { env = {}, stdin, interactive }: ExecOptions,
): Child {
  let child: DenoChild
  try {
    const input = interactive ? 'inherit' : stdin === undefined ? 'null' : 'piped'
    child = new deno.Command(command, {
      args,
      env,
      stdin: input,
      stdout: 'piped',
      stderr: interactive ? 'inherit' : 'piped',
    }).spawn()
  } catch (error) {
    throw cannotStart(command, error)
  }
  const ended = Promise.all([child.status, stdin === undefined || interactive ? undefined : feed(child.stdin, stdin)])
  return {
    stdout: child.stdout,
    stderr: interactive ? undefined : child.stderr,
    ended: ended.then(([status]) => (status.signal ? undefined : status.code)),
    kill() {
      try {
        child.kill('SIGKILL')
      } catch (error) {
        // It has just ended by itself.
        if (!(error instanceof TypeError)) throw error
      }
    },
  }
}

async function feed(input: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = input.getWriter()
  try {
    await writer.write(new TextEncoder().encode(text))
    await writer.close()
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'BrokenPipe') throw error
  }
}

function cannotStart(command: string, cause: unknown): CommandNotFound {
  const why = cause instanceof Error && cause.name === 'NotCapable'
    ? `Deno needs --allow-run=${command}`
    : 'it is not installed, not in PATH, or not executable'
  return new CommandNotFound(`Cannot run "${command}": ${why}`, { cause })
}
