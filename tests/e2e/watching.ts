/** Waits for conditions on objects by watching them. */
import type { AnyResource, KubeObject, Transport } from '../../mod.ts'
import { Informer } from '../../mod.ts'
import { Api } from '../../lib/client/api.ts'
import { systemClock } from '../../lib/async/clock.ts'
import { silentLog } from '../../lib/observe/log.ts'

/** The objects of a kind. */
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
      const began = Date.now()
      const stop = systemClock.after(MAX_MS, () => {
        registration.remove()
        reject(
          new Error(
            `${resource.kind} "${key}" did not become "${what}" within ${MAX_MS / 1000} s: ${
              JSON.stringify(informer.store.get(key)) ?? 'it does not exist'
            }`,
          ),
        )
      })
      const evaluate = (): void => {
        if (!informer.isSynced || !condition(informer.store.get(key))) return
        stop()
        registration.remove()
        resolve(informer.store.get(key))
      }
      const registration = informer.addHandler(evaluate)
      void informer.synced(signal).then(evaluate, () =>
        reject(new Error(`the test ended after ${Date.now() - began} ms of waiting for "${what}"`)))
    })
  const served = informer.synced(signal)
  served.catch(() => {}) // the case may end before it is awaited
  return { watching: { served, until, get: (key) => informer.store.get(key) }, ended: informer.start(signal) }
}
