/** Follows the output of a process, for tests that wait for a part of it. */
import type { ChildProcess } from 'node:child_process'

/** Reads the output of a process with pipes. */
export function followed(child: ChildProcess) {
  const parts = { stdout: '', stderr: '', both: '' }
  let over = false
  let waiting: (() => void)[] = []
  const wake = (): void => waiting.splice(0).forEach((each) => each())
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      const part = text.replaceAll('\r\n', '\n')
      parts[name] += part
      parts.both += part
      wake()
    })
  }
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      over = true
      wake()
      resolve(code)
    })
  })
  return {
    /** Returns the output so far, by default that of both pipes. */
    output: (of: keyof typeof parts = 'both') => parts[of],
    /** Resolves with the exit code when the process, and all that share its output, have ended. */
    ended,
    isOver: () => over,
    // Deno's child.kill() makes it forget the exit code, and reports that the signal ended the child even if it did not.
    kill: (signal: NodeJS.Signals) => void (over || process.kill(child.pid!, signal)),
    /** Resolves with what `find` returns, which is called after each part of the output. Rejects if the process ends before. */
    async until<T>(what: string, find: () => T | undefined): Promise<T> {
      for (;;) {
        const found = find()
        if (found !== undefined) return found
        if (over) throw new Error(`the process ended without ${what}\n${parts.both}`)
        await new Promise<void>((resolve) => (waiting = [...waiting, resolve]))
      }
    },
  }
}
