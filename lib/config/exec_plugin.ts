/**
 * Credentials from a program, as cloud providers issue them. It is run once for all waiting requests; its credentials
 * are cached until shortly before their expiry, and fetched again after the server refused them.
 *
 * On Deno it needs `--allow-run=COMMAND`.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
import { encodeBase64 } from '../core/base64.ts'
import type { Credentials } from '../core/cluster_config.ts'
import { ConfigError, messageOf } from '../core/errors.ts'
import { untilAborted } from '../async/abort.ts'
import { printable } from '../core/printable.ts'
import type { Log } from '../observe/log.ts'
import { CommandNotFound, exec, type ExecResult } from '../runtime/os/exec.ts'
import { folderOf, resolvePath } from '../runtime/os/files.ts'
import type { Environment } from './environment.ts'
import { Fields } from './fields.ts'
import { checkToken } from './in_cluster.ts'
import { checkCertificate, checkKey } from './pem.ts'

export interface ClusterOfUser {
  readonly cluster: Fields
  readonly server: string
  readonly caText: string | undefined
}

/** Reads `users[].user.exec`. @throws ConfigError */
function readExecPlugin(exec: Fields, cluster: ExecPlugin['cluster']): ExecPlugin {
  const command = exec.text('command')
  if (command === undefined) throw exec.wrong('command', 'is missing')
  const stated = exec.text('apiVersion')
  const apiVersion = EXEC_VERSIONS.find((version) => version === stated)
  if (!apiVersion) {
    const detail = `must be ${EXEC_VERSIONS.join(' or ')}; renew the entry with a newer version of its tool`
    throw exec.wrong('apiVersion', detail)
  }
  const mode = exec.text('interactiveMode') ??
    (apiVersion === 'client.authentication.k8s.io/v1beta1' ? 'IfAvailable' : undefined)
  if (mode !== 'Never' && mode !== 'IfAvailable' && mode !== 'Always') {
    throw exec.wrong('interactiveMode', 'must be Never, IfAvailable or Always')
  }
  const env = exec.list('env').map((value, at): [string, string] => {
    const variable = new Fields(value, exec.file, exec.at(`env[${at}]`))
    const name = variable.text('name')
    if (name === undefined) throw variable.wrong('name', 'is missing')
    return [name, variable.text('value') ?? '']
  })
  return {
    at: `${exec.path} in ${exec.file}`,
    command: programOf(command, exec.file),
    args: exec.texts('args'),
    env: Object.fromEntries(env),
    apiVersion,
    interactiveMode: mode,
    installHint: exec.text('installHint'),
    cluster: exec.flag('provideClusterInfo') ? cluster : undefined,
  }
}

/** A bare name is searched in PATH; a path is relative to the kubeconfig, and stays a path. */
export function programOf(command: string, kubeconfig: string): string {
  if (!/[\\/]/.test(command)) return command
  const path = resolvePath(folderOf(kubeconfig), command)
  return /[\\/]/.test(path) ? path : `./${path}`
}

/** The back-off of a failed plugin; it doubles with each failure. */
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 30_000
/** The minimum time between two runs for refused credentials: a plugin without others is not run for each request. */
const REFUSED_MS = 10_000
/** How long a request waits for new credentials while the old ones are valid. */
const PATIENCE_MS = 2000

interface Run {
  readonly fresh: Promise<Credentials>
  /** Resolves when a request with valid credentials should wait no longer. */
  readonly waited: Promise<void>
  /** Keeps the plugin running until the signal is aborted, if there is one. */
  join(closed: AbortSignal | undefined): void
}

/** The credentials of a user's `exec` entry. */
export class ExecCredentials {
  readonly #plugin: ExecPlugin
  readonly #environment: Environment
  readonly #log: Log
  #answer: ExecAnswer | undefined
  #running: Run | undefined
  /** The failures since the last success. */
  #failed: { readonly error: unknown; readonly pauseMs: number; readonly untilMs: number } | undefined
  #refusedMs = -Infinity

  /** Does not run the plugin yet. @throws ConfigError if the entry is invalid. */
  constructor(
    exec: Fields,
    cluster: ClusterOfUser,
    { environment, log }: { readonly environment: Environment; readonly log: Log },
  ) {
    this.#plugin = readExecPlugin(exec, clusterInfo(cluster))
    this.#environment = environment
    this.#log = log
  }

