/** The compared programs: each round of each is a separate process, which prints its figures as one line of JSON. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ApiProcess } from './apiserver.ts'
import { type Lab, SHARED } from './lab.ts'

export type Printed = Readonly<Record<string, number | undefined>>

export interface Subject {
  readonly name: string
  readonly runtime: string
  readonly measure: () => Promise<Printed>
}

const HERE = import.meta.dirname
const BIN = join(HERE, '../../node_modules/.bin')

/** How a runtime runs a file, and the options that expose garbage collection. */
export const RUNTIMES: Readonly<Record<string, { readonly run: readonly string[]; readonly gc: readonly string[] }>> = {
  node: { run: ['node'], gc: ['--expose-gc'] },
  bun: { run: ['bun', 'run'], gc: [] },
  deno: { run: ['deno', 'run', '-A', '--no-check'], gc: ['--v8-flags=--expose-gc'] },
}

export function commandOf(runtime: string): string[] {
  const [name = '', ...args] = RUNTIMES[runtime]!.run
  return [join(BIN, name), ...args]
}

/** Returns a program of works/ on each runtime, and that of the other checkout, if there is one. */
export function ours(lab: Lab, file: string, args: readonly (string | number)[]): Subject[] {
  const own = onRuntimes(lab, 'kubeloop', join(HERE, 'works', file), args)
  const other = lab.beside === undefined ? undefined : join(lab.beside, 'tests/bench/works', file)
  // The other checkout does not have a new work.
  return other !== undefined && existsSync(other) ? [...own, ...onRuntimes(lab, 'beside', other, args)] : own
}

/** Returns a program of floors/ on each runtime: the bare work. */
export function floors(lab: Lab, file: string, args: readonly (string | number)[]): Subject[] {
  return onRuntimes(lab, 'floor', join(HERE, 'floors', file), args)
}

/** Returns the bare work of a sync, if it exists: a watch list over node:https into a Map. */
export function syncFloors(lab: Lab, clusterFile: string): Subject[] {
  const file = join(SHARED, 'floor/floor.mjs')
  return existsSync(file) ? onRuntimes(lab, 'floor', file, [clusterFile]) : []
}

function onRuntimes({ runtimes }: Lab, name: string, file: string, args: readonly (string | number)[]): Subject[] {
  return runtimes.map((runtime) => ({
    name,
    runtime,
    measure: child([...commandOf(runtime), ...RUNTIMES[runtime]!.gc, file, ...args.map(String)]),
  }))
}

/** Returns a manager of controller-runtime, with typed and with unstructured objects. */
export function managers(lab: Lab, kubeconfig: string, args: readonly (string | number)[]): Subject[] {
  const peer = lab.peer()
  if (peer === undefined) return []
  const command = [peer, '-config', kubeconfig, ...args.map(String)]
  return [goSubject('cr-typed', [...command, '-typed']), goSubject('cr-unstructured', command)]
}

/** Returns client-go's queue and controller-runtime's priority queue, with the keys of works/queue.ts. */
export function managerQueues(lab: Lab, n: number): Subject[] {
  const peer = lab.peer()
  if (peer === undefined) return []
  const command = [peer, '-mode', 'queue', '-n', String(n)]
  return [goSubject('workqueue', command), goSubject('priorityqueue', [...command, '-priority'])]
}

/** Returns creates with the webhooks of an operator on each runtime and of controller-runtime, and without any. */
export async function webhooks(lab: Lab, n: number): Promise<Subject[]> {
  const stage = await lab.webhooks(n)
  if (!stage) return []
  const { clusterFile } = await lab.stage()
  const own = (name: string, folder: string): Subject[] =>
    lab.runtimes.map((runtime) => ({
      name,
      runtime,
      measure: stage.measure((port, certificates) => [
        ...commandOf(runtime),
        join(folder, 'webhooks.ts'),
        clusterFile,
        String(port),
        certificates,
      ]),
    }))
  const other = lab.beside === undefined ? undefined : join(lab.beside, 'tests/bench/works')
  const peer = lab.goWebhooks()
  return [
    ...own('kubeloop', join(HERE, 'works')),
    ...(other !== undefined && existsSync(join(other, 'webhooks.ts')) ? own('beside', other) : []),
    { name: 'floor', runtime: 'none', measure: stage.measure() },
    ...(peer === undefined ? [] : [{
      name: 'controller-runtime',
      runtime: 'go',
      measure: stage.measure((port, certificates) => [peer, '-port', String(port), '-certs', certificates]),
    }]),
  ]
}

/** Returns the embedded API on each runtime and the real one, under the same load of `n` objects. */
export async function apiServers(lab: Lab, n: number): Promise<Subject[]> {
  const servers = await lab.apiServers()
  const subject = (name: string, runtime: string, start: () => Promise<ApiProcess | undefined>): Subject => {
    let starting: Promise<ApiProcess | undefined> | undefined
    return {
      name,
      runtime,
      measure: async () => {
        const server = await (starting ??= start())
        if (!server) return {}
        const load = [...commandOf('node'), join(HERE, 'works/apiserver_load.ts')]
        return await child([...load, server.clusterFile, server.pids.join(), String(n)])()
      },
    }
  }
  const own = (name: string, folder: string): Subject[] =>
    lab.runtimes.map((runtime) =>
      subject(name, runtime, () => servers.embedded([...commandOf(runtime), join(folder, 'works/apiserver.ts')]))
    )
  const other = lab.beside === undefined ? undefined : join(lab.beside, 'tests/bench')
  return [
    ...own('kubeloop', HERE),
    ...(other !== undefined && existsSync(join(other, 'works/apiserver.ts')) ? own('beside', other) : []),
    subject('kube-apiserver', 'go', () => servers.real()),
  ]
}

function goSubject(name: string, command: readonly string[]): Subject {
  return { name, runtime: 'go', measure: child(command) }
}

/** Asynchronous: this process must notice connections that the server closes, and serve the feed. */
function child([file = '', ...args]: readonly string[]): () => Promise<Printed> {
  return async () => {
    const { stdout } = await promisify(execFile)(file, args, { maxBuffer: 2 ** 26 })
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Printed
  }
}
