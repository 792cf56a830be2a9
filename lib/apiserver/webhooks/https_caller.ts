/** Calls webhooks over TLS. Loaded by the first call. */
import { type ClosableTransport, httpTransport } from '../../runtime/net/transport.ts'
import { type CallWebhook, clientUrl } from './call.ts'

const MAX_TRANSPORTS = 16

/** Returns a function that calls webhooks by their URL, and keeps connections to the last 16 servers. */
export function httpsCaller(): CallWebhook {
  const transports = new Map<string, ClosableTransport>()
  const transportOf = (server: string, caBundle: string | undefined): ClosableTransport => {
    const key = `${server} ${caBundle}`
    const known = transports.get(key)
    if (known) return known
    const ca = caBundle === undefined ? undefined : decodeBundle(caBundle)
    const transport = httpTransport({ server, ca, gzip: false }, { userAgent: 'kube-apiserver-admission' })
    transports.set(key, transport)
    const [oldest] = transports.keys()
    if (transports.size > MAX_TRANSPORTS) {
      transports.get(oldest!)!.close()
      transports.delete(oldest!)
    }
    return transport
  }
  return async (client, body, { timeoutMs, signal }) => {
    if (client.url === undefined) {
      throw new Error(
        `service ${JSON.stringify(client.service?.name)} not found: ` +
          'the embedded API has no network of Services; set clientConfig.url instead',
      )
    }
    const { origin, pathname, search } = new URL(clientUrl(client, timeoutMs))
    const response = await transportOf(origin, client.caBundle)({
      method: 'POST',
      path: pathname + search,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body,
      signal,
    })
    return { status: response.status, body: await response.body.text() }
  }
}

function decodeBundle(caBundle: string): string {
  const text = atob(caBundle)
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw new Error('unable to load root certificates: unable to parse bytes as PEM block')
}
