/** `watch_events.ts FEED OBJECTS EVENTS`: splits, parses and stores changes of known objects in a Map. */
import { argv, exit } from 'node:process'
import { FIRST_GENERATION } from '../feed_numbers.ts'
import { connect } from './kube.ts'

const { keep, request } = connect(argv[2])
const [objects, events] = [Number(argv[3]), Number(argv[4])]
const last = FIRST_GENERATION + objects + events - 1
const done = Promise.withResolvers<void>()

await keep('/apis/bench.example.com/v1/foos', new Map(), ({ object }) => {
  if (object.metadata.generation === last) done.resolve()
})
const began = performance.now()
await request('POST', `/feed/${events}`)
await done.promise
const ms = performance.now() - began
console.log(JSON.stringify({ ms, perSecond: events / (ms / 1000) }))
exit(0)
