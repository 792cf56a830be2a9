/**
 * The network as a function: over TLS, in memory, or a wrapper that adds faults, a recording or a fence.
 */

/** One request to an API server. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query, with the leading slash. */
  readonly path: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  /** Aborting ends the request, or its body, with this signal's reason. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called on a connected socket before the first byte of this request is sent. The request fails with what it throws.
   */
  readonly beforeSend?: (() => void) | undefined
  /** Whether warnings of the server are not logged, as the request is kubeloop's own. Default: false. */
  readonly quiet?: boolean | undefined
}

/** An answer after its head. The body must be read or cancelled, or the connection is never reused. */
export interface HttpResponse {
  readonly status: number
  /** Names in lower case; values of repeated headers joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: HttpBody
}

/**
 * The bytes of an answer, readable once. Iteration ends when the body is complete, and throws if it is cut off
 * ({@link NetworkError}, phase `body`) or aborted (the signal's reason). Leaving the loop early cancels it.
 */
export interface HttpBody extends AsyncIterable<Uint8Array> {
  /** The whole body as UTF-8 text. */
  text(): Promise<string>
  /** Drops the rest. */
  cancel(): void
  /** Whether silence proves nothing, as no connection can break unnoticed: in a world. Default: false. */
  readonly endless?: boolean | undefined
}

/** Returns whether an answer may pause for any time: a watch, a followed log, a stream through a proxy subresource. */
export function mayPause(path: string): boolean {
  return isWatch(path) || STREAM.test(path)
}

/** An object and a namespace may be called "proxy", too. */
const STREAM =
  /[?&]follow=(?:true|1)(?:&|$)|^\/api\/v1\/(?:nodes|namespaces\/[^/]+\/(?:pods|services))\/[^/]+\/proxy(?:[/?]|$)/

/** Returns whether a path, with its query, opens a watch. */
export function isWatch(path: string): boolean {
  return /[?&]watch=(?:true|1)(?:&|$)/.test(path)
}

/** Sends a request. Resolves with the head of the answer. Rejects with a NetworkError or the signal's reason. */
export type Transport = (request: HttpRequest) => Promise<HttpResponse>

/** Returns the headers of a request by their names in lower case. */
export function headersOf(request: HttpRequest): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value
  return headers
}
