/** Runs one row of the table of faults on the operators of all runtimes, and checks what must be true at its end. */
import { join } from 'node:path'
import { Cluster, Informer, type KubeObject, type ObjectOf } from '../../mod.ts'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import { Api } from '../../lib/client/api.ts'
import { ApiError, messageOf } from '../../lib/core/errors.ts'
import { ConfigMap, Lease } from '../../lib/kinds/mod.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import type { Lane, Launch } from './lane.ts'
import { Note, RENEW_DEADLINE_MS } from './note.ts'
import { type Plane, until } from './plane.ts'

export interface Stage {
  readonly plane: Plane
  readonly lanes: readonly Lane[]
  readonly folder: string
}

export interface Row {
  readonly name: string
  /** What is done. Resolves when the fault is over. */
  act(stage: Stage): Promise<void>
  /** Puts back what the operators must be well without. */
  after?(stage: Stage): Promise<void> | void
  /** An error of each process that may end with code 1, or with a code of `codes`. Default: none may end. */
  readonly ends?: RegExp
  readonly codes?: readonly number[]
  /** Whether processes may be killed. */
  readonly kills?: true
  /** What each operator must print. */
  readonly says?: RegExp
  /** From the end of the fault until all is reconciled. Default: 30 s. */
  readonly boundMs?: number
  /** Whether what the operators write of their time can be compared with the Lease. Default: true. */
  readonly hasTime?: false
  /**
   * Whether creations are undone: a ConfigMap that is applied before the operator knows that its Note never was is left
   * to the garbage collector, which no row runs.
   */
  readonly undoes?: true
  /** Whether it is one of those that are run with the other tests. */
  readonly isShort?: true
  /** Returns why it cannot be run here. */
  skip?(stage: Stage): string | undefined
}

export interface Outcome {
  readonly lane: Lane
  readonly text: string
  readonly problems: readonly string[]
}

const BOUND_MS = 30_000
/** The rate at which one line may come, and those that come at once. */
const [LINES_PER_SECOND, BURST] = [2, 8]
const MIN_WRITES = 8

type Mark = KubeObject & { readonly data?: Readonly<Record<string, string>> }

export async function runRow(row: Row, stage: Stage): Promise<Outcome[]> {
  const { plane, lanes } = stage
  const transport = httpTransport(plane.envtest.config, { userAgent: 'faults' })
  const scope = new AbortController()
  for (const lane of lanes) lane.clear()
  const beganMs = performance.now()
  const audit = auditing(transport, scope.signal)
  try {
    const before = await Promise.all(lanes.map((lane) => converging(stage, row, lane)))
    if (before.some((each) => typeof each === 'string')) throw new Error(`before "${row.name}": ${before.join(', ')}`)
    const churn = churning(stage, row.name)
    let failed: unknown
    await row.act(stage).catch((error: unknown) => (failed = error))
    const writes = await churn.stop()
    const overMs = performance.now()
    const converged = await Promise.all(lanes.map((lane) => converging(stage, row, lane)))
    const seconds = (performance.now() - beganMs) / 1000
    return lanes.map((lane, i) => {
      const wrong = converged[i]!
      const problems = [
        ...(failed ? [`the fault failed: ${messageOf(failed)}`] : []),
        ...(writes[i]! < MIN_WRITES ? [`only ${writes[i]} objects were written during the fault`] : []),
        ...(typeof wrong === 'string' ? [wrong] : []),
        ...wrongOutput(row, lane, plane.token, seconds),
        ...(row.hasTime === false ? [] : audit.late(lane.namespace)),
      ]
      const took = typeof wrong === 'number' ? `${(Math.max(0, wrong - overMs) / 1000).toFixed(1)} s` : 'not reconciled'
      const ended = lane.ends.length > 0 ? `, ended ${lane.ends.length} ×: ${lane.ends.map(endText).join('; ')}` : ''
      return { lane, problems, text: `${took}${ended}` }
    })
  } finally {
    await row.after?.(stage)
    scope.abort(new Error('the row is over'))
    await audit.ended
    transport.close()
  }
}

function endText({ code, signal, errors }: Lane['ends'][number]): string {
  return `${signal ?? code}${errors.length > 0 ? ` "${errors.at(-1)!.slice(0, 160)}"` : ''}`
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/\W+/g, '-').replace(/-$/, '')
}

