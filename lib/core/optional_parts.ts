/**
 * The parts that a bundle has only if the operator's file imports them: `import 'kubeloop/webhooks'`. Elsewhere each is
 * a file beside mod.js that is loaded at its first use, by a URL, which no bundler follows.
 */
import { fileMissing } from './errors.ts'

/** Each is an entry of the package. */
export type OptionalPart =
  | 'webhooks'
  | 'metrics'
  | 'secure-metrics'
  | 'profiling'
  | 'tracing'
  | 'schedules'
  | 'compact'
  | 'sharding'

/** Registered: each bundle has a copy of this module. */
const PROVIDED = Symbol.for('kubeloop.optional-parts')

type Provided = Map<OptionalPart, () => Promise<unknown>>

function provided(): Provided {
  const place = globalThis as { [PROVIDED]?: Provided }
  return place[PROVIDED] ??= new Map()
}

/** Makes a part known to {@link loadPart}: called by the module that a user imports. */
export function providePart(name: OptionalPart, load: () => Promise<unknown>): void {
  provided().set(name, load)
}

/** Loads a part by the user's import, else by `load` from that file. Its ConfigError begins with `Cannot ${action}`. */
export async function loadPart<T>(
  name: OptionalPart,
  load: () => Promise<T>,
  action: string,
  file: string,
): Promise<T> {
  return await ((provided().get(name) ?? load)() as Promise<T>).catch(fileMissing(action, file, name))
}
