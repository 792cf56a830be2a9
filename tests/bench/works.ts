/** The works: the compared subjects, the rounds and the figures. */
import { FEED_OBJECTS, type Lab } from './lab.ts'
import {
  apiServers,
  commandOf,
  floors,
  managerQueues,
  managers,
  ours,
  type Printed,
  type Subject,
  syncFloors,
  webhooks,
} from './subjects.ts'

export interface Work {
  readonly name: string
  readonly rounds: number
  /** Number of objects or keys. */
  readonly n: number
  /** Whether the subjects of a round run concurrently, because they mostly wait. Default: in sequence. */
  readonly atOnce?: boolean
  /** Whether it runs only if it is named. Default: false. */
  readonly extra?: boolean
  readonly subjects: (lab: Lab) => Promise<Subject[]>
  readonly figures: readonly Figure[]
}

interface Figure {
  readonly name: string
  readonly unit: string
  /** Returns the figure from a subject's output. Undefined if that subject does not have it. */
  readonly value: (printed: Printed) => number | undefined
}

/** A figure computed from two others of the same round and runtime. */
export interface Derived {
  readonly name: string
  readonly subject: string
  readonly unit: string
  readonly from: readonly [Term, Term]
  /** `n` and `otherN`: the number of objects or keys of the two figures. */
  readonly combine: (first: number, second: number, n: number, otherN: number) => number
}

interface Term {
  readonly figure: string
  readonly subject: string
}

const MANY_OBJECTS = 100_000
const KEYS = 1_000_000
const FEW_KEYS = 10_000
const LATENCIES = 1000
const WARM_LATENCIES = 5000
const INFORMERS = 200
const WATCHES = 100
const IDLE_SECONDS = 20
const EVENTS = 200_000
const APPLIED = 50_000
const CREATES = 2000
/** Number of controllers that start with the lease. */
const LEADERS = 50
const CHURN = { first: 100_000, all: 1_000_000 }

