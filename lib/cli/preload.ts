/**
 * Loaded into the operator's process before the operator's file, under `kubeloop dev`: says in one line, with the
 * user's own place, what ended it, where the runtime would print a stack or nothing; and brings what an operator
 * does differently there.
 */
import { messageOf } from '../core/errors.ts'
import { systemClock } from '../async/clock.ts'
import { formatJson, formatPretty } from '../observe/format_log.ts'
import { placeOfError } from '../observe/stack.ts'
import { optionalEnv } from '../runtime/env.ts'
import { onOwnEnd, onUncaught, waitForChange } from '../runtime/process_end.ts'
import { shortPath } from '../runtime/short_path.ts'
import { sourceLine, writeLine } from '../runtime/terminal.ts'
import { thisRuntime } from '../runtime/this_runtime.ts'
import { setDevHook } from '../operator/dev_hook.ts'
import { DEV, prepareOperator } from './dev_operator.ts'

/** Where this file is: in the built package it has a name of the bundler's. */
export const preloadUrl: string = import.meta.url

/** Set by `kubeloop dev` beside `DEV`: the file it runs, as the user wrote it. */
const FILE = 'KUBELOOP_FILE'

const dev = optionalEnv(DEV)
const file = optionalEnv(FILE)
if (dev !== undefined && file !== undefined) {
  watchOver(file, dev === 'pretty')
  if (thisRuntime().name === 'deno') await sayLoading()
}

/** Deno reads the operator's file after this. Without an answer the operator says itself what is wrong with the connection. */
async function sayLoading(): Promise<void> {
  const { announceLoading } = await import('./loading.ts')
  await announceLoading().catch(() => {})
}

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
    waitForChange: () => waitForChange(1),
  })
  const say = (message: string, place?: string): void => {
    told = true
    const line = { level: 'error' as const, message, fields: {}, timeMs: systemClock.now() }
    if (!pretty) return writeLine(formatJson({ ...line, fields: place ? { place: shortPath(place) } : {} }))
    writeLine(formatPretty(line))
    if (place) writeLine(`          ${shortPath(place)}  ${sourceLine(place)?.trim() ?? ''}`.trimEnd())
  }
  onUncaught((error) => {
    if (told) return
    say(`Cannot ${runs ? 'go on with' : 'run'} ${file}: ${describeFailure(error)}`, placeOfError(error))
    // Half an operator would go on otherwise: where one ran, the process ends in any case.
    void waitForChange(1, runs)
  })
  onOwnEnd((code) => {
    if (told || runs) return
    if (code !== 0) say(`${file} ended with code ${code} before it started an operator`)
    else say(`${file} ended without starting an operator; is \`await app.run(import.meta)\` missing?`)
  })
}
