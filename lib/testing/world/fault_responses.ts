/** The responses that faults cause: refusals, broken and late bodies, and old states. */
import { NetworkError, type Transport } from 'kubeloop'
import { internals } from 'kubeloop/apiserver'
import { abortScope, untilAborted } from '../../async/abort.ts'
import { lineBatches } from '../../async/lines.ts'
import { type Clock, pause, sleep } from '../../async/clock.ts'
import { REASON_OF_CODE } from '../../core/errors.ts'
import { flag, splitTarget } from '../../core/requested_action.ts'
import type { HttpBody, HttpRequest, HttpResponse } from '../../core/transport.ts'

const encoder = new TextEncoder()

/** Returns a Status of a code. `retryAfterMs` is sent in whole seconds, rounded up. */
export function refusal(code: number, reason: string | undefined, retryAfterMs: number | undefined): HttpResponse {
  const seconds = retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1000)
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: `the test asked for status ${code}`,
    // A real server says so of versions that it has dropped.
    reason: reason ?? (code === 410 ? 'Expired' : REASON_OF_CODE[code]),
    ...(seconds !== undefined && { details: { retryAfterSeconds: seconds } }),
    code,
  }
  const { headers, ...answer } = internals.answerJson(code, JSON.stringify(status), [])
  return { ...answer, headers: { ...headers, ...(seconds !== undefined && { 'retry-after': String(seconds) }) } }
}

export function brokenOff(phase: 'response' | 'body'): NetworkError {
  const what = phase === 'body' ? 'Cannot read on' : 'Cannot reach the server'
  return new NetworkError(`${what}: the connection was cut, as the test asked`, { phase, code: 'ECONNRESET' })
}

/** How long an operator's own transport waits for the head of a response. */
const ANSWER_TIMEOUT_MS = 75_000

/** Rejects when an operator's own transport would give up, or with the reason when the request is aborted. */
export async function noAnswer(clock: Clock, signal: AbortSignal | undefined): Promise<never> {
  await sleep(clock, ANSWER_TIMEOUT_MS, signal)
  const message = `Cannot reach the server: no answer within ${ANSWER_TIMEOUT_MS / 1000} s, as the test asked`
  throw new NetworkError(message, { phase: 'response', code: 'ETIMEDOUT' })
}

/** Returns a body that fails before its first byte. */
export function brokenBody(inner: HttpBody): HttpBody {
  const fail = (): Promise<never> => {
    inner.cancel()
    return Promise.reject(brokenOff('body'))
  }
  return {
    endless: inner.endless,
    text: fail,
    cancel: () => inner.cancel(),
    [Symbol.asyncIterator]: () => ({ next: fail }),
  }
}

/** Returns a body that fails in the middle of its first line. */
export function tornBody(inner: HttpBody): HttpBody {
  return bodyOf(inner, torn(inner))
}

async function* torn(inner: HttpBody): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const [line] of lineBatches(inner)) {
    if (line === undefined) continue
    const bytes = encoder.encode(line)
    yield bytes.subarray(0, Math.ceil(bytes.length / 2))
    break
  }
  throw brokenOff('body')
}

/** Returns a body whose bytes arrive later, in order. An abort is not delayed. */
export function lateBody(
  inner: HttpBody,
  clock: Clock,
  lagMs: number,
  { signal, until }: { readonly signal?: AbortSignal | undefined; readonly until?: AbortSignal | undefined },
): HttpBody {
  const scope = abortScope(signal)
  const chunks: { readonly bytes?: Uint8Array; readonly error?: unknown; readonly dueMs: number }[] = []
  let wake = (): void => {}
  let isCancelled = false
  const add = (chunk: { readonly bytes?: Uint8Array; readonly error?: unknown }): void => {
    chunks.push({ ...chunk, dueMs: clock.monotonic() + lagMs })
    wake()
  }
  const pump = async (): Promise<void> => {
    try {
      for await (const bytes of inner) add({ bytes: bytes.slice() })
      add({})
    } catch (error) {
      add({ error })
    }
  }
  async function* late(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        scope.signal.throwIfAborted()
        const chunk = chunks[0]
        if (!chunk) {
          await untilAborted(new Promise<void>((resolve) => (wake = resolve)), scope.signal)
          continue
        }
        const waitMs = until?.aborted ? 0 : chunk.dueMs - clock.monotonic()
        if (waitMs > 0) {
          const wait = abortScope(scope.signal, until)
          await pause(clock, waitMs, wait.signal)
          wait[Symbol.dispose]()
          continue
        }
        chunks.shift()
        if (chunk.bytes) yield chunk.bytes
        else if ('error' in chunk) throw chunk.error
        else return
      }
    } catch (error) {
      // A reader whose body is cancelled sees its end, and not an error.
      if (!isCancelled) throw error
    } finally {
      scope[Symbol.dispose]()
    }
  }
  void pump()
  return bodyOf(inner, late(), () => {
    isCancelled = true
    scope.abort()
    scope[Symbol.dispose]()
  })
}

