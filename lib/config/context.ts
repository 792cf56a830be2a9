/** Turns a context of kubeconfigs into a cluster: server, trust, credentials. A pod, which has none, never loads it. */
import { encodeBase64 } from '../core/base64.ts'
import type { ClusterConfig, Credentials, Impersonation } from '../core/cluster_config.ts'
import { ConfigError, fileMissing, messageOf } from '../core/errors.ts'
import type { Log } from '../observe/log.ts'
import { connectionRights, parseProxy } from '../runtime/net/address.ts'
import { flagsOfRights, lacking, type Right } from '../runtime/os/env.ts'
import { folderOf, resolvePath } from '../runtime/os/files.ts'
import type { Environment } from './environment.ts'
import { type ClusterOfUser, ExecCredentials, programOf } from './exec_plugin.ts'
import type { Fields } from './fields.ts'
import { checkToken } from './in_cluster.ts'
import { type Kubeconfig, mergeKubeconfigs, parseKubeconfig } from './kubeconfig.ts'
import { checkCertificate, checkKey, decodeBase64 } from './pem.ts'
import { proxyFromEnvironment } from './proxy_env.ts'
import { RotatingFile } from './rotating_file.ts'
import { type Pair, RotatingPair, type Source } from './rotating_pair.ts'

export interface Surroundings {
  readonly environment: Environment
  readonly log: Log
}

export interface ContextCluster {
  readonly cluster: ClusterConfig
  readonly context: string
}

export interface KubeconfigText {
  readonly file: string
  readonly text: string
}

/**
 * Returns the cluster of a context of these files, merged as client-go does. Default: the current context. Reads its
 * files once, so that mistakes show now. Does not run a plugin yet.
 *
 * @throws ConfigError that names file and field, and never quotes values, which may be secrets.
 */
export async function fromKubeconfig(
  texts: readonly KubeconfigText[],
  name: string | undefined,
  around: Surroundings,
): Promise<ContextCluster> {
  const config = mergeKubeconfigs(texts.map(({ text, file }) => parseKubeconfig(text, file)))
  const { context, fields } = chooseContext(config, name)
  const cluster = entry(config.clusters, fields, 'cluster')
  if (!cluster) throw fields.wrong('cluster', 'is missing')
  const user = entry(config.users, fields, 'user')

  requireRights(cluster, user, around)
  const ca = pem(cluster, 'certificate-authority', checkCertificate, around)
  const insecure = cluster.flag('insecure-skip-tls-verify')
  if (ca && insecure) {
    throw cluster.wrong('insecure-skip-tls-verify', 'cannot be true where there is a certificate-authority: choose one')
  }
  const server = serverOf(cluster)
  const caText = await ca?.read()
  const identity = user && (await readUser(user, { cluster, server, caText }, around))
  const ownProxy = cluster.text('proxy-url')
  const userName = fields.text('user')
  const userFile = user?.file ?? fields.file
  return {
    context,
    cluster: {
      server,
      ca: ca && (() => ca.read()),
      insecure: insecure || undefined,
      serverName: cluster.text('tls-server-name'),
      proxy: ownProxy === undefined
        ? proxyFromEnvironment(server, (variable) => around.environment.optionalEnv(variable))
        : checkProxy(ownProxy, cluster),
      gzip: cluster.flag('disable-compression') ? false : undefined,
      credentials: identity && ((closed) => identity.read(closed)),
      impersonate: user && impersonation(user),
      namespace: fields.text('namespace'),
      origin: {
        identity: `${userName === undefined ? 'no user' : `user "${userName}"`} of context "${context}" in ${userFile}`,
        address: `context "${context}" in ${cluster.file}`,
        fields: Object.fromEntries([
          ...filesIn(cluster, 'certificate-authority'),
          ...(user ? filesIn(user, 'client-certificate', 'client-key') : []),
        ]),
      },
      invalidate: identity?.canChange ? () => identity.invalidate() : undefined,
      invalidateCa: ca && (() => ca.invalidate()),
    },
  }
}

