/** Runs operators in this process while a test works with them. */
import type { Operator } from 'kubeloop'
import { Latch } from '../../lib/async/latch.ts'
import { silentLog } from '../../lib/observe/log.ts'

type StartOptions = NonNullable<Parameters<Operator['start']>[1]>
export type Assembled = Parameters<NonNullable<StartOptions['onAssembled']>>[0]

/** Calls `work` when the operator leads, and stops it afterwards. */
export async function running(
  app: Operator,
  options: StartOptions,
  work: (assembled: Assembled) => Promise<unknown>,
): Promise<void> {
  const stopping = new AbortController()
  const ready = new Latch()
  let assembled: Assembled
  const ended = app.start(stopping.signal, {
    log: silentLog,
    ...options,
    onAssembled: (parts) => {
      assembled = parts
      void parts.manager.elected.then(() => ready.open())
    },
  })
  await Promise.race([ready.opened, ended])
  try {
    await work(assembled!)
  } finally {
    stopping.abort()
    await ended
  }
}
