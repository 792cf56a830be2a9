/**
 * `apiserver_load.ts CLUSTER PIDS N`: creates, changes, watches, lists and deletes N Pods, and prints figures.
 *
 * Uses node:http2 and no client library, so that the server and not the client is measured. PIDS are the processes of
 * the server, whose processor time and memory are read from /proc.
 */
import { type ClientHttp2Session, connect } from 'node:http2'
import { argv } from 'node:process'
import { cpuUs, rssMib } from '../processes.ts'
import { quantile } from './quantiles.ts'
import { clusterOf, print } from './surroundings.ts'

const { server, token, ca } = clusterOf(argv[2])
const pids = argv[3]!.split(',').map(Number)
const n = Number(argv[4])

/** As those of client-go: otherwise the client would limit the speed of long responses. */
const STREAM_WINDOW = 4 * 2 ** 20
const CONNECTION_WINDOW = 2 ** 30
const CALLERS = 8
const WRITES = Math.min(2000, n)
const PACED = 100
const LISTS = 5
const PAGE = 500
/** Connections with ten watches each, as twenty operators have. */
const WATCHERS = 200
const PER_CONNECTION = 10
const NODES = 50
const APPS = 20

const PODS = '/api/v1/namespaces/default/pods'
async function open(): Promise<ClientHttp2Session> {
  const session = connect(server, { ca: ca as string, settings: { initialWindowSize: STREAM_WINDOW } })
  await new Promise<void>((resolve, reject) => session.once('connect', () => resolve()).once('error', reject))
  session.setLocalWindowSize(CONNECTION_WINDOW)
  return session
}

const writer = await open()

function headersOf(method: string, path: string, type = 'application/json'): Record<string, string> {
  return {
    ':method': method,
    ':path': path,
    authorization: `Bearer ${String(token)}`,
    accept: 'application/json',
    'user-agent': 'bench/1',
    ...(method !== 'GET' && { 'content-type': type }),
  }
}

/** Resolves with the body of a response. Rejects unless it has succeeded. */
function send(method: string, path: string, body?: string, type?: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stream = writer.request(headersOf(method, path, type), { endStream: body === undefined })
    let status = 0
    const chunks: Buffer[] = []
    stream.on('response', (headers) => (status = Number(headers[':status'])))
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('end', () => {
      const bytes = Buffer.concat(chunks)
      if (status < 300) resolve(bytes)
      else reject(new Error(`Cannot ${method} ${path}: ${status} ${bytes.toString('utf8', 0, 500)}`))
    })
    if (body !== undefined) stream.end(body)
  })
}

function nameOf(i: number): string {
  return `pod-${String(i).padStart(6, '0')}`
}

/** Returns a Pod of about 1.9 KB as it is sent, 3.5 KB as it is stored. */
function podOf(i: number, round: number): string {
  const container = (name: string) => ({
    name,
    image: `registry.example.com/team/${name}:v1.${round}.0`,
    args: ['--listen=:8080', '--config=/etc/app/config.yaml', `--replica=${i}`],
    ports: [{ name: 'http', containerPort: 8080 }],
    env: Array.from({ length: 8 }, (_, at) => ({ name: `SETTING_${at}`, value: `value-${at}-of-${nameOf(i)}` })),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    readinessProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 5 },
    volumeMounts: [{ name: 'config', mountPath: '/etc/app' }],
  })
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: nameOf(i),
      labels: { app: `app-${i % APPS}`, tier: i % 2 ? 'front' : 'back' },
      annotations: { 'bench.example.com/round': String(round) },
    },
    spec: {
      nodeName: `node-${i % NODES}`,
      containers: [container('app'), container('proxy')],
      volumes: [{ name: 'config', configMap: { name: `config-${i % APPS}` } }],
    },
  })
}

async function inParallel(count: number, callers: number, work: (i: number) => Promise<unknown>) {
  const [beganUs, beganMs] = [cpuUs(...pids), performance.now()]
  let next = 0
  await Promise.all(Array.from({ length: callers }, async () => {
    while (next < count) await work(next++)
  }))
  return {
    ms: performance.now() - beganMs,
    /** Processor time of the server. */
    us: cpuUs(...pids) - beganUs,
  }
}

const patched = (i: number, value: string): Promise<Buffer> =>
  send(
    'PATCH',
    `${PODS}/${nameOf(i)}`,
    JSON.stringify({ metadata: { annotations: { 'bench.example.com/round': value } } }),
    'application/merge-patch+json',
  )

interface Event {
  readonly version: string
  readonly atMs: number
}

