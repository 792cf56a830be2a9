/** The faults, one row each. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { sleep, systemClock } from '../../lib/async/clock.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { Cluster } from '../../mod.ts'
import { ConfigMap } from '../../lib/kinds/mod.ts'
import { type Call, issueFor } from './front.ts'
import type { Launch, Runtime } from './lane.ts'
import { type Network, openNetwork, whyNoNetwork } from './network.ts'
import { type Signal, until } from './plane.ts'
import { fileOf, LEADS, printed, restart, type Row, type Stage } from './row.ts'

const pause = (ms: number): Promise<void> => sleep(systemClock, ms)

/** Shorter than the Lease of the operators allows, and longer. */
const [BRIEF_MS, LONG_MS] = [2000, 8000]

/** How a process may end when it has lost its Lease, or is started while the API server cannot be reached. */
const LOST = /has ended: Cannot renew lease/
const LOST_OR_NO_START = /has ended: Cannot renew lease|^Cannot /

/** Answers are broken by `fault` for some time; `fault` is called only then. Watches that are open are opened again. */
function answers(name: string, ms: number, fault: (call: Call, isOver: () => boolean) => Promise<void> | void): Row {
  return {
    name,
    async act({ plane }) {
      let isOver = false
      plane.front.fault = (call) => isOver ? call.forward() : fault(call, () => isOver)
      plane.lead('front')
      await pause(ms)
      isOver = true
    },
    after: ({ plane: { front } }) => void (front.fault = undefined),
  }
}

/** A fault that is there and then not. */
function during(name: string, ms: number, set: (stage: Stage) => void, unset: (stage: Stage) => void): Row {
  return {
    name,
    async act(stage) {
      await pause(500)
      set(stage)
      await pause(ms)
      unset(stage)
      await pause(500)
    },
  }
}

function signals(program: 'etcd' | 'kube-apiserver', ms: number): Row {
  const send = (signal: Signal) => ({ plane }: Stage): void => plane.signal(program, signal)
  return during(`SIGSTOP of ${program} for ${ms / 1000} s`, ms, send('SIGSTOP'), send('SIGCONT'))
}

function certificate(name: string, says: RegExp, serve: (stage: Stage) => Promise<void>): Row {
  return {
    name,
    says,
    ends: LOST_OR_NO_START,
    async act(stage) {
      const { plane } = stage
      await serve(stage)
      plane.lead('front')
      await pause(LONG_MS)
      plane.front.serve()
    },
  }
}

const cut = (bytes: Buffer): { last: Buffer } => ({ last: bytes.subarray(0, bytes.length / 2) })
/**
 * Zero bytes, which are in no JSON, in place of some. Ends of lines stay: the loss of one shows with the next line, which
 * may be a bookmark after a minute.
 */
function garbled(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  for (let i = 0; i < 3; i++) {
    const at = Math.floor(Math.random() * copy.length)
    if (copy[at] !== 10) copy[at] = 0
  }
  return copy
}

const CONNECTIONS: readonly Row[] = [
  { name: 'none', isShort: true, act: () => pause(3000) },
  {
    name: 'all connections reset, 20 times',
    isShort: true,
    async act({ plane: { proxy } }) {
      for (let i = 0; i < 20; i++) {
        await pause(Math.random() * 300)
        proxy.reset()
      }
    },
  },
  during('connections reset, new ones refused', BRIEF_MS, ({ plane: { proxy } }) => {
    proxy.refuses = true
    proxy.reset()
  }, ({ plane: { proxy } }) => void (proxy.refuses = false)),
  during('new connections refused beside open ones', BRIEF_MS, ({ plane: { proxy } }) => void (proxy.refuses = true), ({
    plane: { proxy },
  }) => void (proxy.refuses = false)),
  {
    name: `open connections stalled for ${LONG_MS / 1000} s`,
    async act({ plane: { proxy } }) {
      const release = proxy.stall()
      await pause(LONG_MS)
      release()
    },
  },
  {
    // A watch without a bookmark is given up after 150 s.
    name: 'open connections half-open for good',
    boundMs: 200_000,
    async act({ plane: { proxy } }) {
      await pause(500)
      proxy.freeze()
      await pause(BRIEF_MS)
    },
  },
  {
    ...during('4000 bytes per second', 6000, ({ plane: { proxy } }) => {
      proxy.bytesPerSecond = 4000
      proxy.reset()
    }, ({ plane: { proxy } }) => void (proxy.bytesPerSecond = Infinity)),
    ends: LOST,
  },
]

