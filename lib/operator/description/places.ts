/** Adds places in the user's file to errors. */
import { messageOf } from '../../core/errors.ts'

/** Calls `check` and adds the place in the user's file to its errors. */
export function rethrowAt(declaredAt: () => string | undefined, check: () => void): void {
  try {
    check()
  } catch (cause) {
    throw new TypeError(`${messageOf(cause)}${placeOf({ declaredAt })}`, { cause })
  }
}

/** @throws TypeError with the place in the user's file. */
export function refuseAt(declaredAt: () => string | undefined, problem: string): never {
  throw new TypeError(`${problem}${placeOf({ declaredAt })}`)
}

/** Returns a suffix with the place in the user's file. */
export function placeOf({ declaredAt }: { readonly declaredAt: () => string | undefined }): string {
  const place = declaredAt()
  return place ? ` (${place})` : ''
}