  /**
   * Returns credentials. Valid ones are used until their expiry while the plugin fails or takes long. The plugin is
   * killed when the signals of all its readers are aborted; without a signal it runs to its end.
   *
   * @throws ConfigError with the reason of the plugin's failure: the same one during the back-off, so that not every
   * request starts a process.
   */
  read(closed?: AbortSignal): Promise<Credentials> {
    if (closed?.aborted) return Promise.reject(closed.reason)
    const { clock } = this.#environment
    const nowMs = clock.now()
    const answer = this.#answer
    if (answer && nowMs < answer.refreshAt) return Promise.resolve(answer.credentials)
    const isGood = answer !== undefined && nowMs < answer.expiresAt
    if (this.#failed && clock.monotonic() < this.#failed.untilMs) {
      return isGood ? Promise.resolve(answer.credentials) : Promise.reject(this.#failed.error)
    }
    const run = (this.#running ??= this.#begin())
    run.join(closed)
    const { fresh, waited } = run
    // Valid credentials stay if this fails.
    const kept = (): Credentials | Promise<Credentials> => this.#answer?.credentials ?? fresh
    return untilAborted(isGood ? Promise.race([fresh.catch(kept), waited.then(kept)]) : fresh, closed)
  }

  /** Makes the next {@link read} run the plugin, unless a refusal was reported shortly before. */
  invalidate(): void {
    const nowMs = this.#environment.clock.monotonic()
    if (nowMs - this.#refusedMs < REFUSED_MS) return
    this.#refusedMs = nowMs
    this.#answer = undefined
  }

  #begin(): Run {
    const { promise: waited, resolve } = Promise.withResolvers<void>()
    const stopTimer = this.#environment.clock.after(PATIENCE_MS, resolve)
    const stop = new AbortController()
    const readers = new Set<AbortSignal | undefined>()
    const leave = ({ target }: { readonly target: unknown }): void => {
      const closed = target as AbortSignal
      readers.delete(closed)
      if (readers.size > 0) return
      // A later reader begins another run.
      if (this.#running === run) this.#running = undefined
      stop.abort(closed.reason)
    }
    const fresh = this.#run(stop.signal).finally(() => {
      stopTimer()
      for (const closed of readers) closed?.removeEventListener('abort', leave)
      if (this.#running === run) this.#running = undefined
    })
    const join: Run['join'] = (closed) => {
      readers.add(closed)
      closed?.addEventListener('abort', leave, { once: true })
    }
    const run: Run = { fresh, waited, join }
    return run
  }

  async #run(stop: AbortSignal): Promise<Credentials> {
    const { clock } = this.#environment
    try {
      this.#answer = await this.#ask(stop)
      this.#failed = undefined
      return this.#answer.credentials
    } catch (error) {
      stop.throwIfAborted()
      const pauseMs = this.#failed ? Math.min(this.#failed.pauseMs * 2, MAX_PAUSE_MS) : FIRST_PAUSE_MS
      this.#failed = { error, pauseMs, untilMs: clock.monotonic() + pauseMs }
      if (this.#answer && clock.now() < this.#answer.expiresAt) {
        const secondsLeft = Math.round((this.#answer.expiresAt - clock.now()) / 1000)
        this.#log.warn('Cannot renew credentials, using the last ones until they expire', {
          secondsLeft,
          error: messageOf(error),
        })
      }
      throw error
    }
  }

  async #ask(stop: AbortSignal): Promise<ExecAnswer> {
    const plugin = this.#plugin
    const interactive = plugin.interactiveMode !== 'Never' && this.#environment.hasTerminal()
    const named = `plugin "${plugin.command}" (${plugin.at})`
    if (plugin.interactiveMode === 'Always' && !interactive) {
      const why = 'it needs a terminal (interactiveMode: Always), and there is none'
      throw new ConfigError(`Cannot run credential ${named}: ${why}`)
    }
    const result = await this.#exec(interactive, stop)
    if (result.code !== 0) throw new ConfigError(`Cannot get credentials from ${named}: ${failureOf(result)}`)
    return parseExecAnswer(result.stdout, plugin, this.#environment.clock.now())
  }

  async #exec(interactive: boolean, signal: AbortSignal): Promise<ExecResult> {
    const { command, args, env, at, installHint } = this.#plugin
    const variables = { ...env, KUBERNETES_EXEC_INFO: execInfo(this.#plugin, interactive) }
    try {
      // A login through a browser takes time.
      const timeoutMs = interactive ? 10 * 60_000 : 60_000
      const options = { env: variables, interactive, timeoutMs, clock: this.#environment.clock, signal }
      return await (this.#environment.exec?.(command, args, options) ?? exec(command, args, options))
    } catch (error) {
      const hint = error instanceof CommandNotFound && installHint ? `\n${printable(installHint)}` : ''
      throw new ConfigError(`Cannot get credentials of ${at}: ${messageOf(error)}${hint}`, { cause: error })
    }
  }
}

/** Its standard error goes to the user. Its standard output has the credentials. */
function failureOf({ code, stderr }: ExecResult): string {
  const said = printable(stderr.trim())
  const end = code === undefined ? 'it was killed' : `it ended with exit code ${code}`
  return said ? `${end}: ${said.length > 2000 ? `…${said.slice(-2000)}` : said}` : end
}

const EXEC_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const

type ExecVersion = (typeof EXEC_VERSIONS)[number]

interface ExecPlugin {
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
interface ExecAnswer {
  readonly credentials: Credentials
  /** Wall clock in ms; Infinity without an expiry. */
  readonly refreshAt: number
  /** The expiry of the credentials, wall clock in ms; Infinity without one. */
  readonly expiresAt: number
}

function execInfo(plugin: ExecPlugin, interactive: boolean): string {
  const spec = { interactive, ...(plugin.cluster && { cluster: plugin.cluster }) }
  return JSON.stringify({ kind: 'ExecCredential', apiVersion: plugin.apiVersion, spec })
}

/** Returns the cluster's data for a plugin with `provideClusterInfo`. */
function clusterInfo({ cluster, server, caText: ca }: ClusterOfUser): Record<string, unknown> {
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
function parseExecAnswer(output: string, plugin: ExecPlugin, now: number): ExecAnswer {
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
  const token = status.text('token')
  const credentials = {
    token: token && checkToken(token, `of credential plugin "${plugin.command}" (${plugin.at})`),
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
