/** An API server for tests: it answers lists and watches from queues, over a Transport without a network. */
import type { HttpBody, HttpRequest, HttpResponse, Transport } from '../../lib/core/transport.ts'
import { formatKey, keyOf, type KubeObject, type OwnerReference } from '../../lib/core/objects.ts'
import type { AnyResource } from '../../lib/core/resource.ts'
import type { Log } from '../../lib/observe/log.ts'
import type { Delta, Store } from '../../lib/cache/store.ts'

export const POD: AnyResource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' }
export const NODE: AnyResource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', scope: 'Cluster' }

interface Fields {
  readonly uid?: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly spec?: unknown
}

/** A Pod as a watch sends it. The default uid contains its name. */
export function pod(name: string, resourceVersion: string, fields: Fields = {}): KubeObject {
  const { uid = `uid-${name}`, namespace = 'default', spec, ...metadata } = fields
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
    ...(spec === undefined ? {} : { spec }),
  }
}

/** Returns the objects of a list as a store has them. */
export function byKey<T extends KubeObject>(objects: readonly T[]): Map<string, T> {
  return new Map(objects.map((object) => [formatKey(keyOf(object)), object]))
}

/** Replaces the objects of a store, at once. */
export function replaceAll<T extends KubeObject>(
  store: Store<T>,
  objects: readonly T[],
  initial: boolean,
): readonly Delta<T>[] {
  const steps = store.replacing(byKey(objects), initial)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value() as readonly Delta<T>[]
  }
}

export type Answer = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>

/** A list; items of built-in kinds have neither apiVersion nor kind. */
export function list(resourceVersion: string, items: readonly KubeObject[] = [], next?: string): Answer {
  const bare = items.map(({ metadata, ...rest }) => ({ ...rest, apiVersion: undefined, kind: undefined, metadata }))
  return () =>
    json(200, { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion, continue: next }, items: bare })
}

/** A refusal with a Status. */
export function refusal(code: number, reason: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return () =>
    json(
      code,
      { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: `scripted ${reason}` },
      headers,
    )
}

export function failing(error: Error): Answer {
  return () => Promise.reject(error)
}

function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  const stream = new Stream()
  stream.text(JSON.stringify(value))
  stream.end()
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: stream.body() }
}

/** The body of a watch, written by the test. It ends with an error when its request is aborted. */
export class Stream {
  readonly #chunks: Uint8Array[] = []
  #end: { readonly error?: unknown } | undefined
  #wake = (): void => {}
  /** Whether the reader has ended. */
  cancelled = false

  /** Returns the answer to a watch with this body. */
  readonly answer: Answer = ({ signal }) => {
    const onAbort = (): void => this.fail(signal?.reason)
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    return { status: 200, headers: {}, body: this.body() }
  }

  send(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR', object: object): void {
    this.text(`${JSON.stringify({ type, object })}\n`)
  }

  bookmark(resourceVersion: string): void {
    this.send('BOOKMARK', { apiVersion: 'v1', kind: 'Pod', metadata: { resourceVersion } })
  }

  /** Sends the bookmark after the initial objects. */
  mark(resourceVersion: string): void {
    const annotations = { 'k8s.io/initial-events-end': 'true' }
    this.send('BOOKMARK', { apiVersion: 'v1', kind: 'Pod', metadata: { resourceVersion, annotations } })
  }

  error(code: number, reason: string): void {
    this.send('ERROR', {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason,
      code,
      message: `scripted ${reason}`,
    })
  }

  text(text: string): void {
    this.bytes(new TextEncoder().encode(text))
  }

  bytes(bytes: Uint8Array): void {
    this.#chunks.push(bytes)
    this.#wake()
  }

  end(): void {
    this.#end ??= {}
    this.#wake()
  }

  fail(error: unknown): void {
    this.#end ??= { error }
    this.#wake()
  }

  body(): HttpBody {
    const read = async function* (this: Stream): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          const chunk = this.#chunks.shift()
          if (chunk) yield chunk
          else if (this.#end) {
            if ('error' in this.#end) throw this.#end.error
            return
          } else await new Promise<void>((resolve) => (this.#wake = resolve))
        }
      } finally {
        this.cancelled = true
      }
    }
    return {
      text: async () => {
        const decoder = new TextDecoder()
        let text = ''
        for await (const chunk of read.call(this)) text += decoder.decode(chunk, { stream: true })
        return text
      },
      cancel: () => this.end(),
      [Symbol.asyncIterator]: () => read.call(this),
    }
  }
}

/** Requests without a queued answer fail; a watch without one stays open and silent. */
export class ScriptedServer {
  readonly lists: Answer[] = []
  readonly watches: Answer[] = []
  /**
   * Streams of initial objects. Without one the request is refused as by an older server, so that a list follows; that
   * is not logged.
   */
  readonly streams: Answer[] = []
  /** Every request, as `list`, `stream` or `watch 5` (from version 5), with the requested page. */
  readonly log: string[] = []
  readonly requests: HttpRequest[] = []

  readonly transport: Transport = async (request) => {
    request.signal?.throwIfAborted()
    const query = new URLSearchParams(request.path.split('?', 2)[1])
    if (query.has('sendInitialEvents')) {
      const answer = this.streams.shift()
      if (!answer) return await refusal(422, 'Invalid')(request)
      this.requests.push(request)
      this.log.push('stream')
      return await answer(request)
    }
    this.requests.push(request)
    if (query.get('watch') === 'true') {
      this.log.push(`watch ${query.get('resourceVersion')}`)
      return await (this.watches.shift() ?? new Stream().answer)(request)
    }
    const from = query.get('continue')
    this.log.push(from ? `list ${from}` : query.has('limit') ? 'list' : 'list whole')
    const answer = this.lists.shift()
    if (!answer) throw new Error(`the script has no answer to ${request.path}`)
    return await answer(request)
  }

  /** Returns the requests since the last call. */
  recorded(): string[] {
    return this.log.splice(0)
  }
}

/** A log that stores its lines as `level message`. */
export function keptLog(): { readonly lines: string[]; readonly log: Log } {
  const lines: string[] = []
  const at = (level: string) => (message: string): void => void lines.push(`${level} ${message}`)
  return { lines, log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}
