/**
 * Tests fencing with operator processes on a real API server, whose leader is suspended past its lease and resumed.
 *
 * A watch reports every write in the server's order. One repetition by default;
 * `FENCING_REPS=50 FENCING_LANES=2 node tests/e2e/real_fencing.test.ts` runs fifty, two at a time, and prints figures.
 * The same with `bun test --timeout 900000` and `deno test -A --no-check`.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Api } from '../../lib/client/api.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import { lineBatches } from '../../lib/async/lines.ts'
import { systemClock } from '../../lib/async/clock.ts'
import { parseWatchLine } from '../../lib/client/watch_events.ts'
import { ConfigMap } from '../../lib/kinds/mod.ts'
import type { LeaseRecord } from '../../lib/leader/lease_state.ts'
import { type ChildProcess, startProcess } from '../../lib/runtime/os/child_process.ts'
import { httpTransport } from '../../lib/runtime/net/transport.ts'
import { startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { LEASE } from '../leader/candidates.ts'
import { noPlane } from '../tools/real_plane.ts'

const REPS = Number(process.env['FENCING_REPS'] ?? 1)
const LANES = Number(process.env['FENCING_LANES'] ?? 1)
const DURATION_MS = 3000
const DEADLINE_MS = 2000
const PROGRAM = fileURLToPath(new URL('files/fenced_writers.ts', import.meta.url))

interface Write {
  readonly identity: string
  readonly writer: string
  readonly number: number
  readonly begunMs: number
  readonly seenMs: number
}

interface Renewal {
  readonly holder: string
  /** The `renewTime` of the lease: when the holder sent the renewal. */
  readonly renewedMs: number
  readonly seenMs: number
}

/** Records the writes and renewals of one lease, and waits for more. */
class Audit {
  readonly writes: Write[] = []
  readonly renewals: Renewal[] = []
  readonly followers = new Set<string>()
  readonly #waiting = new Set<() => void>()
  #broken: unknown

  record(object: KubeObject & { data?: Record<string, string>; spec?: LeaseRecord }, lease: string): void {
    const seenMs = Date.now()
    const { name, labels } = object.metadata
    if (object.spec) {
      this.renewals.push({
        holder: object.spec.holderIdentity ?? '',
        renewedMs: Date.parse(object.spec.renewTime!),
        seenMs,
      })
    } else if (labels?.['lease'] !== lease) return // of another repetition
    else if (name !== lease) this.followers.add(name)
    else if (object.data) {
      const { identity, writer, number, begunMs } = object.data as Record<
        'identity' | 'writer' | 'number' | 'begunMs',
        string
      >
      this.writes.push({ identity, writer, number: Number(number), begunMs: Number(begunMs), seenMs })
    }
    for (const evaluate of this.#waiting) evaluate()
  }

  /** Called when a watch has failed: fails all waits. */
  end(error: unknown): void {
    this.#broken = error
    for (const evaluate of this.#waiting) evaluate()
  }

  until(what: string, isSo: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const evaluate = (): void => {
        if (this.#broken) done(() => reject(this.#broken as Error))
        else if (isSo()) done(resolve)
      }
      const stop = systemClock.after(
        30_000,
        () =>
          done(() =>
            reject(
              new Error(
                `${what} did not happen: ${this.writes.length} writes, the last ${
                  JSON.stringify(this.writes.at(-1))
                }, ${JSON.stringify(this.renewals.at(-1))}`,
              ),
            )
          ),
      )
      const done = (settle: () => void): void => {
        stop()
        this.#waiting.delete(evaluate)
        settle()
      }
      this.#waiting.add(evaluate)
      evaluate()
    })
  }

  by(identity: string): Write[] {
    return this.writes.filter((write) => write.identity === identity)
  }

