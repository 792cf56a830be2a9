/** How a webhook is called, and its failures, described as a real API server does. */
import { jsonType } from '../model/go_text.ts'
import { TYPE_META } from '../wire/body.ts'
import type { NetworkError } from '../../core/errors.ts'
import type { WebhookClientConfig } from '../../core/resource.ts'
import { NOT_JSON } from '../model/status.ts'
import { isObject, type Json, type JsonObject } from '../model/json.ts'

/** Options of a call. */
export interface WebhookCallOptions {
  /** The time after which the server gives up, in milliseconds. `signal` is aborted then. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The HTTP response of a webhook. */
export interface WebhookAnswer {
  readonly status: number
  readonly body: string
}

/** Sends an AdmissionReview or a ConversionReview (JSON) to a webhook. */
export type CallWebhook = (
  clientConfig: WebhookClientConfig,
  body: string,
  options: WebhookCallOptions,
) => Promise<WebhookAnswer>

/** A webhook that could not be called, or did not answer with JSON. */
export class CallError extends Error {
  override readonly name = 'CallError'
}

/** Returns the URL of a call, with the timeout that the server sends along. */
export function clientUrl({ url, service }: WebhookClientConfig, timeoutMs: number): string {
  const timeout = `?timeout=${Math.ceil(timeoutMs / 1000)}s`
  if (url === undefined) {
    const { name, namespace, path = '/', port = 443 } = service!
    return `https://${name}.${namespace}.svc:${port}${path}${timeout}`
  }
  return `${new URL(url)}${timeout}`
}

const UNKNOWN_AUTHORITY: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]

/** Returns a failure in Go's words, where it has an equivalent. */
export function goWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Compares names: a bundle may contain the class once more.
  const code = error.name === 'NetworkError' ? (error as NetworkError).code ?? '' : ''
  if (code === 'ECONNREFUSED') return `connect: connection refused (${error.message})`
  if (UNKNOWN_AUTHORITY.includes(code)) {
    return `tls: failed to verify certificate: x509: certificate signed by unknown authority (${error.message})`
  }
  return error.message
}

/** The errors of client-go for a status without a readable body. */
const STATUS_WORDS: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  406: 'the server was unable to respond with a content type that the client supports',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
}

/** Returns the body of a response as JSON. Throws a CallError if its status is not 2xx, or if it is not an object. */
export function responseText(status: number, body: string): JsonObject {
  if (status < 200 || status > 206) throw new CallError(statusWords(status, body))
  if (body === '') {
    throw new CallError(`0-length response with status code: ${status} and content type: application/json`)
  }
  let value: Json
  try {
    value = JSON.parse(body) as Json
  } catch (cause) {
    throw new CallError(`couldn't get version/kind; json parse error: ${NOT_JSON}`, { cause })
  }
  if (isObject(value)) return value
  const reason = `json: cannot unmarshal ${jsonType(value)} into Go value of type ${TYPE_META}`
  throw new CallError(`couldn't get version/kind; json parse error: ${reason}`)
}

function statusWords(status: number, body: string): string {
  let text = body.trim()
  try {
    const value = JSON.parse(body) as Json
    text = 'unknown'
    if (isObject(value) && value['kind'] === 'Status' && value['status'] === 'Failure') return String(value['message'])
  } catch {
    // The body of a failed call may be any text.
  }
  if (status === 500) {
    return `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
  }
  if ((status === 403 || status === 415) && text) return text
  return STATUS_WORDS[status] ??
    `the server responded with the status code ${status} but did not return more information`
}
