/** Repeats a write that another writer has overtaken. */
import { isReason } from '../core/errors.ts'
import { isMissingObject } from './codec.ts'

/** The maximum number of tries of a write, as in client-go's `retry.DefaultRetry`. */
export const MAX_TRIES = 5

/** Calls `work` until it resolves, at most 5 times. `renew` prepares the next try; false makes the error final. */
export async function retried<T>(
  work: (attempt: number) => Promise<T>,
  renew: (error: unknown) => boolean | Promise<boolean>,
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (attempt >= MAX_TRIES || !(await renew(error))) throw error
    }
  }
}

/** Tests whether another writer was faster: it changed, created or deleted the object. */
export function isRace(error: unknown): boolean {
  return isChanged(error) || isMissingObject(error)
}

/** Tests whether another writer changed or created the object. */
export function isChanged(error: unknown): boolean {
  return isReason(error, 'Conflict') || isReason(error, 'AlreadyExists')
}
