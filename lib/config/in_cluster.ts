/**
 * The cluster of this pod, by its service account. Token and CA are read again about once a minute, after a 401, and
 * when the server's certificate is signed by another CA.
 *
 * On Deno: `--allow-env=KUBERNETES_SERVICE_HOST,KUBERNETES_SERVICE_PORT` and
 * `--allow-read=/var/run/secrets/kubernetes.io/serviceaccount`.
 */
import type { ClusterConfig } from '../core/cluster_config.ts'
import { ConfigError, fileMissing } from '../core/errors.ts'
import type { Log } from '../observe/log.ts'
import { isMissing } from '../runtime/os/files.ts'
import { type Environment, variable } from './environment.ts'
import { checkCertificate } from './pem.ts'
import { readFailure, RotatingFile } from './rotating_file.ts'

export const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The cluster, or why this process has no service account. */
export type InCluster = { readonly cluster: ClusterConfig } | { readonly missing: string }

/** @throws ConfigError if this is a pod whose service account cannot be read. */
export async function inCluster(environment: Environment, log: Log): Promise<InCluster> {
  const host = variable(environment, 'KUBERNETES_SERVICE_HOST')
  if (!host) return { missing: 'KUBERNETES_SERVICE_HOST is not set' }
  const port = variable(environment, 'KUBERNETES_SERVICE_PORT')
  if (!port) return { missing: 'KUBERNETES_SERVICE_PORT is not set' }

  const rotating = (name: string, parse: (text: string) => string): RotatingFile =>
    new RotatingFile({ environment, log, file: `${SERVICE_ACCOUNT}/${name}`, what: `service account ${name}`, parse })
  const wrong = (what: string): ConfigError => new ConfigError(`Cannot use ${SERVICE_ACCOUNT}/ca.crt: it ${what}`)
  const token = rotating('token', (text) => checkToken(text, `${SERVICE_ACCOUNT}/token`))
  const ca = rotating('ca.crt', (text) => checkCertificate(text, wrong))
  try {
    await token.read()
  } catch (error) {
    if (error instanceof ConfigError && isMissing(error.cause)) {
      return { missing: `${SERVICE_ACCOUNT}/token does not exist (automountServiceAccountToken: false?)` }
    }
    throw error
  }
  const [namespace] = await Promise.all([readNamespace(environment), ca.read()])
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
  return {
    cluster: {
      server,
      proxy: await proxyOf(server, environment),
      ca: () => ca.read(),
      token: () => token.read(),
      namespace,
      origin: {
        identity: `the token in ${SERVICE_ACCOUNT}`,
        address: 'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT',
        fields: { 'certificate-authority-data of the cluster': `${SERVICE_ACCOUNT}/ca.crt` },
      },
      invalidate() {
        token.invalidate()
        ca.invalidate()
      },
      invalidateCa: () => ca.invalidate(),
    },
  }
}

/** Returns the token of a file, without the line end. @throws ConfigError if it is empty or invalid. */
export function checkToken(text: string, file: string): string {
  const token = text.trim()
  if (token === '') throw new ConfigError(`Cannot use token ${file}: it is empty`)
  if (/[^\x21-\x7e]/.test(token)) throw new ConfigError(`Cannot use token ${file}: it has characters that no token has`)
  return token
}

/** The rules for proxies are loaded only if there is one. */
async function proxyOf(server: string, environment: Environment): Promise<string | undefined> {
  if (!['HTTPS_PROXY', 'https_proxy'].some((name) => environment.optionalEnv(name))) return undefined
  const { proxyFromEnvironment } = await import('./proxy_env.ts').catch(fileMissing('use a proxy', 'proxy.js'))
  return proxyFromEnvironment(server, (name) => environment.optionalEnv(name))
}

async function readNamespace(environment: Environment): Promise<string | undefined> {
  const file = `${SERVICE_ACCOUNT}/namespace`
  try {
    return (await environment.readText(file)).trim() || undefined
  } catch (error) {
    if (isMissing(error)) return undefined
    throw readFailure(file, 'service account namespace', error)
  }
}
