/** Runs tests in a child process that is started again when a test blocks or spoils it. */
import { type ChildProcess, fork } from 'node:child_process'
import process from 'node:process'

/** A test that was run without a mutant. */
export interface Measured {
  readonly file: string
  readonly name: string
  readonly ms: number
  /** The longest row of ticks in which the process was idle. */
  readonly idle: number
  readonly isRepeatable: boolean
  /** The mutants whose places it evaluates: by path, the indexes in `mutantsOf`. */
  readonly reaches: Record<string, number[]>
}

export type Request = { readonly measure: string } | {
  readonly path: string
  readonly index: number
  readonly tests: readonly Measured[]
}

/** `at` is sent before each test. `tainted`: a test fails that passed before, though no mutant is active. */
export type Answer =
  | { readonly at: string; readonly limit: number }
  | { readonly measured: readonly Measured[] }
  | { readonly by: string | undefined }
  | { readonly tainted: string }
  | { readonly unusable: string }

const LOAD_MS = 60_000
const GRACE_MS = 2000

export class Children {
  readonly #args: readonly string[]
  #child: ChildProcess | undefined

  /** @param rooms The folders of lib whose mutants are compiled in. */
  constructor(root: string, rooms: readonly string[]) {
    this.#args = [root, rooms.join('|')]
  }

  /** Runs the tests of a file twice; undefined if it cannot share a process. */
  async measure(file: string): Promise<readonly Measured[] | undefined> {
    const answer = await this.#ask({ measure: file })
    return 'measured' in answer ? answer.measured : undefined
  }

  /** Returns the first of the tests that fails because of a mutant. */
  async firstFailure(path: string, index: number, tests: readonly Measured[]): Promise<string | undefined> {
    let left = tests
    const blocked = new Set<string>()
    while (left.length > 0) {
      const answer = await this.#ask({ path, index, tests: left })
      if ('by' in answer) return answer.by
      const at = 'at' in answer ? answer.at : 'tainted' in answer ? answer.tainted : undefined
      const place = left.findIndex(({ file, name }) => `${file}: ${name}` === at)
      if (place < 0) return undefined
      // A test that blocks a fresh process too has found the mutant; one that is spoiled by others is left out.
      if ('at' in answer && blocked.has(answer.at)) return answer.at
      if ('at' in answer) blocked.add(answer.at)
      left = left.slice('at' in answer ? place : place + 1)
      this.end()
    }
    return undefined
  }

  end(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }

  /** Resolves with the last `at` if the child ended, or had to be. */
  #ask(request: Request): Promise<Answer> {
    const child = this.#child ??= fork(new URL('child.ts', import.meta.url), this.#args, {
      execArgv: ['--expose-gc', '--no-warnings'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { ...process.env, NO_COLOR: '1' },
    })
    return new Promise((resolve) => {
      let at: Answer = { unusable: 'The file cannot be loaded.' }
      let timer = setTimeout(() => child.kill('SIGKILL'), LOAD_MS)
      const settle = (answer: Answer): void => {
        clearTimeout(timer)
        child.removeAllListeners()
        resolve(answer)
      }
      child.on('message', (answer: Answer) => {
        if (!('at' in answer)) return settle(answer)
        at = answer
        clearTimeout(timer)
        timer = setTimeout(() => child.kill('SIGKILL'), answer.limit + GRACE_MS)
      })
      child.once('exit', () => {
        this.#child = undefined
        settle(at)
      })
      child.send(request)
    })
  }
}
