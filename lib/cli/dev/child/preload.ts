/**
 * Loaded into the operator's process before the operator's file, under `kubeloop dev`: says in one line, with the
 * user's own place, what ended it, where the runtime would print a stack or nothing; and brings what an operator
 * does differently there.
 */
import { messageOf } from '../../../core/errors.ts'
import { systemClock } from '../../../async/clock.ts'
import { formatJson, formatPretty } from '../../../observe/format_log.ts'
import { compileErrors, placeOfError } from '../../../observe/stack.ts'
import { optionalEnv } from '../../../runtime/os/env.ts'
import { exitProcess, onOwnEnd, onUncaught } from '../../../runtime/os/signals.ts'
import { placeLine, shortPath, writeLine } from '../../../runtime/os/terminal.ts'
import { onOutputClosed } from '../../../runtime/os/this_runtime.ts'
import { setDevHook } from '../../../operator/dev_hook.ts'
import { DEV, prepareOperator } from './operator.ts'
import { OUTPUT_CLOSED, REPORTED } from '../session.ts'

/** Where this file is: in the built package it has a name of the bundler's. */
export const preloadUrl: string = import.meta.url

/** Set by `kubeloop dev` beside `DEV`: the file it runs, as the user wrote it. */
const FILE = 'KUBELOOP_FILE'

const dev = optionalEnv(DEV)
const file = optionalEnv(FILE)
if (dev !== undefined && file !== undefined) {
  watchOver(file, dev === 'pretty')
}

/** A missing bracket may be reported dozens of times. */
const MAX_ERRORS = 10

/** The first line of the message; with what to do, where the runtime's own words do not say it. */
function describeFailure(error: unknown): string {
  const [message = ''] = messageOf(error).split('\n')
  const isScript = /outside a module|await is only valid in async functions/.test(message)
  return isScript ? `${message}; set "type": "module" in package.json, or call the file .mts` : message
}

function watchOver(file: string, pretty: boolean): void {
  let [told, runs] = [false, false]
  setDevHook({
    pretty,
    operatorRuns: () => void (runs = true),
    prepare: (operator) => prepareOperator(operator, pretty),
    waitForChange: endReported,
  })
  const say = (message: string, place?: string): void => {
    told = true
    const line = { level: 'error' as const, message, fields: {}, timeMs: systemClock.now() }
    if (!pretty) return writeLine(formatJson({ ...line, fields: place ? { place: shortPath(place) } : {} }))
    writeLine(formatPretty(line))
    if (place) writeLine(placeLine(place))
  }
  onOutputClosed(() => exitProcess(OUTPUT_CLOSED))
  onUncaught((error) => {
    if (told) return
    const errors = compileErrors(error)
    for (const each of errors.slice(0, MAX_ERRORS)) {
      say(`Cannot ${runs ? 'go on with' : 'run'} ${file}: ${describeFailure(each)}`, placeOfError(each))
    }
    if (errors.length > MAX_ERRORS) say(`… and ${errors.length - MAX_ERRORS} more`)
    void endReported()
  })
  onOwnEnd((code) => {
    if (told || runs) return undefined
    if (code !== 0) say(`${file} ended with code ${code} before it started an operator`)
    else say(`${file} ended without starting an operator; is \`await app.run(import.meta)\` missing?`)
    return REPORTED
  })
}

/** The command starts the file again when it was saved. Never settles. */
function endReported(): Promise<never> {
  exitProcess(REPORTED)
  return new Promise(() => {})
}
