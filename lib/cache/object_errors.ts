/** Reports objects for which a function of the user's threw. */
import { messageOf } from '../core/errors.ts'
import type { IndexErrorHandler } from '../core/object_indexer.ts'
import { formatKey } from '../core/objects.ts'
import type { Clock } from '../async/clock.ts'
import { type Log, RateLimitedLog } from '../observe/log.ts'
import { clusterSuffix } from '../client/api.ts'

/** Returns a function that logs, at a limited rate, an object for which a function of the user's threw. */
export function reportingObjects(
  of: 'an index' | 'strip',
  { clock, log, cluster }: { readonly clock: Clock; readonly log: Log; readonly cluster: string | undefined },
): IndexErrorHandler {
  const limited = new RateLimitedLog(clock)
  const effect = of === 'strip' ? 'it is kept as the function left it' : 'lookups leave it out'
  return (object, error) => {
    const what = `${object.kind} "${formatKey(object.metadata)}"${clusterSuffix({ cluster })}`
    limited.line((more) =>
      log.error(`The function of ${of} threw for ${what}, so ${effect}: ${messageOf(error)}${more}`, { error })
    )
  }
}
