/** Stands for node:test in the process that runs tests many times: it keeps them instead of running them. */

export interface Context {
  readonly name: string
  readonly after: (call: () => unknown) => void
}

export interface CapturedTest {
  readonly name: string
  readonly run: (context: Context) => unknown
}

/** The tests of the file that is being loaded. */
export const captured: CapturedTest[] = []

type Run = CapturedTest['run']

export function test(name: string, options: { skip?: unknown } | Run, run?: Run): Promise<void> {
  if (typeof options === 'function') captured.push({ name, run: options })
  else if (run && !options.skip) captured.push({ name, run })
  return Promise.resolve()
}

function refuse(): never {
  throw new Error('Hooks need a process of their own.')
}

export { refuse as after, refuse as afterEach, refuse as before, refuse as beforeEach, refuse as describe }
export default test