const ANSWERS: readonly Row[] = [
  { ...answers(`heads of answers held for ${BRIEF_MS / 1000} s`, BRIEF_MS, held), isShort: true },
  { ...answers(`heads of answers held for ${LONG_MS / 1000} s`, LONG_MS, held), ends: LOST },
  {
    // A silent first read is given up after 30 s, and read as a list.
    ...answers('first lists stalled in their body for good', BRIEF_MS, (call) => {
      const isFirst = call.path.includes('sendInitialEvents')
      let parts = 0
      return call.forward((bytes) => isFirst && parts++ > 0 ? new Promise<never>(() => {}) : bytes)
    }),
    boundMs: 60_000,
  },
  {
    ...answers(
      'garbled bytes in watches',
      4000,
      (call, isOver) =>
        call.forward((bytes) => call.isWatch && !isOver() && Math.random() < 0.3 ? garbled(bytes) : bytes),
    ),
    isShort: true,
  },
  answers(
    'garbled bytes in all answers',
    BRIEF_MS,
    (call, isOver) => call.forward((bytes) => isOver() ? bytes : garbled(bytes)),
  ),
  {
    ...answers(
      'answers cut in their middle',
      BRIEF_MS,
      (call, isOver) => call.forward((bytes) => isOver() ? bytes : cut(bytes)),
    ),
    isShort: true,
  },
  answers('429 with Retry-After: 1', BRIEF_MS, (call) => call.refuse(429, { 'retry-after': '1' })),
  {
    ...answers('429, for longer than the Lease', LONG_MS, (call) => call.refuse(429, { 'retry-after': '1' })),
    ends: LOST,
  },
  answers('503', BRIEF_MS, (call) => call.refuse(503)),
  answers('500', BRIEF_MS, (call) => call.refuse(500)),
  certificate(
    'a certificate of another CA',
    /not signed by a CA that is trusted here/,
    async ({ plane }) => plane.front.serve(await issueFor(await createAuthority())),
  ),
  certificate(
    'an expired certificate',
    /has expired/,
    async ({ plane }) => plane.front.serve(await plane.front.expired()),
  ),
]

async function held(call: Call, isOver: () => boolean): Promise<void> {
  await until('the fault is over', isOver)
  await call.forward()
}

const PROCESSES: readonly Row[] = [
  {
    name: 'SIGKILL of the operator',
    kills: true,
    isShort: true,
    async act({ lanes }) {
      await pause(1000)
      for (const lane of lanes) lane.signal('SIGKILL')
      await pause(1000)
    },
  },
  {
    name: `SIGSTOP of the leader for ${LONG_MS / 1000} s, beside a replica`,
    ends: /has ended: Cannot renew lease .* (holds it now|suspended, for)/,
    says: LEADS,
    async act(stage) {
      for (const lane of stage.lanes) lane.start()
      await printed(stage, /Waiting for the lease/)
      for (const lane of stage.lanes) lane.signal('SIGSTOP', 'oldest')
      await printed(stage, LEADS)
      await pause(LONG_MS - 5000)
      for (const lane of stage.lanes) lane.signal('SIGCONT', 'oldest')
      await until('the suspended leaders have ended', () => stage.lanes.every(({ ends }) => ends.length > 0))
    },
  },
  signals('kube-apiserver', BRIEF_MS),
  { ...signals('kube-apiserver', LONG_MS), ends: LOST },
  signals('etcd', BRIEF_MS),
  { ...signals('etcd', LONG_MS), ends: LOST },
  {
    name: 'SIGKILL of kube-apiserver, and its restart',
    ends: LOST_OR_NO_START,
    async act({ plane: { envtest } }) {
      await pause(1000)
      await envtest.restartApiServer()
      await pause(1000)
    },
  },
  {
    name: 'SIGKILL of etcd, and its restart',
    ends: LOST_OR_NO_START,
    async act({ plane }) {
      await pause(1000)
      plane.signal('etcd', 'SIGKILL')
      await pause(BRIEF_MS)
      await plane.startEtcd()
      await pause(1000)
    },
  },
  {
    // Without an event or a bookmark after its version, a watch is given up twice, after 150 s each.
    name: 'etcd restored from an older copy',
    hasTime: false,
    undoes: true,
    boundMs: 330_000,
    async act(stage) {
      const { plane } = stage
      await restart(stage, { hasLongLease: true })
      await printed(stage, LEADS)
      const restore = await plane.copyData()
      await pause(3000)
      await restore()
    },
    // As a garbage collector would; the operators make those of their Notes again.
    async after({ plane, lanes }) {
      for (const { namespace } of lanes) await plane.envtest.client.deleteAll(ConfigMap, { namespace })
    },
  },
]

/** The wall clocks of the operators are set while they work. */
function clocks(name: string, signal: 'SIGUSR2' | 'SIGHUP', row: Partial<Row> = {}): Row {
  const set = ({ lanes }: Stage): void => {
    for (const lane of lanes) lane.signal(signal)
  }
  return { ...during(name, LONG_MS, set, () => {}), hasTime: false, ...row }
}