  async more(identity: string, count: number): Promise<void> {
    const enough = this.by(identity).length + count
    await this.until(`write ${enough} of ${identity}`, () => this.by(identity).length >= enough)
  }
}

type Figures = Awaited<ReturnType<typeof repetition>>

test(
  'a leader that is suspended past its lease and resumed begins no write after its fence, nor over its successor',
  { skip: noPlane },
  async () => {
    const envtest = await startEnvtest()
    const folder = mkdtempSync(join(tmpdir(), 'kubeloop-fencing-'))
    const cluster = join(folder, 'cluster')
    writeFileSync(cluster, JSON.stringify(envtest.config), { mode: 0o600 })
    const transport = httpTransport(envtest.config, { userAgent: 'audit' })
    try {
      const api = new Api({ transport })
      const figures: Figures[] = []
      let started = 0
      const failures: unknown[] = []
      await Promise.all(Array.from({ length: LANES }, async () => {
        while (started < REPS && failures.length === 0) {
          await repetition(api, `lock-${started++}`, cluster, folder).then(
            (each) => figures.push(each),
            (error: unknown) => failures.push(error),
          )
        }
      }))
      if (failures.length > 0) throw failures[0]
      const max = (name: keyof Figures): number => Math.max(...figures.map((each) => each[name]))
      const sum = (name: keyof Figures): number => figures.reduce((total, each) => total + each[name], 0)
      console.log(
        `${figures.length} repetitions, ${sum('writes')} writes; after a suspension the next leader wrote within ${
          max('crashMs')
        } ms, after a release within ` +
          `${max('releaseMs')} ms; ${
            sum('stragglers')
          } writes that the server held landed later than the next leader's first`,
      )
      assert.equal(figures.length, REPS)
    } finally {
      transport.close()
      await envtest.stop()
      rmSync(folder, { recursive: true })
    }
  },
)

async function repetition(api: Api, lease: string, cluster: string, folder: string) {
  const audit = new Audit()
  const auditing = new AbortController()
  const { object } = await api.create({ resource: ConfigMap, namespace: 'default' }, {
    metadata: { name: lease, labels: { lease } },
  }, {})
  const from = object.metadata.resourceVersion
  const watches = [
    watch(api, ConfigMap, `metadata.namespace=default`, from, auditing.signal, (each) => audit.record(each, lease)),
    watch(api, LEASE, `metadata.name=${lease}`, from, auditing.signal, (each) => audit.record(each, lease)),
  ].map((ended) => ended.catch((error: unknown) => audit.end(error)))
  const children: ChildProcess[] = []
  const run = async (identity: string): Promise<ChildProcess> => {
    const child = await startProcess({ ...command([cluster, lease, identity]), output: join(folder, identity) })
    children.push(child)
    return child
  }
  try {
    const [a, b, c] = [`${lease}-a`, `${lease}-b`, `${lease}-c`]
    const first = await run(a)
    await audit.more(a, 1)
    const second = await run(b)
    await audit.until(`${b} follows`, () => audit.followers.has(b))
    await audit.more(a, 50 + Math.floor(Math.random() * 1000))

    process.kill(first.pid, 'SIGSTOP')
    const stoppedMs = Date.now()
    await audit.more(b, 1)
    const crashMs = audit.by(b)[0]!.seenMs - stoppedMs
    await audit.more(b, Math.floor(Math.random() * 200))
    process.kill(first.pid, 'SIGCONT')
    const { code } = await first.ended
    assert.equal(code, 7, `the suspended leader ended with ${code}: ${readFileSync(join(folder, a), 'utf8')}`)
    await audit.more(b, 100)

    const third = await run(c)
    await audit.until(`${c} follows`, () => audit.followers.has(c))
    process.kill(second.pid, 'SIGTERM')
    await audit.more(c, 50)
    const releasedMs = audit.renewals.find(({ holder }) => holder === '')?.seenMs
    assert.ok(releasedMs !== undefined, `the lease was not released: ${readFileSync(join(folder, b), 'utf8')}`)
    const releaseMs = audit.by(c)[0]!.seenMs - releasedMs
    process.kill(third.pid, 'SIGTERM')
    assert.deepEqual([(await second.ended).code, (await third.ended).code], [0, 0])

    assert.ok(crashMs <= DURATION_MS + 1000, `the next leader wrote ${crashMs} ms after the suspension`)
    assert.ok(releaseMs <= 1000, `the next leader wrote ${releaseMs} ms after the release`)
    return { crashMs, releaseMs, stragglers: check(audit, [a, b, c], stoppedMs), writes: audit.writes.length }
  } finally {
    for (const { pid, ended } of children) {
      let isOver = false
      void ended.then(() => (isOver = true))
      await Promise.resolve()
      if (!isOver) process.kill(pid, 'SIGKILL')
      await ended
    }
    auditing.abort()
    await Promise.all(watches)
  }
}

/**
 * Checks every write against the leases. Returns how many of the suspended leader's landed after its successor's first.
 */
function check({ writes, renewals }: Audit, identities: readonly string[], stoppedMs: number): number {
  const [a] = identities
  for (const identity of identities) {
    // No write was missed: the numbers of each writer grow by one.
    const own = writes.filter((write) => write.identity === identity)
    assert.ok(own.length > 0, `${identity} wrote nothing`)
    for (const writer of new Set(own.map(({ writer }) => writer))) {
      const numbers = own.filter((write) => write.writer === writer).map(({ number }) => number)
      assert.deepEqual(
        numbers,
        numbers.map((_, at) => at + 1),
        `writes of ${identity}/${writer} are missing or out of order`,
      )
    }
    const lastRenewalMs = Math.max(
      ...renewals.filter(({ holder }) => holder === identity).map(({ renewedMs }) => renewedMs),
    )
    const late = own.filter(({ begunMs }) => begunMs > lastRenewalMs + DEADLINE_MS)
    assert.deepEqual(
      late.slice(0, 3),
      [],
      `${late.length} times ${identity} began a write after its fence, ${lastRenewalMs + DEADLINE_MS}`,
    )
  }
  const stragglers = writes.filter(({ identity }, at) =>
    writes.slice(0, at).some((before) => identities.indexOf(before.identity) > identities.indexOf(identity))
  )
  const unexplained = stragglers.filter(({ identity, begunMs }) => identity !== a || begunMs > stoppedMs)
  assert.deepEqual(
    unexplained.slice(0, 3),
    [],
    `${unexplained.length} writes landed after those of a later term, and were not under way when the process was suspended`,
  )
  return stragglers.length
}

/** Calls `record` for each added or changed object, in the server's order, until the signal is aborted. */
async function watch(
  api: Api,
  resource: AnyResource,
  fields: string,
  from: string,
  signal: AbortSignal,
  record: (object: KubeObject) => void,
): Promise<void> {
  try {
    const { body } = await api.watch({ resource, namespace: 'default' }, {
      fields,
      resourceVersion: from,
      timeoutSeconds: 3000,
    }, signal)
    for await (const lines of lineBatches(body)) {
      for (const line of lines) {
        const event = parseWatchLine(line, resource.plural)
        if (event.kind === 'applied') record(event.object)
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function command(args: readonly string[]): { command: string; args: string[] } {
  const deno = basename(process.execPath).startsWith('deno') ? ['run', '-A', '--no-check'] : []
  return { command: process.execPath, args: [...deno, PROGRAM, ...args] }
}