/** @throws ConfigError if Deno does not permit the files or the plugin of a context: it names all that is missing. */
function requireRights(cluster: Fields, user: Fields | undefined, { environment }: Surroundings): void {
  const isFile = (fields: Fields, name: string): boolean => fields.text(`${name}-data`) === undefined
  const files = [
    ...(isFile(cluster, 'certificate-authority') ? [fileOf(cluster, 'certificate-authority')] : []),
    ...['client-certificate', 'client-key', 'tokenFile'].map((name) =>
      user && isFile(user, name) && fileOf(user, name)
    ),
  ].filter((file) => typeof file === 'string')
  const isStatic = ['token', 'tokenFile', 'username'].some((name) => user?.text(name) !== undefined)
  const plugin = isStatic ? undefined : user?.child('exec')
  const command = plugin?.text('command')
  const needed: Right[] = [
    ...files.map((path) => ({ name: 'read', path } as const)),
    ...(plugin && command ? [{ name: 'run', command: programOf(command, plugin.file) } as const] : []),
  ]
  if (!environment.lacking || environment.lacking(needed).length === 0) return
  const proxy = cluster.text('proxy-url')
  const rights = [...needed, ...connectionRights({ server: serverOf(cluster), proxy, ca: 'of the kubeconfig' })]
  const message = `Cannot use a context of ${cluster.file}: Deno needs ${flagsOfRights(lacking(rights))}`
  throw Object.assign(new ConfigError(message), { rights })
}

function chooseContext(config: Kubeconfig, name: string | undefined): { context: string; fields: Fields } {
  const files = config.files.join(', ')
  const known = [...config.contexts.keys()]
  const choices = known.length > 0 ? `it has ${known.map((context) => `"${context}"`).join(', ')}` : 'it has none'
  const context = name ?? config.currentContext
  if (context === undefined) {
    throw new ConfigError(`Cannot choose a context of kubeconfig ${files}: current-context is not set; ${choices}`)
  }
  const fields = config.contexts.get(context)
  if (!fields) {
    throw new ConfigError(
      `Cannot use context "${context}" of kubeconfig ${files}: there is no such context; ${choices}`,
    )
  }
  return { context, fields }
}

function entry(entries: ReadonlyMap<string, Fields>, context: Fields, field: 'cluster' | 'user'): Fields | undefined {
  const name = context.text(field)
  if (name === undefined) return undefined
  const found = entries.get(name)
  if (!found) throw context.wrong(field, `is "${name}", and no ${field} has this name`)
  return found
}

/** Returns the server's URL, which is https without a scheme. client-go takes http if there are no TLS settings. */
function serverOf(cluster: Fields): string {
  const stated = cluster.text('server')
  if (stated === undefined) throw cluster.wrong('server', 'is missing')
  const server = stated.includes('://') ? stated : `https://${stated}`
  if (!/^https?:\/\//.test(server) || !URL.canParse(server)) {
    throw cluster.wrong('server', 'is not a URL such as https://127.0.0.1:6443')
  }
  const { username, password } = new URL(server)
  if (username || password) throw cluster.wrong('server', "has a user: state the credentials in the user's entry")
  return server
}

function checkProxy(proxy: string, cluster: Fields): string {
  if (!/^https?:\/\//i.test(proxy) || !URL.canParse(proxy)) {
    throw cluster.wrong('proxy-url', 'must be an http:// or https:// URL; other proxies are not supported')
  }
  try {
    parseProxy(proxy)
  } catch (error) {
    throw cluster.wrong('proxy-url', `cannot be used: ${messageOf(error)}`)
  }
  return proxy
}

/** Returns a certificate or key: text in the kubeconfig, or else a file, which is read again when it rotates. */
function pem(
  fields: Fields,
  name: string,
  check: (text: string, wrong: (what: string) => Error) => string,
  around: Surroundings,
): Source<string> | undefined {
  const data = fields.text(`${name}-data`)
  if (data !== undefined) {
    const wrong = (what: string): ConfigError => fields.wrong(`${name}-data`, what)
    const text = check(decodeBase64(data, wrong), wrong)
    return constant(text)
  }
  return rotating(
    fields,
    name,
    around,
    (text, file) => check(text, (problem) => fields.wrong(name, `(${file}) ${problem}`)),
  )
}

function constant(text: string): Source<string> {
  return { read: () => Promise.resolve(text), invalidate() {} }
}

function rotating(
  fields: Fields,
  name: string,
  around: Surroundings,
  parse: (text: string, file: string) => string,
): RotatingFile | undefined {
  const file = fileOf(fields, name)
  const what = `${fields.at(name)} of ${fields.file}:`
  return file === undefined
    ? undefined
    : new RotatingFile({ ...around, file, what, parse: (text) => parse(text, file) })
}

