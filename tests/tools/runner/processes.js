/** Starts processes and ends them with all that they started. Plain JavaScript, for tests/run.js. */
import { spawn } from 'node:child_process'
import process from 'node:process'

const running = new Set()

/**
 * Runs a command in a process group of its own, so that what it leaves behind ends with it. Resolves with its code,
 * which is the signal or 'timeout' if it did not exit, and with its output. `limit`: milliseconds; it begins again
 * when `onLine`, which is called with each line, returns milliseconds. `signal`: what ends it at the limit; one that
 * started others in groups of their own may need SIGTERM, to end them.
 */
export function run(command, args, { cwd, env, limit, onLine = () => undefined, signal: endSignal = 'SIGKILL' }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    running.add(child)
    let output = ''
    let timedOut = false
    const expire = () => {
      timedOut = true
      end(child, endSignal)
    }
    let timer = setTimeout(expire, limit)
    for (const stream of [child.stdout, child.stderr]) {
      let rest = ''
      stream.setEncoding('utf8').on('data', (text) => {
        output += text
        const lines = (rest + text).split('\n')
        rest = lines.pop()
        for (const line of lines) {
          const next = onLine(line)
          if (next === undefined) continue
          clearTimeout(timer)
          timer = setTimeout(expire, next)
        }
      })
    }
    const settle = (code) => {
      clearTimeout(timer)
      end(child)
      running.delete(child)
      resolve({ code: timedOut ? 'timeout' : code, output })
    }
    child.once('error', (error) => settle(error.message))
    // What it wrote last may come after its exit, and what it left behind may hold its output open.
    child.once('exit', (code, signal) => setTimeout(() => settle(signal ?? code), 20))
  })
}

/** Ends all processes that still run. `signal`: SIGTERM for those that have started others in groups of their own. */
export function endAll(signal = 'SIGKILL') {
  for (const child of running) end(child, signal)
}

function end(child, signal = 'SIGKILL') {
  // A process that could not be started has no id.
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}