async function openWatches(version: string) {
  const sessions = await Promise.all(Array.from({ length: WATCHERS / PER_CONNECTION }, open))
  const queryOf = (i: number): string => {
    if (i % 2 === 0) return ''
    if (i % 4 === 1) return `&labelSelector=${encodeURIComponent(`app=app-${i % APPS}`)}`
    return `&fieldSelector=${encodeURIComponent(`spec.nodeName=node-${i % NODES}`)}`
  }
  const watches = { events: 0, recorded: undefined as Event[] | undefined, onEvent: (): void => {} }
  const began = Array.from({ length: WATCHERS }, (_, i) =>
    new Promise<void>((resolve, reject) => {
      const path = `${PODS}?watch=1&allowWatchBookmarks=true&resourceVersion=${version}${queryOf(i)}`
      const stream = sessions[i % sessions.length]!.request(headersOf('GET', path), { endStream: true })
      stream.on('response', (headers) => {
        if (headers[':status'] === 200) resolve()
        else reject(new Error(`Cannot watch: ${headers[':status']}`))
      })
      stream.on('error', reject)
      let rest: Buffer | undefined
      stream.on('data', (chunk: Buffer) => {
        const atMs = performance.now()
        let from = 0
        for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
          if (watches.recorded) {
            const line = rest ? Buffer.concat([rest, chunk.subarray(from, end)]) : chunk.subarray(from, end)
            const found = /"resourceVersion":"(\d+)"/.exec(line.toString('latin1'))
            watches.recorded.push({ version: found![1]!, atMs })
          }
          rest = undefined
          from = end + 1
          watches.events++
          watches.onEvent()
        }
        if (from < chunk.length) rest = rest ? Buffer.concat([rest, chunk.subarray(from)]) : chunk.subarray(from)
      })
    }))
  await Promise.all(began)
  const arrived = (count: number): Promise<void> =>
    new Promise((resolve) => {
      watches.onEvent = () => {
        if (watches.events >= count) resolve()
      }
      watches.onEvent()
    })
  /** The number of events of a change of one Pod. */
  const eventsOf = (pod: number): number => {
    let count = 0
    for (let i = 0; i < WATCHERS; i++) {
      if (i % 2 === 0 || (i % 4 === 1 ? i % APPS === pod % APPS : i % NODES === pod % NODES)) count++
    }
    return count
  }
  return { watches, arrived, eventsOf, close: () => sessions.forEach((session) => session.destroy()) }
}

const round = Date.now() % 100_000
const creating = await inParallel(n, CALLERS, (i) => send('POST', PODS, podOf(i, round)))
const rss = rssMib(...pids)

const updating = await inParallel(WRITES, CALLERS, (i) => send('PUT', `${PODS}/${nameOf(i)}`, podOf(i, round + 1)))
const patching = await inParallel(WRITES, CALLERS, (i) => patched(i, `patched-${i}`))

await send('GET', PODS)
const listing = await inParallel(LISTS, 1, () => send('GET', PODS))
let pages = 0
const paging = await inParallel(2, 1, async () => {
  let next = ''
  do {
    const page = (await send('GET', `${PODS}?limit=${PAGE}${next && `&continue=${next}`}`)).toString('utf8')
    next = /"continue":"([^"]*)"/.exec(page.slice(0, 1000))?.[1] ?? ''
    pages++
  } while (next)
})
const selecting = await inParallel(
  LISTS,
  1,
  () => send('GET', `${PODS}?labelSelector=${encodeURIComponent('app=app-7')}`),
)

const version = /"resourceVersion":"(\d+)"/.exec((await send('GET', `${PODS}?limit=1`)).toString('utf8'))![1]!
const { watches, arrived, eventsOf, close } = await openWatches(version)
// One write at a time: the latency of a server that has little to do.
const fromAnswer: number[] = []
const fromWrite: number[] = []
for (let i = 0; i < PACED; i++) {
  watches.recorded = []
  const expected = watches.events + eventsOf(i)
  const sentMs = performance.now()
  const answer = await patched(i, `paced-${i}`)
  const answeredMs = performance.now()
  await arrived(expected)
  const written = /"resourceVersion":"(\d+)"/.exec(answer.toString('latin1'))![1]
  for (const event of watches.recorded as Event[]) {
    if (event.version !== written) throw new Error('Cannot measure latencies: an unexpected event came')
    // An event may arrive before the answer.
    fromAnswer.push(Math.max(0, event.atMs - answeredMs))
    fromWrite.push(event.atMs - sentMs)
  }
}
watches.recorded = undefined
let burst = watches.events
const before = burst
for (let i = 0; i < WRITES; i++) burst += eventsOf(i)
const [burstUs, burstMs] = [cpuUs(...pids), performance.now()]
const writing = await inParallel(WRITES, CALLERS, (i) => patched(i, `watched-${i}`))
await arrived(burst)
const fanOut = { ms: performance.now() - burstMs, us: cpuUs(...pids) - burstUs }
const watchedRss = rssMib(...pids)
close()

const deleting = await inParallel(1, 1, () => send('DELETE', `${PODS}?gracePeriodSeconds=0`))
writer.close()

print({
  creates: n / creating.ms * 1000,
  'creates-cpu': creating.us / n,
  updates: WRITES / updating.ms * 1000,
  'updates-cpu': updating.us / WRITES,
  patches: WRITES / patching.ms * 1000,
  'patches-cpu': patching.us / WRITES,
  list: listing.ms / LISTS,
  'list-cpu': listing.us / LISTS,
  page: paging.ms / pages,
  'page-cpu': paging.us / pages,
  select: selecting.ms / LISTS,
  'select-cpu': selecting.us / LISTS,
  'watch-p50': quantile(fromAnswer, 0.5),
  'watch-p99': quantile(fromAnswer, 0.99),
  'event-p50': quantile(fromWrite, 0.5),
  'event-p99': quantile(fromWrite, 0.99),
  'watched-writes': WRITES / writing.ms * 1000,
  events: (burst - before) / fanOut.ms * 1000,
  'events-cpu': fanOut.us / (burst - before),
  delete: deleting.ms,
  'delete-cpu': deleting.us,
  rss,
  'rss-watched': watchedRss,
})
