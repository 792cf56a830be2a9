/** Waits for a change of one object, by a watch that needs the right to this name only. */
import type { AnyResource } from '../../core/resource.ts'
import { messageOf } from '../../core/errors.ts'
import { abortScope } from '../../async/abort.ts'
import { sleep } from '../../async/clock.ts'
import { lineBatches } from '../../async/lines.ts'
import type { PartEnvironment } from '../../observe/environment.ts'
import type { Api } from '../../client/api.ts'
import { parseWatchLine } from '../../client/watch_events.ts'

export interface Watched extends PartEnvironment {
  readonly api: Api
  readonly target: { readonly resource: AnyResource; readonly namespace?: string | undefined; readonly name: string }
  /** Names the object in the log. */
  readonly title: string
  /** After this time it resolves in any case: a watch may be dead. */
  readonly rereadMs: number
  /** The same while the object cannot be watched. */
  readonly pollMs: number
}

/** Resolves when the object may have another version. */
export async function untilChanged(
  { api, clock, log, target, title, rereadMs, pollMs }: Watched,
  version: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const scope = abortScope(signal)
  const stop = clock.after(rereadMs, () => scope.abort(new DOMException('It is time to read again', 'AbortError')))
  try {
    // A role can permit the watch of one name only if it selects by that.
    const query = { resourceVersion: version ?? '', fields: `metadata.name=${target.name}` }
    const { body } = await api.watch({ ...target, name: undefined }, query, scope.signal)
    for await (const lines of lineBatches(body)) {
      for (const line of lines) if (parseWatchLine(line, title).kind !== 'bookmark') return
    }
  } catch (error) {
    if (scope.signal.aborted) return
    log.debug(`Cannot watch ${title}: ${messageOf(error)}; reading it every ${pollMs / 1000} s`)
  } finally {
    stop()
    scope.abort(new DOMException('The watch is not needed any more', 'AbortError'))
    scope[Symbol.dispose]()
  }
  await sleep(clock, pollMs, signal)
}