/** Maps `NAME-data` to `NAME` for those of these fields that name a file. */
function filesIn(fields: Fields, ...names: readonly string[]): (readonly [string, string])[] {
  const isFile = (name: string): boolean => fields.text(`${name}-data`) === undefined && fields.text(name) !== undefined
  return names.filter(isFile).map((name) => [`${name}-data`, name])
}

/** Resolves a path of a kubeconfig, relative to the kubeconfig's folder. */
function fileOf(fields: Fields, name: string): string | undefined {
  const file = fields.text(name)
  return file === undefined ? undefined : resolvePath(folderOf(fields.file), file)
}

/** The credentials of a user. After a 401 they are read again only if they can change. */
interface Identity extends Source<Credentials> {
  readonly canChange: boolean
}

/** Returns what a user's entry has: a token before a password, and both before a plugin. */
async function readUser(user: Fields, of: ClusterOfUser, around: Surroundings): Promise<Identity | undefined> {
  const { environment, log } = around
  const cert = pem(user, 'client-certificate', checkCertificate, around)
  const key = pem(user, 'client-key', checkKey, around)
  if (cert && !key) throw user.wrong('client-key-data', 'is missing: a client certificate needs its key')
  if (key && !cert) throw user.wrong('client-certificate-data', 'is missing: a client key needs its certificate')
  const pair: Source<Pair> | undefined = cert && key
    ? new RotatingPair({ cert, key, clock: environment.clock, log, at: `${user.path} in ${user.file}` })
    : undefined

  const stated = user.text('token')
  const fixed = stated === undefined ? undefined : constant(checkToken(stated, `${user.at('token')} of ${user.file}`))
  const token: Source<string> | undefined = rotating(user, 'tokenFile', around, checkToken) ?? fixed

  const basic = basicHeaders(user)
  const execFields = user.child('exec')
  const provider = user.child('auth-provider')
  const dynamic: Source<Credentials> | undefined = token || basic
    ? undefined
    : execFields
    ? new ExecCredentials(execFields, of, around)
    : provider && (await legacyProvider(provider, of.server))

  if (!pair && !token && !basic && !dynamic) return undefined
  // A plugin is run at the first request: it may open a browser.
  await Promise.all([pair?.read(), token?.read()])
  return {
    canChange: dynamic !== undefined || [cert, key, token].some((source) => source instanceof RotatingFile),
    async read(closed) {
      const [own, tokenText, answer] = await Promise.all([pair?.read(), token?.read(), dynamic?.read(closed)])
      const { cert, key } = answer?.cert === undefined ? (own ?? { cert: undefined, key: undefined }) : answer
      return { token: tokenText ?? answer?.token, headers: basic ?? answer?.headers, cert, key }
    },
    invalidate() {
      for (const source of [pair, token, dynamic]) source?.invalidate()
    },
  }
}

function basicHeaders(user: Fields): Record<string, string> | undefined {
  const [name, password] = [user.text('username'), user.text('password')]
  if (name === undefined || user.text('token') !== undefined || user.text('tokenFile') !== undefined) return undefined
  return { authorization: `Basic ${encodeBase64(`${name}:${password ?? ''}`)}` }
}

async function legacyProvider(provider: Fields, server: string): Promise<Source<Credentials>> {
  const name = provider.text('name')
  if (name === undefined) throw provider.wrong('name', 'is missing')
  const at = `${provider.path} in ${provider.file}`
  const action = `sign in by auth-provider "${name}" (${at})`
  const { fromAuthProvider } = await import('./client_node.ts')
    .catch(fileMissing(action, 'client-node.js', undefined, ', or use an exec plugin'))
  const { credentials, invalidate } = await fromAuthProvider({ name, config: provider.raw('config') }, { server, at })
  return { read: () => credentials!(), invalidate: () => invalidate!() }
}

function impersonation(user: Fields): Impersonation | undefined {
  const [name, uid, groups] = [user.text('as'), user.text('as-uid'), user.texts('as-groups')]
  const extra = user.child('as-user-extra')
  if (name === undefined) {
    if (uid !== undefined || groups.length > 0 || extra) {
      throw user.wrong('as', 'is missing: as-uid, as-groups and as-user-extra need it')
    }
    return undefined
  }
  const extras = extra && Object.fromEntries(extra.keys().map((key) => [key, extra.texts(key)]))
  return { user: name, uid, groups, extra: extras }
}