/** `n`: the number of objects of sync, reconcile and stall. */
export function worksFor(n: number): readonly Work[] {
  return [
    sync('', n, 9),
    reconcile('reconcile-1', n, 1),
    reconcile('reconcile-10-status', n, 10, 'status'),
    latency('latency', LATENCIES),
    // A thousand are too few for the runtimes to compile the whole path; an operator runs longer.
    { ...latency('latency-warm', WARM_LATENCIES), extra: true },
    both('informers-200', INFORMERS, 'watches.ts', async (lab) => {
      const stage = await lab.stage()
      await stage.spread(INFORMERS)
      return [stage.clusterFile, INFORMERS]
    }, { name: 'informers-200', unit: 'ms', value: ({ ms }) => ms }),
    {
      ...both('idle-cpu', WATCHES, 'watches.ts', async (lab) => [await lab.feedFile(), WATCHES, IDLE_SECONDS], {
        name: 'idle-cpu',
        unit: 'ms/minute',
        value: ({ cpuMs }) => cpuMs,
      }),
      atOnce: true,
    },
    both(
      'watch-events',
      EVENTS,
      'watch_events.ts',
      async (lab) => [await lab.feedFile(), FEED_OBJECTS, EVENTS],
      perSecond('watch-events', 'events/s'),
    ),
    {
      name: 'churn',
      rounds: 5,
      n: CHURN.all,
      subjects: async (lab) => ours(lab, 'churn.ts', [await lab.feedFile(), FEED_OBJECTS, CHURN.first, CHURN.all]),
      figures: [
        { name: 'churn-first', unit: 'MiB', value: ({ firstMib }) => firstMib },
        { name: 'churn-last', unit: 'MiB', value: ({ lastMib }) => lastMib },
        { name: 'churn-growth', unit: 'MiB', value: ({ growthMib }) => growthMib },
        { name: 'churn-ratio', unit: '×', value: ({ ratio }) => ratio },
      ],
    },
    {
      name: 'applied-memory',
      rounds: 3,
      n: APPLIED,
      subjects: async (lab) => ours(lab, 'applied_memory.ts', [APPLIED]),
      figures: [
        { name: 'applied-memory', unit: 'MiB', value: ({ appliedMib }) => appliedMib },
        { name: 'applied-look', unit: 'µs', value: ({ lookUs }) => lookUs },
      ],
    },
    {
      name: 'queue',
      rounds: 5,
      n: KEYS,
      subjects: (lab) =>
        Promise.resolve([
          ...ours(lab, 'queue.ts', [KEYS]),
          ...floors(lab, 'queue.ts', [KEYS]),
          ...managerQueues(lab, KEYS),
        ]),
      figures: [perSecond('queue', 'keys/s')],
    },
    // As many turns in total as `queue`, so that both are equally compiled.
    both(
      'queue-10k',
      FEW_KEYS,
      'queue.ts',
      () => Promise.resolve([FEW_KEYS, KEYS / FEW_KEYS]),
      perSecond('queue-10k', 'keys/s'),
    ),
    {
      name: 'startup',
      rounds: 9,
      n: 1,
      subjects: async (lab) => {
        const [{ operator, floor }, first] = [await lab.bundles(), await lab.firstRequests()]
        const starts = (name: string, file: string): Subject[] =>
          lab.runtimes.map((runtime) => {
            const command = [...commandOf(runtime), file]
            return { name, runtime, measure: async () => ({ ...await first.measure(command) }) }
          })
        return [...starts('kubeloop', operator), ...starts('floor', floor)]
      },
      figures: [
        { name: 'startup-ms', unit: 'ms', value: ({ ms }) => ms },
        { name: 'startup-mib', unit: 'MiB', value: ({ mib }) => mib },
      ],
    },
    {
      name: 'bundle',
      rounds: 1,
      n: 1,
      subjects: async (lab) => {
        const { kb } = await lab.bundles()
        return [
          { name: 'kubeloop', runtime: 'any', measure: async () => ({ modKb: kb.mod, operatorKb: kb.operator }) },
          { name: 'floor', runtime: 'any', measure: async () => ({ operatorKb: kb.floor }) },
        ]
      },
      figures: [
        { name: 'bundle-gzip', unit: 'KB', value: ({ modKb }) => modKb },
        { name: 'bundle-gzip-operator', unit: 'KB', value: ({ operatorKb }) => operatorKb },
      ],
    },
    {
      name: 'webhooks',
      rounds: 5,
      n: CREATES,
      extra: true,
      subjects: (lab) => webhooks(lab, CREATES),
      figures: [
        perSecond('webhooks', 'creates/s'),
        { name: 'webhooks-p50', unit: 'ms', value: ({ p50 }) => p50 },
        { name: 'webhooks-p99', unit: 'ms', value: ({ p99 }) => p99 },
        // By one caller.
        { name: 'webhooks-alone-p50', unit: 'ms', value: ({ aloneP50 }) => aloneP50 },
        { name: 'webhooks-alone-p99', unit: 'ms', value: ({ aloneP99 }) => aloneP99 },
        // Of the webhooks' process, for one create: two calls.
        { name: 'webhooks-cpu', unit: 'µs', value: ({ cpuUs }) => cpuUs },
        { name: 'webhooks-rss', unit: 'MiB', value: ({ rssMib }) => rssMib },
      ],
    },
    {
      name: 'apiserver',
      rounds: 5,
      n,
      extra: true,
      subjects: (lab) => apiServers(lab, n),
      // Writes are by eight callers. `-cpu`: of the server's processes, for one request or event. `page`: of 500 objects;
      // `select`: a twentieth of the objects, by a label; `watch`: from the answer to a write to its event in each of 200
      // watches, `event`: from its request; `events`: until all watches have all; `rss`: with all objects.
      figures: figuresOf('apiserver', {
        'per s': ['creates', 'updates', 'patches', 'watched-writes', 'events'],
        ms: ['list', 'page', 'select', 'watch-p50', 'watch-p99', 'event-p50', 'event-p99', 'delete'],
        µs: ['creates', 'updates', 'patches', 'list', 'page', 'select', 'events', 'delete'].map((name) =>
          `${name}-cpu`
        ),
        MiB: ['rss', 'rss-watched'],
      }),
    },
    {
      name: 'stall',
      rounds: 1,
      n,
      extra: true,
      subjects: async (lab) => ours(lab, 'stall.ts', [(await filled(lab, n)).clusterFile, n, LEADERS]),
      figures: [
        { name: 'stall', unit: 'ms', value: ({ stallMs }) => stallMs },
        // Without garbage collection and the time of other processes; only on Node.
        { name: 'stall-ours', unit: 'ms', value: ({ oursMs }) => oursMs },
        { name: 'stall-gc', unit: 'ms', value: ({ gcMs }) => gcMs },
        { name: 'stall-renewal', unit: 'ms', value: ({ renewalMs }) => renewalMs },
        { name: 'stall-lost', unit: 'leases', value: ({ lost }) => lost },
        { name: 'stall-all', unit: 'ms', value: ({ ms }) => ms },
      ],
    },
    // Last, because creating and deleting so many objects takes minutes.
    { ...sync('-100k', MANY_OBJECTS, 5), extra: true },
  ]
}

export const DERIVED: readonly Derived[] = [
  overFloor('startup-over-ms', 'startup-ms', 'ms'),
  overFloor('startup-over-mib', 'startup-mib', 'MiB'),
  ...['kubeloop', 'floor', 'cr-typed', 'cr-unstructured'].map((subject): Derived => ({
    // The ratio of the time per object with many objects to that with few.
    name: 'sync-growth',
    subject,
    unit: '×',
    from: [{ figure: 'sync', subject }, { figure: 'sync-100k', subject }],
    combine: (few, many, fewN, manyN) => (many / manyN) / (few / fewN),
  })),
  ...['kubeloop', 'floor'].map((subject): Derived => ({
    // The ratio of the time per key with a million keys to that with ten thousand.
    name: 'queue-growth',
    subject,
    unit: '×',
    from: [{ figure: 'queue-10k', subject }, { figure: 'queue', subject }],
    combine: (few, many) => few / many,
  })),
]