/** Writes until it is stopped: Notes are created, changed and deleted, and their ConfigMaps deleted. */
function churning({ plane, lanes }: Stage, row: string): { stop(): Promise<number[]> } {
  const cluster = new Cluster({ name: 'faults', config: plane.envtest.config })
  const { client } = cluster
  let isOver = false
  const work = async ({ namespace }: Lane): Promise<number> => {
    const names: string[] = []
    let written = 0
    for (let i = 0; !isOver; i++) {
      const any = { namespace, name: names[Math.floor(Math.random() * names.length)] ?? '' }
      try {
        if (i % 4 === 0) {
          const name = `${slug(row)}-${i}`
          await client.create(Note, { metadata: { namespace, name }, spec: { n: i } })
          names.push(name)
        } else if (i % 4 === 1 && names.length > 4) {
          // kube-apiserver deletes at once what had no finalizer when the request came, even if it has one by then.
          if (!(await client.get(Note, any))?.metadata.finalizers) continue
          await client.delete(Note, any)
          names.splice(names.indexOf(any.name), 1)
        } else if (i % 4 === 2) await client.delete(ConfigMap, any)
        else await client.patch(Note, any, { merge: { spec: { n: i } } })
        written++
      } catch (error) {
        // The API server may be down: part of the fault.
        if (!(error instanceof ApiError)) await sleep(systemClock, 200)
      }
      await sleep(systemClock, 80)
    }
    return written
  }
  const works = lanes.map(work)
  return {
    async stop() {
      isOver = true
      const written = await Promise.all(works)
      await cluster.close()
      return written
    },
  }
}

/** Resolves with the time when all of the lane is reconciled, also one more object, or with what is not. */
async function converging({ plane }: Stage, row: Row, lane: Lane): Promise<number | string> {
  const { namespace } = lane
  // A client of its own: it has seen nothing of the fault.
  const transport = httpTransport(plane.envtest.config, { userAgent: 'faults' })
  const scope = new AbortController()
  const of = <T extends KubeObject>(resource: typeof Note | typeof ConfigMap): Informer<T> =>
    new Informer<T>({ api: new Api({ transport }), resource, namespace, clock: systemClock, log: silentLog })
  const notes = of<ObjectOf<typeof Note>>(Note)
  const marks = of<Mark>(ConfigMap)
  const runs = [notes.start(scope.signal), marks.start(scope.signal)]
  const left = (): KubeObject[] => {
    const of = [...notes.store.values(namespace)]
    const wrong = of.filter(({ metadata, spec, status }) =>
      metadata.deletionTimestamp || status?.seen !== spec.n ||
      marks.store.get(`${namespace}/${metadata.name}`)?.data?.['n'] !== String(spec.n)
    )
    const orphans = [...marks.store.values(namespace)].filter(({ metadata, data }) =>
      !row.undoes && data?.['by'] && !notes.store.get(`${namespace}/${metadata.name}`)
    )
    return [...wrong, ...orphans]
  }
  const untilDone = (name?: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const evaluate = (): void => {
        const isThere = name === undefined || notes.store.get(`${namespace}/${name}`) !== undefined
        if (notes.isSynced && marks.isSynced && isThere && left().length === 0) resolve()
      }
      for (const informer of [notes, marks]) informer.addHandler(evaluate)
      Promise.all([notes.synced(scope.signal), marks.synced(scope.signal)]).then(evaluate, () => {})
      scope.signal.addEventListener('abort', () => reject(scope.signal.reason as Error))
    })
  const boundMs = row.boundMs ?? BOUND_MS
  const cancel = systemClock.after(boundMs, () => {
    const missing = left()
    const which = missing.length > 0
      ? `${missing.length} objects, such as ${JSON.stringify(missing[0])}`
      : 'a later one'
    scope.abort(new Error(`after ${boundMs / 1000} s not reconciled: ${which}`))
  })
  try {
    await untilDone()
    const doneMs = performance.now()
    const { client } = new Cluster({ name: 'faults', transport })
    const name = `${slug(row.name)}-later`
    await client.create(Note, { metadata: { namespace, name }, spec: { n: 1 } }, { signal: scope.signal })
    await untilDone(name)
    await client.delete(Note, { namespace, name })
    return doneMs
  } catch (error) {
    return messageOf(error)
  } finally {
    cancel()
    scope.abort(new Error('the row is over'))
    await Promise.all(runs)
    transport.close()
  }
}

