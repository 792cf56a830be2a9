/** Serves CPU profiles and heap snapshots of this process below `/debug/pprof/`; bind it to loopback. */
import { rejectOnAbort } from '../../async/abort.ts'
import { type Clock, systemClock } from '../../async/clock.ts'
import { cpuProfile, heapSnapshot, ProfilingUnsupported } from '../../runtime/os/profiler.ts'
import { type Fetch, notFound, textResponse } from './server.ts'

/** The default of Go's pprof. */
const DEFAULT_SECONDS = 30
const MAX_SECONDS = 300

const INDEX = `profile?seconds=30  a CPU profile, as a .cpuprofile for DevTools
heap                a heap snapshot, as a .heapsnapshot for DevTools; it pauses the process
`

/**
 * Returns a handler of `/debug/pprof/`, `/debug/pprof/profile?seconds=` and `/debug/pprof/heap`, which answers 501 on a
 * runtime without a profiler. A profile ends early when the client disconnects; a second one at the same time is
 * refused with 409.
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

/** Resolves after the time, or when the client disconnects: both stop the profile. */
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

/** Pulls a chunk only when it is read, as a snapshot may be larger than the free memory. */
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
