/** What operators with the option `sharding` need: a file of its own beside mod.js. */
export { bucketsOf } from './buckets.ts'
export { shardOf } from './shard.ts'
