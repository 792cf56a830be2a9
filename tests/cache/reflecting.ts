/** A reflector of pods against a scripted server with its own clock, and a record of its calls. */
import assert from 'node:assert/strict'
import { messageOf } from '../../lib/core/errors.ts'
import { Api } from '../../lib/client/api.ts'
import { reflect, type ReflectorOptions } from '../../lib/cache/reflector.ts'
import { FakeClock } from '../../lib/testing/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { POD, type ScriptedServer } from './scripted_server.ts'

export interface Reflecting {
  readonly clock: FakeClock
  /** The recorded calls, one line each. */
  readonly did: string[]
  /** The number of listeners of its signal. */
  readonly listeners: () => number
  settle(): Promise<void>
  /** Stops it and checks that it leaves nothing. */
  stop(): Promise<void>
}

type More = Pick<ReflectorOptions, 'prepare' | 'replace'> & Partial<ReflectorOptions>

/** Without jitter, so that the back-off is exact. */
export function startReflecting(server: ScriptedServer, more: (did: string[]) => More): Reflecting {
  const clock = new FakeClock()
  const { controller, listeners } = countedSignal()
  const did: string[] = []
  const ended = reflect(
    {
      api: new Api({ transport: server.transport }),
      target: { resource: POD },
      clock,
      random: () => 0,
      apply: (event) =>
        did.push(
          event.kind === 'bookmark'
            ? `bookmark ${event.resourceVersion}`
            : `${event.kind} ${event.object.metadata.name}`,
        ),
      onFailure: (error, waitMs) => did.push(`${messageOf(error)}; ${waitMs}`),
      ...more(did),
    },
    controller.signal,
  )
  return {
    clock,
    did,
    listeners,
    settle: () => clock.advance(0),
    async stop() {
      controller.abort(new Error('the test is over'))
      await ended
      assert.equal(clock.pending, 0, 'a timer is left')
      assert.equal(listeners(), 0, 'a listener is left')
    },
  }
}
