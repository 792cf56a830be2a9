/** `/debug/pprof/`: what the process does and holds, for those who may ask it. Off unless it is served; bind it to loopback. */
import { rejectOnAbort } from '../../async/abort.ts'
import { type Clock, systemClock } from '../../async/clock.ts'
import { cpuProfile, heapSnapshot, ProfilingUnsupported } from '../../runtime/os/profiler.ts'
import { type Fetch, notFound, textResponse } from './server.ts'

/** As Go's pprof records, unless it is asked for another time. */
const DEFAULT_SECONDS = 30
const MAX_SECONDS = 300

const INDEX = `profile?seconds=30  what the CPU does, as a .cpuprofile for DevTools
heap                what is in memory, as a .heapsnapshot for DevTools; the process stands still meanwhile
`

/**
 * Answers `/debug/pprof/`, `/debug/pprof/profile?seconds=` and `/debug/pprof/heap`; on a runtime that cannot, with 501.
 * A profile ends early when whoever asked goes away; a second one at the same time is refused with 409.
 */
export function profilingHandler({ clock = systemClock }: { readonly clock?: Clock | undefined } = {}): Fetch {
  let isRecording = false
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/debug/pprof/' || pathname === '/debug/pprof') return textResponse(200, INDEX)
    if (pathname === '/debug/pprof/heap') return await heap()
    if (pathname !== '/debug/pprof/profile') return notFound()
    const seconds = Number(searchParams.get('seconds') ?? DEFAULT_SECONDS)
    if (!(seconds > 0 && seconds <= MAX_SECONDS)) {
      return textResponse(400, `seconds must be more than 0 and at most ${MAX_SECONDS}\n`)
    }
    if (isRecording) return textResponse(409, 'a profile is being recorded; try again when it has ended\n')
    isRecording = true
    try {
      return file(await cpuProfile(forSeconds(clock, seconds, request.signal)), 'kubeloop.cpuprofile')
    } catch (error) {
      return refused(error)
    } finally {
      isRecording = false
    }
  }
}

/** Settles after so long, or when nobody waits any more: the profile is stopped in both cases. */
function forSeconds(clock: Clock, seconds: number, signal: AbortSignal): Promise<void> {
  return rejectOnAbort(signal, (resolve) => clock.after(seconds * 1000, resolve)).catch(() => {})
}

async function heap(): Promise<Response> {
  try {
    return file(streamOf(await heapSnapshot()), 'kubeloop.heapsnapshot')
  } catch (error) {
    return refused(error)
  }
}

/** No faster than it is read: a snapshot may be larger than what is left of the memory. */
function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(new Uint8Array(value))
    },
    async cancel() {
      await iterator.return?.()
    },
  }, { highWaterMark: 0 })
}

function refused(error: unknown): Response {
  if (error instanceof ProfilingUnsupported) return textResponse(501, `${error.message}\n`)
  throw error
}

function file(body: string | ReadableStream<Uint8Array>, name: string): Response {
  return new Response(body, {
    headers: { 'content-type': 'application/json', 'content-disposition': `attachment; filename="${name}"` },
  })
}
