/** Self-made certificates on the embedded API, with a clock that a test advances. */
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { Api } from '../../lib/client/api.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import type { Log } from '../../lib/observe/log.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { type CertificateTexts, dataOf, textsOf } from '../../lib/webhook/certificates/certificate_secret.ts'
import { OPERATOR_LABEL } from '../../lib/webhook/common/ownership.ts'
import type { CertificatePair } from '../../lib/webhook/common/handler.ts'
import { SelfMadeCertificates, type SelfMadeOptions } from '../../lib/webhook/certificates/self_made_certificates.ts'
import { type Recorder, recorder } from '../client/transports.ts'
import { Secret } from 'kubeloop/kinds'

export const TARGET = { resource: Secret as AnyResource, namespace: 'default', name: 'certs' }
export const NAMES = { dnsNames: ['localhost', 'a.default.svc'], ipAddresses: ['127.0.0.1'] }
export const HOUR_MS = 3_600_000
export const LIVES = { caLifeMs: 300 * HOUR_MS, leafLifeMs: 30 * HOUR_MS, leafRenewMs: 10 * HOUR_MS }

/** A value that tests wait for: each call of `is` resolves at the first value that fits, also an earlier one. */
export class Seen<T> {
  readonly all: T[] = []
  readonly #waiting = new Set<() => void>()

  add(value: T): void {
    this.all.push(value)
    for (const check of [...this.#waiting]) check()
  }

  /** Resolves with the first value from the given index on that fits. */
  is(fits: (value: T) => boolean, from = 0): Promise<T> {
    return new Promise((resolve) => {
      const check = (): void => {
        const found = this.all.slice(from).find(fits)
        if (found === undefined) return
        this.#waiting.delete(check)
        resolve(found)
      }
      this.#waiting.add(check)
      check()
    })
  }
}

/** A clock that records the timers that are set, so that a test knows when a wait has begun. */
export class TimerClock extends FakeClock {
  readonly timers = new Seen<number>()

  override after(ms: number, fire: () => void): () => void {
    const stop = super.after(ms, fire)
    this.timers.add(ms)
    return stop
  }

  /** Resolves when a timer of this length is set, other than those that were set before the call. */
  waits(ms: number): Promise<number> {
    return this.timers.is((each) => each === ms, this.timers.all.length)
  }
}

/** Returns a log that passes on each line with its level and its fields. */
export function linesTo(add: (line: string) => void): Log {
  const at = (level: string) => (message: string, fields?: object): void =>
    add(`${level} ${message}${fields ? ` ${JSON.stringify(fields)}` : ''}`)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export interface Lab {
  readonly clock: TimerClock
  readonly network: Recorder
  readonly api: Api
  readonly log: Log
  readonly lines: Seen<string>
  /** Returns certificates of one replica. */
  replica(over?: Partial<SelfMadeOptions>): SelfMadeCertificates
  /** Runs a replica. */
  serve(certificates: SelfMadeCertificates): Served
  /** Runs a replica. Resolves when it serves a pair. */
  started(over?: Partial<SelfMadeOptions>): Promise<Served & CertificatePair>
  secret(): Promise<KubeObject>
  texts(): Promise<CertificateTexts>
  /** Stores texts in the Secret, as another writer does. */
  store(texts: CertificateTexts): Promise<void>
  stop(): Promise<void>
  readonly signal: AbortSignal
}

export interface Served {
  readonly pairs: Seen<CertificatePair>
  readonly done: Promise<void>
  /** Thrown at the next pairs instead of serving them. */
  refuse: Error | undefined
}

export function lab(nowMs: number = Date.UTC(2026, 0, 1), handle = new ApiServer().handle): Lab {
  const clock = new TimerClock({ nowMs })
  const network = recorder(handle)
  const api = new Api({ transport: network.transport })
  const lines = new Seen<string>()
  const log = linesTo((line) => lines.add(line))
  const stopping = new AbortController()
  const running: Promise<unknown>[] = []
  const secret = (): Promise<KubeObject> => api.get(TARGET)
  const stop = async (): Promise<void> => {
    stopping.abort()
    await Promise.all(running)
  }
  const one: Lab = {
    ...{ clock, network, api, log, lines, secret, stop },
    signal: stopping.signal,
    replica: (over) =>
      new SelfMadeCertificates({
        api,
        namespace: 'default',
        secret: 'certs',
        operator: 'sites',
        names: NAMES,
        clock,
        log,
        timings: LIVES,
        ...over,
      }),
    serve(certificates) {
      const pairs = new Seen<CertificatePair>()
      const use = (pair: CertificatePair): void => {
        if (served.refuse) throw served.refuse
        pairs.add(pair)
      }
      const done = certificates.run(use, stopping.signal)
      running.push(done.catch(() => {}))
      const served: Served = { pairs, done, refuse: undefined }
      return served
    },
    async started(over) {
      const served = one.serve(one.replica(over))
      return Object.assign(served, await served.pairs.is(() => true))
    },
    texts: async () => textsOf(await secret()),
    async store(texts) {
      await api.patch(TARGET, 'merge', { data: dataOf(texts) }, {})
    },
  }
  labs.push(one)
  return one
}

const labs: Lab[] = []

/** Ends what runs in all labs. */
export async function stopLabs(): Promise<void> {
  await Promise.all(labs.map((one) => one.stop()))
}

/** A Secret of this operator with these texts. */
export function secretWith(texts: CertificateTexts | undefined, labels = { [OPERATOR_LABEL]: 'sites' }): object {
  return {
    metadata: { namespace: 'default', name: 'certs', labels },
    type: 'Opaque',
    ...(texts && { data: dataOf(texts) }),
  }
}
