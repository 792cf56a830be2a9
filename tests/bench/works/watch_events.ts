/**
 * `watch_events.ts FEED OBJECTS EVENTS`: passes changes of known objects through predicate, handler and queue to a
 * reconcile.
 */
import { argv, exit } from 'node:process'
import { operator, predicates } from 'kubeloop'
import { FIRST_GENERATION } from '../feed_numbers.ts'
import { connect } from '../floors/kube.ts'
import { clusterOf, Foo, print } from './surroundings.ts'

const config = clusterOf(argv[2])
const [objects, events] = [Number(argv[3]), Number(argv[4])]
const last = FIRST_GENERATION + objects + events - 1
let reconciled = 0
const known = Promise.withResolvers<void>(), done = Promise.withResolvers<void>()

const app = operator({ name: 'bench', crds: 'ignore' })
app.controllerFor(Foo, { when: predicates.generationChanged }).reconcile(async ({ metadata }) => {
  if (++reconciled === objects) known.resolve()
  if (metadata.generation === last) done.resolve()
})
app.add('feeder', async () => {
  await known.promise
  const began = performance.now()
  await connect(argv[2]).request('POST', `/feed/${events}`)
  await done.promise
  const ms = performance.now() - began
  print({ ms, perSecond: events / (ms / 1000) })
  exit(0)
})
await app.start(new AbortController().signal, { cluster: config })
