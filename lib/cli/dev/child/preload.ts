/**
 * Prepares the operator's process under `kubeloop dev`, before the operator's file is loaded.
 *
 * Reports what ended the process in one line with the place in the user's code, where the runtime would print a stack
 * or nothing.
 */
import { messageOf } from '../../../core/errors.ts'
import { systemClock } from '../../../async/clock.ts'
import { formatJson } from '../../../observe/format_log.ts'
import { formatPretty } from '../../../observe/pretty_log.ts'
import { compileErrors, placeOfError } from '../../../observe/error_place.ts'
import { userFrames } from '../../../observe/stack.ts'
import { optionalEnv } from '../../../runtime/os/env.ts'
import { exitProcess, onOwnEnd, onUncaught } from '../../../runtime/os/signals.ts'
import { placeLine, shortPath } from '../../../runtime/os/source_place.ts'
import { onOutputClosed, writeLine } from '../../../runtime/os/terminal.ts'
import { setDevHook } from '../../../operator/run/tool_hooks.ts'
import { DEV, prepareOperator } from './operator.ts'
import { OUTPUT_CLOSED, REPORTED } from '../session.ts'

/** The URL of this program. In the built package, the bundler chooses its name. */
export const preloadUrl: string = import.meta.url

/** Set by `kubeloop dev`: the operator's file, as the user wrote it. */
const FILE = 'KUBELOOP_FILE'

// The default of 10 frames may end within the runtime: then an error has no place in the user's code.
Error.stackTraceLimit = 50

const dev = optionalEnv(DEV)
const file = optionalEnv(FILE)
if (dev !== undefined && file !== undefined) {
  reportEnd(file, dev === 'pretty')
}

/** The maximum number of errors: a missing bracket may cause dozens. */
const MAX_ERRORS = 10

/** Returns the first line of the message, with a remedy if the runtime's message has none. */
function describeFailure(error: unknown): string {
  const [message = ''] = messageOf(error).split('\n')
  const isScript = /outside a module|await is only valid in async functions/.test(message)
  return isScript ? `${message}; set "type": "module" in package.json, or rename the file to .mts` : message
}

function reportEnd(file: string, pretty: boolean): void {
  let [reported, runs] = [false, false]
  setDevHook({
    pretty,
    operatorRuns: () => void (runs = true),
    prepare: (operator) => prepareOperator(operator, pretty),
    waitForChange: endReported,
  })
  const report = (message: string, place?: string): void => {
    reported = true
    const line = { level: 'error' as const, message, fields: {}, timeMs: systemClock.now() }
    if (!pretty) return writeLine(formatJson({ ...line, fields: place ? { place: shortPath(place) } : {} }))
    writeLine(formatPretty(line))
    if (place) writeLine(placeLine(place))
  }
  onOutputClosed(() => exitProcess(OUTPUT_CLOSED))
  onUncaught((error, isRejection) => {
    if (reported) return
    const errors = compileErrors(error)
    const cannot = `Cannot ${runs ? 'go on with' : 'run'} ${file}`
    const hint = runs && isRejection ? ' (a promise was rejected and not awaited)' : ''
    for (const each of errors.slice(0, MAX_ERRORS)) {
      report(`${cannot}: ${describeFailure(each)}${hint}`, placeOfError(each, userFrames))
    }
    if (errors.length > MAX_ERRORS) report(`… and ${errors.length - MAX_ERRORS} more`)
    void endReported()
  })
  onOwnEnd((code) => {
    if (reported || runs) return undefined
    if (code !== 0) report(`${file} ended with code ${code} before it started an operator`)
    else report(`${file} ended without starting an operator; is \`await app.run(import.meta)\` missing?`)
    return REPORTED
  })
}

/** Ends the process; the command restarts it when a file is saved. Never settles. */
function endReported(): Promise<never> {
  exitProcess(REPORTED)
  return new Promise(() => {})
}
