/** Which of two resourceVersions is the newer: they are whole numbers of any length, and nothing else can be compared. */

const WHOLE_NUMBER = /^[1-9][0-9]*$/

/**
 * Whether `version` is certain to be newer than `than`; before anything was seen everything is. What a server gives that is
 * no whole number, as the API's conventions ask for since 1.35, is newer than nothing.
 */
export function isNewerVersion(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || !WHOLE_NUMBER.test(version)) return false
  if (than === undefined) return true
  if (than !== '0' && !WHOLE_NUMBER.test(than)) return false
  return version.length === than.length ? version > than : version.length > than.length
}
