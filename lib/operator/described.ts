/** Operators that a process has described: for a tool that reads them, and for a word about one that is never started. */
import { callerFrame } from '../observe/stack.ts'
import { isMainFile } from '../runtime/os/this_runtime.ts'
import { onIdleEnd } from '../runtime/os/signals.ts'
import type { OperatorDescription } from './description.ts'

const READER = Symbol.for('kubeloop.described')
const shared = globalThis as { [READER]?: (description: OperatorDescription) => void }

/** Hands every operator that is described from here on to a tool, whatever copy of kubeloop describes it. */
export function readDescribed(read: (description: OperatorDescription) => void): void {
  shared[READER] = read
}

/**
 * Notes a new operator; the result is called when it is used. One in the file that the process was started with, which ends
 * without having used it, has most likely been forgotten: a line on standard error says so.
 */
export function noteDescribed(description: OperatorDescription): () => void {
  shared[READER]?.(description)
  const place = callerFrame()
  return onIdleEnd(() => {
    const file = place()?.replace(/:\d+:\d+$/, '')
    if (!file || /[._]test\.\w+$/.test(file) || !isMainFile(file)) return undefined
    return `Operator "${description.options.name}" was described and never started; is \`await app.run(import.meta)\` missing?`
  })
}
