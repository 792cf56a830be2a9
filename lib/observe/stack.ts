/** Finds the user's own frames in stacks: those of kubeloop and the runtime do not help to fix an error. */

/** Returns the frames of a stack in the user's files, innermost first, each as `file:line:column`. */
export function userFrames(stack: string | undefined): string[] {
  return (stack ?? '')
    .split('\n')
    .filter((line) => /^\s*at /.test(line))
    .map((line) => /\(?((?:file:\/\/)?[^\s()]+:\d+:\d+)\)?$/.exec(line)?.[1])
    .filter((place): place is string => place !== undefined && !isOurs(place))
    .map((place) => place.replace(/^file:\/\//, ''))
}

/** Returns a function that finds the user's frame that calls this public function. Only that call is slow. */
export function callerFrame(): () => string | undefined {
  // In a bundle no frame can be found, and Deno needs 10 ms of an operator's start for the stack.
  if (IS_BUNDLED) return () => undefined
  const called = new Error()
  return () => userFrames(called.stack)[0]
}

/** Whether our code is bundled into the user's file, so that frames cannot be distinguished. */
const IS_BUNDLED = !/\/(?:mod\.js|stack\.ts)$/.test(import.meta.url)

/** The folder of kubeloop, in the source tree or the built package. */
const OWN_FOLDER = new URL('..', import.meta.url).href

function isOurs(place: string): boolean {
  if (/^(node|bun|deno|ext|native|internal):/.test(place) || place.includes('/node_modules/')) return true
  const url = place.startsWith('file://') ? place : `file://${place}`
  return OWN_FOLDER.endsWith('/lib/') ? url.startsWith(OWN_FOLDER) : url.startsWith(import.meta.url)
}