function overFloor(name: string, figure: string, unit: string): Derived {
  const from = [{ figure, subject: 'kubeloop' }, { figure, subject: 'floor' }] as const
  return { name, subject: 'kubeloop', unit, from, combine: (own, floor) => own - floor }
}

function sync(suffix: string, n: number, rounds: number): Work {
  return {
    name: `sync${suffix}`,
    rounds,
    n,
    subjects: async (lab) => {
      const { clusterFile, kubeconfig } = await filled(lab, n)
      return [
        ...ours(lab, 'sync.ts', [clusterFile]),
        ...ours({ ...lab, beside: undefined }, 'sync.ts', [clusterFile, 'compact'])
          .map((subject) => ({ ...subject, name: 'compact' })),
        ...syncFloors(lab, clusterFile),
        ...managers(lab, kubeconfig, ['-mode', 'sync']),
      ]
    },
    figures: [
      { name: `sync${suffix}`, unit: 'ms', value: ({ ms }) => ms },
      { name: `sync${suffix}-cpu`, unit: 'ms', value: ({ cpuMs }) => cpuMs },
      {
        name: `heap${suffix}`,
        unit: 'MiB',
        value: (printed) => printed['heapMib'] ?? printed['heap_growth_mib'] ?? printed['heap_mib'],
      },
      {
        name: `peak${suffix}`,
        unit: 'MiB',
        value: (printed) => printed['peakMib'] ?? printed['peak_growth_mib'] ?? printed['peak_mib'],
      },
      { name: `outside${suffix}`, unit: 'MiB', value: ({ outsideMib }) => outsideMib },
      { name: `index${suffix}`, unit: 'ms', value: ({ indexMs }) => indexMs },
      { name: `list${suffix}`, unit: 'ms', value: ({ listMs }) => listMs },
    ],
  }
}

/** Returns a work of one figure, whose programs in works/ and floors/ have the same arguments. */
function both(
  name: string,
  n: number,
  file: string,
  argsOf: (lab: Lab) => Promise<readonly (string | number)[]>,
  figure: Figure,
): Work {
  const subjects = async (lab: Lab): Promise<Subject[]> => {
    const args = await argsOf(lab)
    return [...ours(lab, file, args), ...floors(lab, file, args)]
  }
  return { name, rounds: 5, n, subjects, figures: [figure] }
}

function reconcile(name: string, n: number, workers: number, ...status: 'status'[]): Work {
  const subjects = async (lab: Lab): Promise<Subject[]> => {
    const { clusterFile, kubeconfig } = await filled(lab, n)
    const writes = status.length > 0 ? ['-workers', workers, '-write'] : []
    return [
      ...ours(lab, 'reconcile.ts', [clusterFile, n, workers, ...status]),
      ...floors(lab, 'reconcile.ts', [clusterFile, workers, ...status]),
      ...managers(lab, kubeconfig, ['-mode', 'reconcile', '-n', n, ...writes]),
    ]
  }
  return { name, rounds: 5, n, subjects, figures: [perSecond(name, 'objects/s')] }
}

function latency(name: string, n: number): Work {
  return {
    name,
    rounds: 5,
    n,
    subjects: async (lab) => {
      const { clusterFile, kubeconfig } = await filled(lab, 0)
      return [
        ...ours(lab, 'latency.ts', [clusterFile, n]),
        ...floors(lab, 'latency.ts', [clusterFile, n]),
        ...managers(lab, kubeconfig, ['-mode', 'latency', '-n', n]),
      ]
    },
    figures: [
      { name: `${name}-p50`, unit: 'ms', value: (printed) => printed['p50'] ?? printed['p50_ms'] },
      { name: `${name}-p99`, unit: 'ms', value: (printed) => printed['p99'] ?? printed['p99_ms'] },
    ],
  }
}

/** Returns figures, by their units, that a program prints under their names without the prefix. */
function figuresOf(prefix: string, units: Readonly<Record<string, readonly string[]>>): Figure[] {
  return Object.entries(units).flatMap(([unit, names]) =>
    names.map((name): Figure => ({ name: `${prefix}-${name}`, unit, value: (printed) => printed[name] }))
  )
}

function perSecond(name: string, unit: string): Figure {
  return { name, unit, value: (printed) => printed['perSecond'] ?? printed['per_s'] ?? printed['items_per_s'] }
}

async function filled(lab: Lab, n: number) {
  const stage = await lab.stage()
  await stage.fill(n)
  return stage
}
