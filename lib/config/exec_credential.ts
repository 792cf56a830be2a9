/**
 * The protocol of credential plugins: input, output and lifetime. Pure.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
import { encodeBase64 } from '../core/base64.ts'
import type { Credentials } from '../core/cluster_config.ts'
import { ConfigError } from '../core/errors.ts'
import { Fields } from './fields.ts'
import { checkCertificate, checkKey } from './pem.ts'

export const EXEC_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const

type ExecVersion = (typeof EXEC_VERSIONS)[number]

/** A plugin's entry in a kubeconfig. */
export interface ExecPlugin {
  /** The user's entry and the file, for messages. */
  readonly at: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly apiVersion: ExecVersion
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always'
  readonly installHint: string | undefined
  /** The cluster's data for the plugin, if it asked for that. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined
}

/** A plugin's answer, and when to run it again. */
export interface ExecAnswer {
  readonly credentials: Credentials
  /** Wall clock in ms; Infinity without an expiry. */
  readonly refreshAt: number
  /** The expiry of the credentials, wall clock in ms; Infinity without one. */
  readonly expiresAt: number
}

/** Returns the value of KUBERNETES_EXEC_INFO. */
export function execInfo(plugin: ExecPlugin, interactive: boolean): string {
  const spec = { interactive, ...(plugin.cluster && { cluster: plugin.cluster }) }
  return JSON.stringify({ kind: 'ExecCredential', apiVersion: plugin.apiVersion, spec })
}

/** Returns the cluster's data for a plugin with `provideClusterInfo`. */
export function clusterInfo(cluster: Fields, server: string, ca: string | undefined): Record<string, unknown> {
  const info = {
    server,
    'tls-server-name': cluster.text('tls-server-name'),
    'insecure-skip-tls-verify': cluster.flag('insecure-skip-tls-verify') || undefined,
    'certificate-authority-data': ca === undefined ? undefined : encodeBase64(ca),
    'proxy-url': cluster.text('proxy-url'),
    'disable-compression': cluster.flag('disable-compression') || undefined,
    config: execExtension(cluster),
  }
  return Object.fromEntries(Object.entries(info).filter(([, value]) => value !== undefined))
}

/** The cluster entry's extension for plugins. */
function execExtension(cluster: Fields): unknown {
  const named = cluster.list('extensions').map((value, at) =>
    new Fields(value, cluster.file, cluster.at(`extensions[${at}]`))
  )
  return named.find((extension) => extension.text('name') === 'client.authentication.k8s.io/exec')?.raw('extension')
}

/** A credential is renewed this long before its expiry: a request takes time, and clocks differ. */
const SKEW_MS = 60_000
/** The minimum time that credentials are used, whatever their expiry: the server decides whether they are too old. */
const MIN_KEPT_MS = 1000

/**
 * Reads a plugin's output.
 *
 * @throws ConfigError that says what is missing. Neither message nor cause contains the output, which has the token.
 */
export function parseExecAnswer(output: string, plugin: ExecPlugin, now: number): ExecAnswer {
  const wrong = (what: string): ConfigError =>
    new ConfigError(`Cannot use the output of credential plugin "${plugin.command}" (${plugin.at}): ${what}`)
  let document: Fields
  try {
    document = new Fields(JSON.parse(output), `the output of credential plugin "${plugin.command}"`, '')
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw wrong(output.trim() === '' ? 'it printed nothing' : 'it is not JSON')
  }
  if (document.text('kind') !== 'ExecCredential') throw wrong('its kind is not ExecCredential')
  if (document.text('apiVersion') !== plugin.apiVersion) {
    throw wrong(`its apiVersion is not ${plugin.apiVersion}, as the kubeconfig asks for`)
  }
  const status = document.child('status')
  if (!status) throw wrong('it has no status')
  const credentials = {
    token: status.text('token'),
    cert: status.text('clientCertificateData'),
    key: status.text('clientKeyData'),
  }
  if (credentials.token === undefined && credentials.cert === undefined) {
    throw wrong('its status has neither a token nor a client certificate')
  }
  if ((credentials.cert === undefined) !== (credentials.key === undefined)) {
    throw wrong('clientCertificateData and clientKeyData come together')
  }
  if (credentials.cert !== undefined) {
    checkCertificate(credentials.cert, (what) => wrong(`clientCertificateData ${what}`))
  }
  if (credentials.key !== undefined) checkKey(credentials.key, (what) => wrong(`clientKeyData ${what}`))
  const expiry = status.text('expirationTimestamp')
  const expiresAt = expiry === undefined ? Infinity : Date.parse(expiry)
  if (Number.isNaN(expiresAt)) throw wrong('expirationTimestamp is not a time in RFC 3339')
  // A credential that lives for a minute, or has expired by our clock alone, must not be fetched for every request.
  const refreshAt = Math.max(expiresAt - Math.min(SKEW_MS, (expiresAt - now) / 5), now + MIN_KEPT_MS)
  return { credentials, refreshAt, expiresAt }
}
