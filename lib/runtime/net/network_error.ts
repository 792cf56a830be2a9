/** Explains a failed connection: the server, the phase, the cause and the remedy. */
import { isNotCapable, messageOf, NetworkError, NOT_CAPABLE } from '../../core/errors.ts'

export type Phase = NetworkError['phase']

/** Converts an error of a socket, a TLS handshake or a parser to a NetworkError. Returns a NetworkError unchanged. */
export function networkError(thrown: unknown, phase: Phase, address: string): NetworkError {
  if (thrown instanceof NetworkError) return thrown
  const code = codeOf(thrown)
  // Deno refuses an address with the one error and a name with the other. With a proxy, the proxy is what it refuses.
  if (isNotCapable(thrown) || (code === 'EPERM' && (thrown as NodeJS.ErrnoException).syscall === 'getaddrinfo')) {
    const why = isNotCapable(thrown)
      ? messageOf(thrown)
      : `Deno needs --allow-net=${address.slice(address.lastIndexOf(' ') + 1)}`
    return failed(why, 'connect', address, NOT_CAPABLE, thrown)
  }
  return failed(explain(thrown, code, phase), phase, address, code, thrown)
}

/** Tests whether a connection failed as the server's certificate is not signed by a trusted CA. Nothing was sent. */
export function isUntrusted(error: unknown): boolean {
  if (!(error instanceof NetworkError) || error.phase !== 'connect') return false
  return BY_CODE[error.code ?? '']?.startsWith(NOT_SIGNED) ?? false
}

/** Returns an error's code from the system or the TLS library, if it has one. */
export function codeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' ? code : undefined
}

function failed(why: string, phase: Phase, address: string, code: string | undefined, cause: unknown): NetworkError {
  return new NetworkError(`Cannot ${ACTION[phase]} ${address}: ${why}`, { phase, code, cause })
}

const ACTION: Readonly<Record<Phase, string>> = {
  connect: 'connect to',
  response: 'get an answer from',
  body: 'read the answer of',
}

function explain(thrown: unknown, code: string | undefined, phase: Phase): string {
  const known = code &&
    (BY_CODE[code] ?? (/CERTIFICATE|BAD_CERT|UNKNOWN_CA/.test(code) ? CLIENT_CERTIFICATE : undefined))
  if (known) return `${known} (${code})`
  if (LOST.test(code ?? '') || phase === 'body') return `${LOST_IN[phase]} (${code ?? messageOf(thrown)})`
  // OpenSSL adds lines about its own source files to a message.
  const [line = ''] = messageOf(thrown).split('\n')
  return code && !line.includes(code) ? `${line} (${code})` : line
}

const LOST = /^(ECONNRESET|ECONNABORTED|EPIPE|ERR_SOCKET_CLOSED|ERR_STREAM_PREMATURE_CLOSE)$/

const LOST_IN: Readonly<Record<Phase, string>> = {
  connect: 'the connection was closed before it was ready; check for TLS on this port, and for a firewall',
  response: 'the connection was lost after the request was sent; the server may have processed it',
  body: 'it broke off before its end',
}

const NOT_SIGNED = 'its certificate is not signed by a CA that is trusted here'
const WRONG_CA = `${NOT_SIGNED}; check certificate-authority-data of the cluster`
const CLIENT_CERTIFICATE =
  'the server refuses the client certificate, or asks for one; check client-certificate-data of the user'
const NOT_TLS = 'the server does not speak TLS on this port; use its https port, or http:// in its address'
const UNREACHABLE = 'there is no route to it; check the network, the VPN or whether it needs a proxy-url'
const UNKNOWN_NAME = 'its name cannot be resolved; check the address of the server and the DNS'

const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused; check that the server runs and that its address and port are right',
  ENOTFOUND: UNKNOWN_NAME,
  EAI_AGAIN: UNKNOWN_NAME,
  EAI_NODATA: UNKNOWN_NAME,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ETIMEDOUT: 'no answer in time; check the network, the VPN or whether it needs a proxy-url',
  EMFILE: 'too many open files; raise the limit (ulimit -n)',
  SELF_SIGNED_CERT_IN_CHAIN: WRONG_CA,
  DEPTH_ZERO_SELF_SIGNED_CERT: WRONG_CA,
  // Deno also uses this code for an expired certificate.
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: WRONG_CA.replace(';', ', or it has expired;'),
  UNABLE_TO_GET_ISSUER_CERT: WRONG_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: WRONG_CA,
  CERT_SIGNATURE_FAILURE: WRONG_CA,
  CERT_UNTRUSTED: WRONG_CA,
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it, or check the clock of this machine',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; check the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name; set tls-server-name to one of its names',
  EPROTO: NOT_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
}
