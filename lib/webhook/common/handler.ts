/** What a webhook server calls for each request to a path, and the certificates that it serves. */

/** A request of the API server. Its body is read completely. */
export interface WebhookRequest {
  /** The content type without parameters, in lower case; empty if there is none. */
  readonly contentType: string
  readonly body: Uint8Array
  /** Aborted when the client disconnects or the server closes. */
  readonly signal: AbortSignal
}

/** The response to a request. */
export interface WebhookResponse {
  /** The HTTP status. A review that can be read is answered with 200, whatever the review says. */
  readonly status: number
  /** JSON, or plain text for a status other than 200. */
  readonly body: string
  /** Whether a function of the user's threw something that is not an API error. */
  readonly failed?: boolean
}

/** Answers the requests to one path. Never rejects: a failure is a response. */
export type WebhookHandler = (request: WebhookRequest) => Promise<WebhookResponse>

/** A certificate and its private key, in PEM. */
export interface CertificatePair {
  readonly cert: string
  readonly key: string
}

/** Provides the certificate of a server. */
export interface CertificateSource {
  /**
   * Calls `use` with the first pair, and with each that replaces it, until the signal is aborted; then it resolves.
   * Rejects with a ConfigError if there is no first pair. `use` throws if the pair does not match; the source then
   * keeps the last good one, and reports it.
   */
  run(use: (pair: CertificatePair) => void, signal: AbortSignal): Promise<void>
}
