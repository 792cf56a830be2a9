/** Network faults for the requests of one candidate. */
import type { HttpResponse, Transport } from '../../lib/core/transport.ts'
import { type Clock, sleep } from '../../lib/async/clock.ts'
import { NetworkError } from '../../lib/core/errors.ts'
import { refusal } from '../client/transports.ts'

export const WEATHERS = ['fair', 'slow there', 'slow back', 'request lost', 'answer lost', 'refused', 'hangs'] as const
export type Weather = (typeof WEATHERS)[number]

/** Calls `next` with a fault. A slow watch breaks off after `slowMs`; a lost one delivers nothing. */
export async function through(
  kind: Weather,
  request: Parameters<Transport>[0],
  next: Transport,
  clock: Clock,
  slowMs: number,
): Promise<HttpResponse> {
  const { signal } = request
  if (isWatch(request)) return await watchThrough(kind, request, next, clock, slowMs)
  switch (kind) {
    case 'fair':
      await sleep(clock, 5, signal)
      return await next(request)
    case 'slow there':
      // A slow request: the server applies it even after the caller gave up.
      return await orAbort(
        sleep(clock, slowMs).then(() => next({ ...request, signal: undefined, beforeSend: undefined })),
        signal,
      )
    case 'slow back': {
      const answer = next(request)
      await sleep(clock, slowMs, signal)
      return await answer
    }
    case 'request lost':
      throw new NetworkError('the request was lost', { phase: 'response' })
    case 'answer lost':
      await next(request)
      throw new NetworkError('the answer was lost', { phase: 'response' })
    case 'refused':
      return refusal(500, 'InternalError')
    case 'hangs':
      return await orAbort(new Promise(() => {}), signal)
  }
}

async function watchThrough(
  kind: Weather,
  request: Parameters<Transport>[0],
  next: Transport,
  clock: Clock,
  slowMs: number,
): Promise<HttpResponse> {
  switch (kind) {
    case 'fair':
      return await next(request)
    case 'refused':
      return refusal(403, 'Forbidden')
    case 'request lost':
      throw new NetworkError('the request was lost', { phase: 'response' })
    case 'hangs':
      return await orAbort(new Promise(() => {}), request.signal)
    case 'answer lost':
      // deno-lint-ignore require-yield -- the body never comes
      return withBody(await next(request), async function* (body, end) {
        body.cancel()
        await orAbort(new Promise(() => {}), end)
      }, request.signal)
    case 'slow there':
    case 'slow back':
      return withBody(await next(request), async function* (body) {
        const breaksAtMs = clock.monotonic() + slowMs
        for await (const chunk of body) {
          if (kind === 'slow back') await sleep(clock, 100, request.signal)
          if (clock.monotonic() >= breaksAtMs) throw new NetworkError('the connection broke', { phase: 'body' })
          yield chunk
        }
      }, request.signal)
  }
}

function withBody(
  response: HttpResponse,
  pass: (body: HttpResponse['body'], signal: AbortSignal | undefined) => AsyncGenerator<Uint8Array>,
  signal: AbortSignal | undefined,
): HttpResponse {
  const { body } = response
  return {
    ...response,
    body: { text: () => body.text(), cancel: () => body.cancel(), [Symbol.asyncIterator]: () => pass(body, signal) },
  }
}

export function isWatch({ path }: { readonly path: string }): boolean {
  return path.includes('watch=true')
}

function orAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    promise.then(resolve, reject)
  })
}
