/** How a webhook is called, and its failures. */
import { jsonType } from '../model/go_text.ts'
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

/** Returns the body of a response as JSON. Throws a CallError if its status is not 2xx, or if it is not an object. */
export function responseText(status: number, body: string): JsonObject {
  if (status < 200 || status > 206) throw new CallError(statusWords(status, body))
  let value: Json
  try {
    value = JSON.parse(body) as Json
  } catch (cause) {
    throw new CallError(`the body of the response: ${NOT_JSON}`, { cause })
  }
  if (isObject(value)) return value
  throw new CallError(`the body of the response is of the type ${jsonType(value)}, not an object`)
}

/** Returns the message of a Status, or the status code with the text of the body. */
function statusWords(status: number, body: string): string {
  try {
    const value = JSON.parse(body) as Json
    if (isObject(value) && value['kind'] === 'Status' && value['status'] === 'Failure') return String(value['message'])
  } catch {
    // The body of a failed call may be any text.
  }
  return `the webhook responded with the status code ${status}: ${body.trim().slice(0, MAX_SHOWN)}`
}

const MAX_SHOWN = 1000
