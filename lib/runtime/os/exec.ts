/**
 * Runs a program and returns its output.
 *
 * On Deno it uses `Deno.Command`, which needs only `--allow-run=PROGRAM`; `node:child_process` there also needs the
 * whole environment.
 */
import { abortScope } from '../../async/abort.ts'
import { type Clock, systemClock } from '../../async/clock.ts'
import { nodeChildProcess } from './builtins.ts'

/** How a program is run. */
export interface ExecOptions {
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Whether the program shares this process's standard input and error, to prompt the user. Default: false. */
  readonly interactive?: boolean | undefined
  /** The program's standard input. Default: empty. */
  readonly stdin?: string | undefined
  /** The program is killed after this time. Default: 60 s. */
  readonly timeoutMs?: number | undefined
  /** The program is killed if it writes more than this. Default: 1 MiB. */
  readonly maxBytes?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Default: the system clock. */
  readonly clock?: Clock | undefined
}

/** How a program ended. */
export interface ExecResult {
  /** Undefined if a signal ended it. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** The program does not exist or may not be run. */
export class CommandNotFound extends Error {
  override readonly name = 'CommandNotFound'
}

/**
 * Runs `command` with `args`, without a shell. Resolves with any exit code. Rejects with {@link CommandNotFound} if it
 * cannot be started, and with an Error if it took too long or wrote too much. Errors never contain its output.
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

/** A started program, the same on every runtime. */
interface Child {
  readonly stdout: AsyncIterable<Uint8Array>
  /** Undefined if it goes to the user. */
  readonly stderr: AsyncIterable<Uint8Array> | undefined
  /** Resolves to the exit code; rejects if the program could not be started. */
  readonly ended: Promise<number | undefined>
  kill(): void
}

/** Waits for the end. Rejects at once on an abort: the program's children may keep its pipes open after a kill. */
async function finish(child: Child, command: string, maxBytes: number, signal: AbortSignal): Promise<ExecResult> {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  const end = (reason: unknown): void => {
    reject(reason)
    child.kill()
  }
  signal.addEventListener('abort', () => end(signal.reason), { once: true })
  const tooMuch = (): void => end(new Error(`Cannot run "${command}": it printed more than ${maxBytes} bytes`))
  const collected = Promise.all([
    child.ended,
    collect(child.stdout, maxBytes, tooMuch),
    collect(child.stderr, maxBytes, tooMuch),
  ])
  const [code, stdout, stderr] = await Promise.race([collected, failed])
  return { code, stdout, stderr }
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
  const child = nodeChildProcess().spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: [shared, 'pipe', shared],
    windowsHide: true,
  })
  const ended = new Promise<number | undefined>((resolve, reject) => {
    child.once('error', (error) => reject(cannotStart(command, error)))
    child.once('close', (code) => resolve(code ?? undefined))
  })
  // A program may close its input without reading it.
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

/** The part of Deno's API that is used here. */
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
        // The program has already ended.
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