/** Packets are dropped by `drop`, for operators in a network of their own. */
function packets(name: string, which: 'all' | 'many', ms: number, ends?: RegExp): Row {
  let network: Network | undefined
  return {
    name,
    ...(ends && { ends }),
    skip: whyNoNetwork,
    async act(stage) {
      const { plane } = stage
      const path = fileOf(stage, `${which}-${ms}.sock`)
      await plane.proxy.listen(path)
      network = await openNetwork(path)
      const kubeconfig = fileOf(stage, 'network.kubeconfig')
      writeFileSync(kubeconfig, plane.kubeconfig(network.server), { mode: 0o600 })
      await restart(stage, { prefix: network.prefix, kubeconfig })
      await printed(stage, LEADS)
      network.drop(which)
      await pause(ms)
      network.drop()
    },
    async after({ lanes }) {
      await Promise.all(lanes.map((lane) => lane.stop()))
      await network?.close()
    },
  }
}

function started(name: string, launch: Launch, row: Partial<Row> = {}): Row {
  return {
    name,
    async act(stage) {
      await restart(stage, launch)
      await pause(BRIEF_MS)
    },
    ...row,
  }
}

/** 48 MB of ConfigMaps, which the operators cache. */
async function fill({ plane: { envtest }, lanes }: Stage): Promise<void> {
  const { client } = new Cluster({ name: 'faults', config: envtest.config })
  for (let i = 0; i < 60; i++) {
    for (const { namespace } of lanes) {
      await client.create(ConfigMap, { metadata: { namespace, name: `large-${i}` }, data: { x: 'x'.repeat(800_000) } })
    }
  }
}

async function clear({ plane: { envtest }, lanes }: Stage): Promise<void> {
  for (let i = 0; i < 60; i++) {
    for (const { namespace } of lanes) await envtest.client.delete(ConfigMap, { namespace, name: `large-${i}` })
  }
}

const MEMORY = '/sys/fs/cgroup/memory'

function limitedHeap(): Row {
  const runtimeArgs: Launch['runtimeArgs'] = {
    node: ['--max-old-space-size=40'],
    deno: ['--v8-flags=--max-old-space-size=40'],
  }
  return {
    name: 'a heap of 40 MB for 48 MB of objects (Node, Deno)',
    ends: /JavaScript (heap )?out of memory/,
    codes: [133, 134],
    async act(stage) {
      await restart(stage, { runtimeArgs, isOnce: true })
      await printed(stage, LEADS)
      await fill(stage)
    },
    after: clear,
  }
}

function limitedMemory(): Row {
  const cgroup = `${MEMORY}/kubeloop-faults`
  return {
    name: 'a cgroup of 110 MB for 48 MB of objects',
    kills: true,
    boundMs: 60_000,
    skip: () => {
      const { status, stderr } = spawnSync('mkdir', ['-p', cgroup], { encoding: 'utf8' })
      return status === 0 ? undefined : `no memory cgroup can be made: ${stderr.trim()}`
    },
    async act(stage) {
      const limits = stage.lanes.map(({ runtime }) => `${cgroup}/${runtime}`)
      for (const path of limits) {
        mkdirSync(path, { recursive: true })
        writeFileSync(`${path}/memory.limit_in_bytes`, String(110 * 2 ** 20))
      }
      const prefixOf = (runtime: Runtime): string[] => [
        'sh',
        '-c',
        `echo $$ > ${cgroup}/${runtime}/cgroup.procs; exec "$@"`,
        'sh',
      ]
      await Promise.all(stage.lanes.map((lane) => lane.stop()))
      for (const lane of stage.lanes) lane.clear()
      for (const lane of stage.lanes) lane.start({ prefix: prefixOf(lane.runtime), isOnce: true })
      await printed(stage, LEADS)
      await fill(stage)
    },
    async after(stage) {
      await clear(stage)
      await Promise.all(stage.lanes.map((lane) => lane.stop()))
      for (const { runtime } of stage.lanes) rmdirSync(`${cgroup}/${runtime}`)
      rmdirSync(cgroup)
    },
  }
}

const TO_ERRORS = /Cannot write to standard output \(ENOSPC\): the log continues on standard error/

export const ROWS: readonly Row[] = [
  ...CONNECTIONS,
  ...ANSWERS,
  ...PROCESSES,
  clocks('the wall clock set 1 h back', 'SIGUSR2'),
  // As on a machine that has slept.
  clocks('the wall clock set 1 h ahead', 'SIGHUP', { ends: /clock set forward, by/ }),
  packets(`all packets dropped for ${BRIEF_MS / 1000} s`, 'all', BRIEF_MS),
  packets(`all packets dropped for ${LONG_MS / 1000} s`, 'all', LONG_MS, LOST_OR_NO_START),
  packets('packets above 128 kbit/s dropped', 'many', 5000, LOST_OR_NO_START),
  started('standard output on a full disk', { outputs: ['/dev/full'] }, { says: TO_ERRORS, isShort: true }),
  started('both outputs on a full disk', { outputs: ['/dev/full', '/dev/full'] }),
  limitedHeap(),
  limitedMemory(),
]
