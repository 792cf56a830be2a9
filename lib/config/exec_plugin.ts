/**
 * Credentials from a program, as cloud providers hand them out: run once for all who wait, kept until shortly before they
 * expire, fetched anew after the server refused them.
 *
 * On Deno it needs `--allow-run=COMMAND`.
 */
import type { Credentials } from '../core/cluster_config.ts'
import { ConfigError } from '../core/errors.ts'
import { CommandNotFound, type ExecResult } from '../runtime/exec.ts'
import { folderOf, resolvePath } from '../runtime/files.ts'
import type { Environment } from './environment.ts'
import { EXEC_VERSIONS, type ExecAnswer, execInfo, type ExecPlugin, parseExecAnswer } from './exec_credential.ts'
import { Fields } from './fields.ts'

/** Reads `users[].user.exec`. @throws ConfigError */
export function readExecPlugin(exec: Fields, cluster: ExecPlugin['cluster']): ExecPlugin {
  const command = exec.text('command')
  if (command === undefined) throw exec.wrong('command', 'is missing')
  const stated = exec.text('apiVersion')
  const apiVersion = EXEC_VERSIONS.find((version) => version === stated)
  if (!apiVersion) throw exec.wrong('apiVersion', `must be ${EXEC_VERSIONS.join(' or ')}; renew the entry with a newer version of its tool`)
  const mode = exec.text('interactiveMode') ?? (apiVersion === 'client.authentication.k8s.io/v1beta1' ? 'IfAvailable' : undefined)
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
    // A bare name is looked up in PATH; anything with a slash is a file, as seen from the kubeconfig.
    command: /[\\/]/.test(command) ? resolvePath(folderOf(exec.file), command) : command,
    args: exec.texts('args'),
    env: Object.fromEntries(env),
    apiVersion,
    interactiveMode: mode,
    installHint: exec.text('installHint'),
    cluster: exec.flag('provideClusterInfo') ? cluster : undefined,
  }
}

/** The credentials of one plugin. */
export class ExecCredentials {
  readonly #plugin: ExecPlugin
  readonly #environment: Environment
  #answer: ExecAnswer | undefined
  #running: Promise<Credentials> | undefined

  constructor(plugin: ExecPlugin, environment: Environment) {
    this.#plugin = plugin
    this.#environment = environment
  }

  /** @throws ConfigError that says why the plugin gave none. */
  read(): Promise<Credentials> {
    const { clock } = this.#environment
    if (this.#answer && (this.#answer.refreshAt === undefined || clock.now() < this.#answer.refreshAt)) {
      return Promise.resolve(this.#answer.credentials)
    }
    this.#running ??= this.#run().finally(() => (this.#running = undefined))
    return this.#running
  }

  /** The next {@link read} runs the plugin again. */
  invalidate(): void {
    this.#answer = undefined
  }

  async #run(): Promise<Credentials> {
    const { clock } = this.#environment
    const plugin = this.#plugin
    const interactive = plugin.interactiveMode !== 'Never' && this.#environment.hasTerminal()
    if (plugin.interactiveMode === 'Always' && !interactive) {
      throw new ConfigError(
        `Cannot run credential plugin "${plugin.command}" (${plugin.at}): it needs a terminal (interactiveMode: Always), and there is none`,
      )
    }
    const result = await this.#exec(interactive)
    if (result.code !== 0) {
      throw new ConfigError(`Cannot get credentials from plugin "${plugin.command}" (${plugin.at}): ${failureOf(result)}`)
    }
    this.#answer = parseExecAnswer(result.stdout, plugin, clock.now())
    return this.#answer.credentials
  }

  async #exec(interactive: boolean): Promise<ExecResult> {
    const { command, args, env, at, installHint } = this.#plugin
    const variables = { ...env, KUBERNETES_EXEC_INFO: execInfo(this.#plugin, interactive) }
    try {
      // Somebody who logs in through a browser takes his time.
      const timeoutMs = interactive ? 10 * 60_000 : 60_000
      return await this.#environment.exec(command, args, { env: variables, interactive, timeoutMs, clock: this.#environment.clock })
    } catch (error) {
      const hint = error instanceof CommandNotFound && installHint ? `\n${installHint}` : ''
      const why = error instanceof Error ? error.message : String(error)
      throw new ConfigError(`Cannot get credentials of ${at}: ${why}${hint}`, { cause: error })
    }
  }
}

/** Its error output is for people. Its output is for us alone. */
function failureOf({ code, stderr }: ExecResult): string {
  const said = stderr.trim()
  const end = code === undefined ? 'it was killed' : `it ended with exit code ${code}`
  return said ? `${end}: ${said.length > 2000 ? `…${said.slice(-2000)}` : said}` : end
}
