/** Reports objects for which a function of the user's threw. */
import { clusterSuffix } from '../core/resource.ts'
import { messageOf } from '../core/errors.ts'
import type { IndexErrorHandler } from '../core/object_indexer.ts'
import { formatKey } from '../core/objects.ts'
import type { PartEnvironment } from '../observe/environment.ts'
import { RateLimitedLog } from '../observe/log.ts'

/** Returns a function that logs, at a limited rate, an object for which a function of the user's threw. */
export function reportingObjects(
  of: 'an index' | 'strip',
  { clock, log, cluster }: PartEnvironment & { readonly cluster: string | undefined },
): IndexErrorHandler {
  const limitedLog = new RateLimitedLog(clock, log)
  const effect = of === 'strip' ? 'it is kept as the function left it' : 'lookups leave it out'
  return (object, error) => {
    const what = `${object.kind} "${formatKey(object.metadata)}"${clusterSuffix({ cluster })}`
    limitedLog.error(`The function of ${of} threw for ${what}, so ${effect}: ${messageOf(error)}`, { error })
  }
}
