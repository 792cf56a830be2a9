/** Traces reconciles and their requests by OpenTelemetry. Loaded only for operators with `tracing`. */
import { ConfigError, messageOf } from '../core/errors.ts'
import type { HttpRequest, Transport } from '../core/transport.ts'

/** The used part of `@opentelemetry/api`. */
interface OpenTelemetry {
  readonly trace: {
    getTracer(name: string): Tracer
    getActiveSpan(): Span | undefined
    setSpan(context: unknown, span: Span): unknown
  }
  readonly context: {
    active(): unknown
    with<T>(context: unknown, work: () => T): T
  }
  readonly propagation: { inject(context: unknown, carrier: Record<string, string>): void }
}

interface Tracer {
  startSpan(
    name: string,
    options: { readonly kind?: number; readonly root?: boolean; readonly attributes: Attributes },
  ): Span
}

interface Span {
  isRecording(): boolean
  setAttribute(name: string, value: string | number | boolean): void
  setStatus(status: { readonly code: number; readonly message?: string }): void
  recordException(error: { readonly name: string; readonly message: string; readonly stack?: string }): void
  end(): void
}

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

// The numbers of SpanKind.CLIENT and SpanStatusCode.ERROR.
const CLIENT = 2
const ERROR = 2

export interface TracedRun {
  readonly controller: string
  readonly kind: string
  /** The cluster of the controller's own kind; undefined for the operator's own. */
  readonly cluster: string | undefined
  readonly key: { readonly namespace?: string | undefined; readonly name: string }
  readonly attempt: number
}

/** What a piece of work ended with. */
type Outcome<T> = { readonly kind: 'returned'; readonly result: T } | {
  readonly kind: 'threw'
  readonly error: unknown
}

/** The result of a run as in the metrics, and its error. */
interface Judgement {
  readonly label: string
  readonly error?: unknown
}

/** Makes the spans of one operator. */
export interface Tracing {
  reconcile<T>(run: TracedRun, work: () => Promise<T>, judge: (outcome: Outcome<T>) => Judgement): Promise<T>
  /**
   * Returns a transport that makes a span for each request inside another span, and sends its context as `traceparent`.
   * Others, such as watches and renewals of the lease, have none. `host` is the server, as `host:port`.
   */
  requests(transport: Transport, host: string): Transport
}

/**
 * Returns spans of the tracer that is registered with `@opentelemetry/api`.
 *
 * @throws ConfigError if the package cannot be loaded.
 */
export async function openTracing(): Promise<Tracing> {
  const { trace, context, propagation } = await load()
  const tracer = trace.getTracer('kubeloop')
  return {
    async reconcile({ controller, kind, cluster, key, attempt }, work, judge) {
      const attributes = {
        'kubeloop.controller': controller,
        'kubeloop.kind': kind,
        'kubeloop.namespace': key.namespace,
        'kubeloop.name': key.name,
        'kubeloop.attempt': attempt,
        'kubeloop.cluster': cluster,
      }
      // A trace of its own: the program may have started the operator inside a span.
      const span = tracer.startSpan(`reconcile ${controller}`, { root: true, attributes: defined(attributes) })
      const end = ({ label, error }: Judgement): void => {
        span.setAttribute('kubeloop.result', label)
        if (error !== undefined) fail(span, error)
        span.end()
      }
      try {
        const result = await context.with(trace.setSpan(context.active(), span), work)
        end(judge({ kind: 'returned', result }))
        return result
      } catch (error) {
        end(judge({ kind: 'threw', error }))
        throw error
      }
    },
    requests(transport, host) {
      const server = serverOf(host)
      return async (request) => {
        if (!trace.getActiveSpan()?.isRecording()) return await transport(request)
        const span = tracer.startSpan(`${request.method} ${pathTemplate(request.path)}`, {
          kind: CLIENT,
          attributes: { ...attributesOf(request), ...server },
        })
        const own = trace.setSpan(context.active(), span)
        const headers: Record<string, string> = { ...request.headers }
        propagation.inject(own, headers)
        try {
          const response = await context.with(own, () => transport({ ...request, headers }))
          span.setAttribute('http.response.status_code', response.status)
          if (response.status >= 400) {
            span.setAttribute('error.type', String(response.status))
            span.setStatus({ code: ERROR })
          }
          return response
        } catch (error) {
          span.setAttribute('error.type', error instanceof Error ? error.name : 'Error')
          fail(span, error)
          throw error
        } finally {
          // The body is read later: a span ends with the head of the response.
          span.end()
        }
      }
    },
  }
}

async function load(): Promise<OpenTelemetry> {
  try {
    // Bundlers and runtimes disagree on whether a CommonJS module is its own default.
    const loaded = (await import('@opentelemetry/api')) as unknown as OpenTelemetry & {
      readonly default?: OpenTelemetry
    }
    return loaded.default ?? loaded
  } catch (cause) {
    throw new ConfigError(
      'Cannot trace: @opentelemetry/api cannot be loaded; install it (npm install, bun add, or deno add ' +
        `npm:@opentelemetry/api), or remove the option tracing (${messageOf(cause)})`,
      { cause },
    )
  }
}

function fail(span: Span, error: unknown): void {
  const message = messageOf(error)
  const { name, stack } = error instanceof Error ? error : { name: 'Error', stack: undefined }
  span.recordException({ name, message, ...(stack !== undefined && { stack }) })
  span.setStatus({ code: ERROR, message })
}

/** @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client-span */
function attributesOf({ method, path }: HttpRequest): Attributes {
  return {
    'http.request.method': method,
    // Without the query.
    'url.path': path.split('?', 1)[0],
    'url.template': pathTemplate(path),
  }
}

function serverOf(host: string): Attributes {
  const { 1: address = host, 2: port } = /^(.*):(\d+)$/.exec(host) ?? []
  return defined({
    'server.address': address.replace(/^\[(.*)\]$/, '$1'),
    'server.port': port === undefined ? undefined : Number(port),
  })
}

function defined(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}

/**
 * Returns the path of a request without namespaces, names and the query, so that it names a kind of requests:
 * `/api/v1/namespaces/{namespace}/pods/{name}/log`.
 */
export function pathTemplate(path: string): string {
  const [plain = ''] = path.split('?', 1)
  const match = /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)(\/.+)$/.exec(plain)
  if (!match) return plain
  const [, root, rest = ''] = match
  let segments = rest.slice(1).split('/')
  let scope = ''
  const [first, , third] = segments
  if (first === 'namespaces' && third !== undefined && third !== 'status' && third !== 'finalize') {
    scope = '/namespaces/{namespace}'
    segments = segments.slice(2)
  }
  const [resource, name, subresource, ...further] = segments
  return [
    `${root}${scope}/${resource}`,
    ...(name === undefined ? [] : ['{name}']),
    ...(subresource === undefined ? [] : [subresource]),
    ...(further.length > 0 ? ['{path}'] : []),
  ].join('/')
}
