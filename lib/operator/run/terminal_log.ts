/** What a log to a terminal needs: loaded from a file beside mod.js, as a pod writes JSON. */
export { placeOfError } from '../../observe/error_place.ts'
export { formatPretty } from '../../observe/pretty_log.ts'
export { placeLine } from '../../runtime/os/source_place.ts'