/** Records when Leases were renewed and when writes began. */
function auditing(transport: ReturnType<typeof httpTransport>, signal: AbortSignal) {
  const api = new Api({ transport })
  const renewedMs = new Map<string, number>()
  const writes = new Map<string, { readonly namespace: string; readonly by: string; readonly begunMs: number }>()
  const leases = new Informer<ObjectOf<typeof Lease>>({ api, resource: Lease })
  const marks = new Informer<Mark>({ api, resource: ConfigMap })
  leases.addHandler((delta) => {
    const spec = delta.object.spec
    if (!spec?.holderIdentity || !spec.renewTime) return
    renewedMs.set(spec.holderIdentity, Math.max(Date.parse(spec.renewTime), renewedMs.get(spec.holderIdentity) ?? 0))
  })
  marks.addHandler(({ object: { metadata: { namespace = '', uid, resourceVersion }, data } }) => {
    const { by, begunMs } = data ?? {}
    if (by !== undefined) writes.set(`${uid}/${resourceVersion}`, { namespace, by, begunMs: Number(begunMs) })
  })
  const ended = Promise.all([leases.start(signal), marks.start(signal)])
  return {
    ended,
    /** Returns the writes that began after the fence of their process. */
    late(namespace: string): string[] {
      const late = [...writes.values()].filter((write) =>
        write.namespace === namespace && write.begunMs > (renewedMs.get(write.by) ?? Infinity) + RENEW_DEADLINE_MS
      )
      return late.slice(0, 1).map(({ by, begunMs }) =>
        `${late.length} writes after the fence: ${by} began one ${
          begunMs - renewedMs.get(by)!
        } ms after its last renewal`
      )
    },
  }
}

/** The exit codes of a shell or kubelet for a process that ended itself by a signal. */
const CRASHES: Readonly<Record<string, number>> = { SIGTRAP: 133, SIGABRT: 134 }

function wrongOutput({ ends, codes = [1], kills, says }: Row, lane: Lane, token: string, seconds: number): string[] {
  const problems = lane.ends.filter(({ code, signal, errors }) =>
    signal === 'SIGKILL'
      ? !kills
      : !(ends && codes.includes(code ?? CRASHES[signal!] ?? -1) && errors.some((error) => ends.test(error)))
  ).map((end) => `a process ended with ${endText(end)}`)
  if (says && !lane.lines().some(({ message }) => says.test(message))) problems.push(`no line is like ${says}`)
  if (lane.output.includes(token) || lane.output.includes('PRIVATE KEY')) problems.push('a secret is in the output')
  const counts = new Map<string, number>()
  for (const { message } of lane.lines()) {
    const kind = message.replaceAll(/"[^"]*"/g, '"…"').replaceAll(/\d+(\.\d+)?/g, '#')
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  for (const [kind, count] of counts) {
    const max = LINES_PER_SECOND * seconds + BURST
    if (count > max) problems.push(`${count} lines in ${seconds.toFixed(0)} s: ${kind.slice(0, 200)}`)
  }
  return problems
}

/** Replaces the processes of all operators. A Lease that a fault kept from being released is not waited for. */
export async function restart({ lanes, plane }: Stage, launch: Launch = {}): Promise<void> {
  await Promise.all(lanes.map(async (lane) => {
    await lane.stop()
    await plane.envtest.client.delete(Lease, { namespace: lane.namespace, name: 'marking' })
  }))
  for (const lane of lanes) {
    lane.clear()
    lane.start(launch)
  }
}

/** Resolves when each operator has printed a line. */
export async function printed({ lanes }: Stage, pattern: RegExp): Promise<void> {
  await until(`all operators print ${pattern}`, () => lanes.every(({ output }) => pattern.test(output)))
}

export const LEADS = /Leading: acquired/

export function fileOf({ folder }: Stage, name: string): string {
  return join(folder, name)
}
