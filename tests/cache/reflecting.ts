/** A reflector of pods against a scripted server with its own clock, and a record of its calls. */
import assert from 'node:assert/strict'
import { isReason, messageOf } from '../../lib/core/errors.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { Api } from '../../lib/client/api.ts'
import { reflect, type ReflectorOptions } from '../../lib/cache/reflector.ts'
import { FakeClock } from '../../lib/async/fake_clock.ts'
import { countedSignal } from '../async/counted_signal.ts'
import { list, POD, pod, ScriptedServer, Stream } from './scripted_server.ts'

export interface Reflecting extends AsyncDisposable {
  readonly server: ScriptedServer
  readonly clock: FakeClock
  /** Returns the calls since the last time, one line each. */
  recorded(): string[]
  /** The names of the prepared objects. */
  readonly prepared: string[]
  /** Stops it and checks that it leaves nothing. */
  stop(): Promise<void>
}

/** What a store has. */
export class Stored extends Map<string, KubeObject> {
  heads(): IterableIterator<KubeObject> {
    return this.values()
  }
}

/** Starts a reflector without jitter, so that the back-off is exact. */
export async function reflecting(
  server: ScriptedServer,
  more: Partial<ReflectorOptions> = {},
  clock: FakeClock = new FakeClock(),
): Promise<Reflecting> {
  const { controller, listeners } = countedSignal()
  const did: string[] = []
  const prepared: string[] = []
  const ended = reflect(
    {
      api: new Api({ transport: server.transport }),
      target: { resource: POD },
      control: {},
      clock,
      random: () => 0,
      prepare: ({ metadata }) => void prepared.push(metadata.name),
      replace: (objects) =>
        void did.push(`list ${Array.from(objects.values(), ({ metadata }) => metadata.name).join()}`),
      apply: (event) =>
        did.push(
          event.kind === 'bookmark'
            ? `bookmark ${event.resourceVersion}`
            : `${event.kind} ${event.object.metadata.name}`,
        ),
      store: new Stored(),
      onFailure: (error, waitMs) => did.push(`${messageOf(error)}; ${waitMs}`),
      // A server without a stream refuses it by 422.
      onFallback: (error) => isReason(error, 'Invalid') || did.push(`${messageOf(error)}; a list`),
      ...more,
    },
    controller.signal,
  )
  const stop = async (): Promise<void> => {
    assert.ok(listeners() <= 2, `${listeners()} listeners of what it has done before`)
    controller.abort(new Error('the test is over'))
    await ended
    assert.deepEqual([clock.pending, listeners()], [0, 0], 'a timer or a listener is left')
  }
  await clock.advance(0)
  return { server, clock, recorded: () => did.splice(0), prepared, stop, [Symbol.asyncDispose]: stop }
}

/** Starts a reflector that has listed the pod a at version 5, and watches it by these streams. */
export async function watching(
  streams: readonly Stream[],
  more?: Partial<ReflectorOptions>,
): Promise<Reflecting> {
  const server = new ScriptedServer()
  server.lists.push(list('5', [pod('a', '3')]))
  server.watches.push(...streams.map((stream) => stream.answer))
  return await reflecting(server, more)
}

/** Starts a reflector that gets these streams of initial objects. */
export async function streaming(
  streams: readonly Stream[],
  more?: Partial<ReflectorOptions>,
  clock?: FakeClock,
): Promise<Reflecting> {
  const server = new ScriptedServer()
  server.streams.push(...streams.map((stream) => stream.answer))
  return await reflecting(server, more, clock)
}