/** Returns the body of a watch that has each event twice, bookmarks once. */
export function repeatedBody(inner: HttpBody): HttpBody {
  return bodyOf(inner, repeated(inner))
}

async function* repeated(inner: HttpBody): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const lines of lineBatches(inner)) {
    for (const line of lines) {
      const isEvent = /^\{"type":"(?:ADDED|MODIFIED|DELETED)"/.test(line)
      yield encoder.encode(isEvent ? `${line}\n${line}\n` : `${line}\n`)
    }
  }
}

interface ListJson {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly { readonly metadata: object }[]
}

/** Returns whether the answer to a request for the objects of a kind begins with all of them. */
export function showsAll({ path }: HttpRequest): boolean {
  const { query } = splitTarget(path)
  const from = query.get('resourceVersion') ?? ''
  // A watch that goes on from a version has no old state.
  return !query.has('continue') &&
    (!flag(query, 'watch') || query.has('sendInitialEvents') || from === '' || from === '0')
}

/**
 * Answers a list, or a watch that begins with a list, with the state at an older version. The watch then goes on from
 * there. Those that the server refuses for this version are answered as without the fault.
 */
export async function staleResponse(inner: Transport, request: HttpRequest, version: string): Promise<HttpResponse> {
  const url = new URL(request.path, 'http://localhost')
  const query = url.searchParams
  const at = (change: (query: URLSearchParams) => void): HttpRequest => {
    const old = new URL(url)
    for (const name of ['resourceVersion', 'resourceVersionMatch', 'sendInitialEvents']) old.searchParams.delete(name)
    change(old.searchParams)
    return { ...request, path: old.pathname + old.search }
  }
  const list = await inner(at((query) => {
    for (const name of ['watch', 'allowWatchBookmarks', 'timeoutSeconds']) query.delete(name)
    query.set('resourceVersion', version)
    query.set('resourceVersionMatch', 'Exact')
  }))
  if (list.status !== 200) {
    list.body.cancel()
    return await inner(request)
  }
  if (!flag(query, 'watch')) return list
  const { apiVersion, kind, metadata, items } = JSON.parse(await list.body.text()) as ListJson
  const watch = await inner(at((query) => query.set('resourceVersion', metadata.resourceVersion)))
  if (watch.status !== 200) return watch
  const type = { apiVersion, kind: kind.replace(/List$/, '') }
  const lines = items.map((item) => JSON.stringify({ type: 'ADDED', object: { ...type, ...item } }))
  if (flag(query, 'sendInitialEvents')) {
    const annotations = { 'k8s.io/initial-events-end': 'true' }
    const object = { ...type, metadata: { resourceVersion: metadata.resourceVersion, annotations } }
    lines.push(JSON.stringify({ type: 'BOOKMARK', object }))
  }
  const first = encoder.encode(lines.map((line) => `${line}\n`).join(''))
  return { ...watch, body: bodyOf(watch.body, followed(first, watch.body)) }
}

async function* followed(first: Uint8Array, rest: HttpBody): AsyncGenerator<Uint8Array, void, undefined> {
  if (first.length > 0) yield first
  yield* rest
}

/** Returns a body of chunks, made from those of `inner`, which is cancelled when the reader needs no more of them. */
function bodyOf(
  inner: HttpBody,
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  onCancel = (): void => {},
): HttpBody {
  const cancel = (): void => {
    onCancel()
    inner.cancel()
  }
  return {
    cancel,
    endless: inner.endless,
    async text() {
      const decoder = new TextDecoder()
      let text = ''
      for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true })
      return text + decoder.decode()
    },
    async *[Symbol.asyncIterator]() {
      try {
        yield* chunks
      } finally {
        cancel()
      }
    },
  }
}
