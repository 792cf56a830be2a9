/** Paths as a person in the working folder would write them. */
import path from 'node:path'
import { workingFolder } from './this_runtime.ts'

/** Relative to the working folder where it is below it, with or without `:line:column`; else as it is. */
export function shortPath(place: string): string {
  const folder = workingFolder()
  return folder !== undefined && place.startsWith(folder + path.sep) ? place.slice(folder.length + 1) : place
}
