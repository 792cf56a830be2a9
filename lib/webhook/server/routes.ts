/** The paths of a webhook server, and the requests that it refuses without a call. */
import type { BodyRefusal, RequestHead, ServerRequest, ServerResponse } from '../../runtime/net/server_exchange.ts'
import type { PathMetrics, WebhookMetrics } from '../common/metrics.ts'
import { MAX_REVIEW_MS } from './review_calls.ts'
import type { ServerLines } from './server_lines.ts'
import { pathOf, textResponse } from './webhook_request.ts'

export interface PathOptions {
  /** What the path is for, in logs: `default of Site`. Default: the path. */
  readonly name?: string | undefined
  /** Default: `admission`. */
  readonly protocol?: 'admission' | 'conversion' | undefined
  /**
   * Whether clients must present a certificate of the client CA, if there is one. The API server never presents one
   * with a conversion. Default: `required`, for conversions `ignored`.
   */
  readonly clientCertificate?: 'required' | 'ignored' | undefined
}

/** What is served at a path. */
export interface Route {
  /** Undefined: all. */
  readonly method: 'POST' | undefined
  readonly needsCertificate: boolean
  readonly answer: (request: ServerRequest) => Promise<ServerResponse>
  readonly metrics: PathMetrics | undefined
}

export interface RoutesOptions {
  /** Whether there is a CA of clients. */
  readonly hasClientCa: boolean
  readonly maxBodyBytes: number
  readonly metrics: WebhookMetrics | undefined
  readonly lines: ServerLines
}

/** As in controller-runtime, without its path "/". */
const PATH = /^(?:\/[a-zA-Z0-9_-]+)+$/

export class Routes {
  readonly #options: RoutesOptions
  readonly #routes = new Map<string, Route>()

  constructor(options: RoutesOptions) {
    this.#options = options
  }

  get paths(): readonly string[] {
    return [...this.#routes.keys()]
  }

  /** @throws TypeError if the path is invalid; Error if it is taken. */
  add(path: string, method: Route['method'], options: PathOptions, answer: Route['answer']): void {
    const { protocol = 'admission' } = options
    const { clientCertificate = protocol === 'conversion' ? 'ignored' : 'required' } = options
    if (!PATH.test(path)) {
      throw new TypeError(
        `Cannot serve a webhook at "${path}": write a path such as "/validate-site", with letters, digits, "-" and ` +
          '"_" between slashes',
      )
    }
    if (this.#routes.has(path)) {
      throw new Error(`Cannot serve a webhook at "${path}": the path is taken; choose another path`)
    }
    const needsCertificate = this.#options.hasClientCa && clientCertificate === 'required'
    this.#routes.set(path, { method, needsCertificate, answer, metrics: this.#options.metrics?.path(path) })
  }

  at({ path }: RequestHead): Route | undefined {
    return this.#routes.get(pathOf(path))
  }

  /** Returns the response to a request whose body is not read, and counts it; undefined if the body is to be read. */
  refuse(head: RequestHead): ServerResponse | undefined {
    const response = this.#refusalOf(head)
    return response && this.#counted(head, response)
  }

  /** Returns the response to a request whose body is refused, and counts it. */
  refuseBody(why: BodyRefusal, head: RequestHead): ServerResponse {
    const { maxBodyBytes } = this.#options
    const response = why === 'too large'
      ? this.refused(head, 413, `The body has more than ${maxBodyBytes} bytes`)
      : why === 'too slow'
      ? this.refused(head, 408, `The body was not complete after ${MAX_REVIEW_MS / 1000} s`)
      : this.tooMany(head)
    return this.#counted(head, response)
  }

  /** The API server tries again within the webhook's timeout. */
  tooMany(head: RequestHead): ServerResponse {
    return this.refused(head, 429, 'Too many bytes of other requests are held; try again', { 'retry-after': '1' })
  }

  /** Reports a refusal, and returns its response. */
  refused(head: RequestHead, status: number, why: string, more: ServerResponse['headers'] = {}): ServerResponse {
    this.#options.lines.refused(head, status, why)
    const { headers, ...response } = textResponse(status, why)
    return { ...response, headers: { ...headers, ...more } }
  }

  #refusalOf(head: RequestHead): ServerResponse | undefined {
    const route = this.at(head)
    if (!route) return this.refused(head, 404, 'No webhook is served at this path')
    if (route.method && head.method !== route.method) {
      return this.refused(head, 405, 'A webhook is called with POST', { allow: 'POST' })
    }
    if (!route.needsCertificate || head.isTrusted) return undefined
    const why = 'The client must present a certificate of the CA that this webhook is configured with (clientCa); ' +
      "set it in the kubeConfigFile of the API server's --admission-control-config-file"
    return this.refused(head, 403, why)
  }

  #counted(head: RequestHead, response: ServerResponse): ServerResponse {
    this.at(head)?.metrics?.requests(response.status).inc()
    return response
  }
}
