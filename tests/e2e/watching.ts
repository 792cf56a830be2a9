/** Waits for conditions on objects by watching them. */
import type { AnyResource, KubeObject, Transport } from '../../mod.ts'
import { Informer } from '../../mod.ts'
import { Api } from '../../lib/client/api.ts'
import { systemClock } from '../../lib/async/clock.ts'
import { silentLog } from '../../lib/observe/log.ts'

export interface Watching {
  /** Resolves when the server serves the kind: an operator installs its CRD when it starts. */
  readonly served: Promise<void>
  /** Resolves with the object when the condition holds; `undefined` stands for a missing object. */
  until(
    key: string,
    what: string,
    condition: (object: KubeObject | undefined) => boolean,
  ): Promise<KubeObject | undefined>
  get(key: string): KubeObject | undefined
}

/** Enough for a lease of 15 s to expire, and for the jitter of candidates. */
const MAX_MS = 60_000

export function watching(
  transport: Transport,
  resource: AnyResource,
  signal: AbortSignal,
): { watching: Watching; ended: Promise<void> } {
  const informer = new Informer({ api: new Api({ transport }), resource, clock: systemClock, log: silentLog })
  const until: Watching['until'] = (key, what, condition) =>
    new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        cancel()
        registration.remove()
        signal.removeEventListener('abort', over)
        settle()
      }
      const fail = (why: string): void =>
        end(() => {
          const object = JSON.stringify(informer.store.get(key)) ?? 'it does not exist'
          reject(new Error(`${resource.kind} "${key}" did not become "${what}" ${why}: ${object}`))
        })
      const over = (): void => fail('before the end of the test')
      const cancel = systemClock.after(MAX_MS, () => fail(`within ${MAX_MS / 1000} s`))
      const evaluate = (): void => {
        if (informer.isSynced && condition(informer.store.get(key))) end(() => resolve(informer.store.get(key)))
      }
      const registration = informer.addHandler(evaluate)
      signal.addEventListener('abort', over)
      informer.synced(signal).then(evaluate, () => {})
    })
  const served = informer.synced(signal)
  served.catch(() => {}) // the case may end before it is awaited
  return { watching: { served, until, get: (key) => informer.store.get(key) }, ended: informer.start(signal) }
}
