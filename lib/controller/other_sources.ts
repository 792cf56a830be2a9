/** The sources besides those of kinds, loaded for controllers with `from` or `every`, and for groups of clusters. */
export { StreamSource } from './stream_source.ts'
export { TickerSource } from './ticker_source.ts'
