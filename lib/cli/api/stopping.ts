/** Stops a command that serves: on signals, with npm, and when its output is closed. */
import type { AbortScope } from '../../async/abort.ts'
import { sleep, systemClock } from '../../async/clock.ts'
import { optionalEnv } from '../../runtime/os/env.ts'
import { onSignals } from '../../runtime/os/signals.ts'
import { parentPid } from '../../runtime/os/this_runtime.ts'

/** A second signal within this time is the same Ctrl-C, once from the terminal and once from npm. */
const SAME_SIGNAL_MS = 500

/** Called when the reader of standard output has gone. */
export function stopOnClosedOutput(scope: AbortScope): void {
  scope.abort(new DOMException('Standard output is closed', 'AbortError'))
}

/** The first signal stops the command, a later one calls `kill`. Returns a function that stops listening. */
export function stopOnSignals(scope: AbortScope, kill: () => void): () => void {
  let first: number | undefined
  return onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => {
    const now = systemClock.monotonic()
    if (first !== undefined && now - first > SAME_SIGNAL_MS) kill()
    first ??= now
    scope.abort(new DOMException(`${signal} was received`, 'AbortError'))
  })
}

const NPM_CHECK_MS = 500

/** Stops the command with npm: a signal to npm or npx ends it and its shell, but does not reach this process. */
export async function stopWithNpm({ signal, abort }: AbortScope, parent: number): Promise<void> {
  if (optionalEnv('npm_lifecycle_event') === undefined) return
  try {
    while (parentPid() === parent) await sleep(systemClock, NPM_CHECK_MS, signal)
    abort(new DOMException('npm has ended', 'AbortError'))
  } catch {
    // Aborted: the command stops for another reason.
  }
}
