/** Serves metrics over TLS, to clients whose token has the right. Loaded only for operators that ask for it. */
import { aborted, abortScope } from '../../async/abort.ts'
import { Latch } from '../../async/latch.ts'
import type { Api } from '../../client/api.ts'
import { fileMissing, messageOf } from '../../core/errors.ts'
import { printable } from '../../core/printable.ts'
import type { PartEnvironment } from '../../observe/environment.ts'
import { RateLimitedLog } from '../../observe/log.ts'
import {
  exchangeOf,
  type HttpServer,
  type HttpServerOptions,
  refusal,
  TIMEOUTS,
} from '../../runtime/net/http_server.ts'
import { SERVER_PARTS } from '../../runtime/net/listen.ts'
import type { HttpsServer } from '../../runtime/net/tls_server.ts'
import type { RequestHead, ServerResponse } from '../../runtime/net/server_exchange.ts'
import { validityOf } from '../../runtime/os/builtins.ts'
import { FileCertificates } from '../../webhook/certificates/file_certificates.ts'
import type { CertificatePair, CertificateSource } from '../../webhook/common/handler.ts'
import { inMemoryCertificates } from '../../webhook/certificates/memory_certificates.ts'
import type { CertificateMeter } from '../../webhook/common/metrics.ts'
import { AccessReviews, bearerToken } from './access.ts'
import type { Fetch } from './server.ts'

/** A scraper has one connection and one request at a time. */
const MAX_STREAMS = 32

export interface SecureMetricsOptions extends PartEnvironment {
  /** The folder with `tls.crt` and `tls.key`. Undefined: a certificate that lives as long as the process. */
  readonly certs: string | undefined
  /** Reviews the clients' tokens. Undefined: all clients are served. */
  readonly api: Pick<Api, 'raw'> | undefined
  readonly meter: CertificateMeter | undefined
}

/** Starts a server. Rejects if it has no certificate, or cannot listen; with the signal's reason if that is aborted. */
export async function serveSecurely(
  options: SecureMetricsOptions,
  http: HttpServerOptions,
  signal: AbortSignal,
): Promise<HttpServer> {
  const { clock } = options
  const { serveTls } = await import('../../runtime/net/tls_server.ts').catch(fileMissing('serve TLS', 'https.js'))
  const scope = abortScope()
  let server: HttpsServer | undefined
  const certificate = following(options, (pair) => server?.setCertificate(pair.cert, pair.key), scope.signal)
  const end = async (): Promise<void> => {
    scope.abort()
    scope[Symbol.dispose]()
    await certificate.ended
  }
  try {
    const pair = await Promise.race([certificate.first, aborted(signal).then(() => Promise.reject(signal.reason))])
    server = await serveTls({
      ...exchangeOf({ ...http, fetch: guarded(http.fetch, options, scope.signal) }, 'https'),
      ...TIMEOUTS,
      ...pair,
      host: http.host,
      port: http.port,
      clock,
      maxStreams: MAX_STREAMS,
      maxConnections: http.maxConnections,
      refuse: options.api && refuseWithoutToken,
      onClientError: reporting(options),
    }, SERVER_PARTS)
    // Replaced while the server began to listen.
    const { cert, key } = certificate.current() ?? pair
    if (cert !== pair.cert) server.setCertificate(cert, key)
  } catch (error) {
    await end()
    throw error
  }
  const { host, port, close } = server
  return { host, port, close: (deadline) => close(deadline).finally(end) }
}

interface Following {
  /** Rejects if there is no certificate to begin with. */
  readonly first: Promise<CertificatePair>
  readonly ended: Promise<void>
  current(): CertificatePair | undefined
}

/** Calls `replace` with each pair that replaces the first one, until the signal is aborted. */
function following(
  { certs, clock, log, meter: meters }: SecureMetricsOptions,
  replace: (pair: CertificatePair) => void,
  signal: AbortSignal,
): Following {
  const meter = meters?.certificates('metrics')
  const first = new Latch<CertificatePair>()
  const source: CertificateSource = certs === undefined
    ? inMemoryCertificates({
      // As controller-runtime's: no client can verify it anyway.
      names: { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
      commonName: 'kubeloop-metrics',
      clock,
    })
    : new FileCertificates({ folder: certs, use: METRICS, clock, log, meter })
  let current: CertificatePair | undefined
  const use = (pair: CertificatePair): void => {
    const { toMs } = validityOf(pair.cert)
    replace(pair)
    const notAfter = new Date(toMs).toISOString()
    if (toMs <= clock.now()) log.warn('The certificate of the metrics has expired; replace it', { notAfter })
    if (current) log.info('Serving metrics with a new certificate', { notAfter })
    meter?.notAfter.set(toMs / 1000)
    current = pair
    first.open(pair)
  }
  const running = source.run(use, signal)
  return {
    // The source ends without a first pair only when the signal is aborted.
    first: Promise.race([first.opened, running.then(() => first.opened)]),
    // Without a first pair, `first` has the error.
    ended: running.catch((error: unknown) => {
      if (current) log.error('The certificate of the metrics is not replaced any more', { error: messageOf(error) })
    }),
    current: () => current,
  }
}

const METRICS = {
  what: 'metrics',
  remedy: (folder: string) =>
    `mount one at "${folder}" with tls.crt and tls.key, as cert-manager writes them, or let the operator make its own ` +
    'with `metrics: { tls: true }`',
} as const

function guarded(fetch: Fetch, { api, clock, log }: SecureMetricsOptions, signal: AbortSignal): Fetch {
  if (!api) return fetch
  const access = new AccessReviews({ api, clock, log, signal })
  return async (request) => {
    const { method, headers, signal } = request
    // The path as the handlers see it.
    const { pathname: path } = new URL(request.url)
    const refused = await access.check({ authorization: headers.get('authorization'), method, path, signal })
    if (!refused) return await fetch(request)
    const { status, headers: own, body } = refusal(refused.status, refused.text)
    return new Response(body, { status, headers: own })
  }
}

/** Refuses a request before its body is read. */
function refuseWithoutToken({ headers }: RequestHead): ServerResponse | undefined {
  if (bearerToken(headers['authorization']) !== undefined) return undefined
  return refusal(401, 'Unauthorized')
}

/** Reports clients that could not connect. */
function reporting({ clock, log }: SecureMetricsOptions): (error: Error & { readonly code?: string }) => void {
  const limitedLog = new RateLimitedLog(clock, log)
  return (error) => {
    limitedLog.warn('A client of the metrics could not connect, or did not speak TLS and HTTP', {
      error: printable(error.code ?? messageOf(error)).slice(0, 200),
    })
  }
}
