/** Takes CPU profiles and heap snapshots of this process, in the formats of DevTools. */

/** The runtime does not support this profile. */
export class ProfilingUnsupported extends Error {
  override readonly name = 'ProfilingUnsupported'
}

/**
 * Records a CPU profile until `ended` settles. Resolves to the text of a `.cpuprofile` file.
 * Rejects with ProfilingUnsupported if the runtime has no inspector.
 */
export async function cpuProfile(ended: Promise<void>): Promise<string> {
  const profiler = await startProfiler().catch((cause: unknown) => {
    throw new ProfilingUnsupported('Cannot profile the CPU: this runtime has no inspector; run on Node', { cause })
  })
  try {
    await ended
    return JSON.stringify(await profiler.stop())
  } finally {
    profiler.end()
  }
}

async function startProfiler(): Promise<{ stop(): Promise<unknown>; end(): void }> {
  const { Session } = await import('node:inspector')
  const session = new Session()
  session.connect()
  const post = (method: string): Promise<{ readonly profile?: unknown }> =>
    new Promise((resolve, reject) => {
      session.post(method, (error, result) => (error ? reject(error) : resolve(result ?? {})))
    })
  try {
    await post('Profiler.enable')
    await post('Profiler.start')
  } catch (error) {
    session.disconnect()
    throw error
  }
  return { stop: async () => (await post('Profiler.stop')).profile, end: () => session.disconnect() }
}

/**
 * Returns the text of a `.heapsnapshot` file in chunks. The process is blocked while the snapshot is taken.
 * Rejects with ProfilingUnsupported if the runtime has none.
 */
export async function heapSnapshot(): Promise<AsyncIterable<Uint8Array>> {
  try {
    const { getHeapSnapshot } = await import('node:v8')
    return getHeapSnapshot() as AsyncIterable<Uint8Array>
  } catch (cause) {
    throw new ProfilingUnsupported('Cannot take a heap snapshot: this runtime does not support it; run on Node', {
      cause,
    })
  }
}
