/**
 * The network as a function. The API server over TLS is one; the embedded API in memory is another;
 * faults, recorders and fences are functions around one.
 */

/** One request to an API server. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path and query, from the slash on. */
  readonly path: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  /** Aborting ends the request, or its body, with this signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called on a connected socket, before the first byte of this request is sent. A throw ends the request with it. */
  readonly beforeSend?: (() => void) | undefined
}

/** An answer whose head has come. Its body must be read or cancelled, or its connection is lost to others. */
export interface HttpResponse {
  readonly status: number
  /** Names in lower case; values of repeated headers joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: HttpBody
}

/**
 * The bytes of an answer, once. Iterating ends when the body is whole and throws when it is cut off
 * ({@link NetworkError}, phase `body`) or aborted (the signal's reason). Leaving the loop early cancels.
 */
export interface HttpBody extends AsyncIterable<Uint8Array> {
  /** The whole body as UTF-8 text. */
  text(): Promise<string>
  /** Gives the rest up. */
  cancel(): void
}

/** Sends a request; settles when the head of the answer is there. Rejects with a NetworkError or the signal's reason. */
export type Transport = (request: HttpRequest) => Promise<HttpResponse>
