/** An operator as a process: signals, logging, one line and an exit code. */
import { ApiError, ConfigError, LeadershipLost, messageOf, NetworkError } from '../core/errors.ts'
import { abortScope } from '../async/abort.ts'
import { systemClock } from '../async/clock.ts'
import { formatJson, formatPretty } from '../observe/format_log.ts'
import { levelOf, type Log, LOG_LEVELS, type LogLevel, silentLog } from '../observe/log.ts'
import { placeOfError } from '../observe/stack.ts'
import { loadConfig } from '../config/load.ts'
import { optionalEnv } from '../runtime/os/env.ts'
import { isMain, programArguments } from '../runtime/os/this_runtime.ts'
import { exitProcess, onSignals, onUnawaited } from '../runtime/os/signals.ts'
import { isTerminal, placeLine, writeLogLine } from '../runtime/os/terminal.ts'
import { httpTransport } from '../runtime/net/transport.ts'
import { findCluster } from './clusters.ts'
import { checkDescription, type OperatorDescription } from './description.ts'
import { type DevHook, devHook, type DevStart } from './dev_hook.ts'
import { clusterFlags } from './flags.ts'
import { ownLog } from './own_log.ts'
import { startOperator } from './start.ts'

const LEVEL = 'KUBELOOP_LOG'
const DEFAULT_LEVEL: LogLevel = 'info'

/** How long an operator under `kubeloop dev` may take to stop: whoever changed a file waits for it. */
const DEV_STOP_MS = 1000

export async function runOperator(description: OperatorDescription, module: ImportMeta | undefined): Promise<void> {
  if (module && !isMain(module)) return
  const dev = devHook()
  dev?.operatorRuns()
  const { options } = description
  const pretty = !options.log && (dev?.pretty ?? isTerminal())
  const log = ownLog(options) ?? processLog(pretty)
  const scope = abortScope()
  const release = onSignals(['SIGINT', 'SIGTERM'], (signal, count) => {
    scope.abort(new DOMException(`${signal} was received`, 'AbortError'))
    if (dev) {
      // The terminal and the runtime's watcher both tell us: a second signal is no second wish.
      if (count === 1) systemClock.after(DEV_STOP_MS, () => exitProcess(1))
      return
    }
    // Whoever asks twice does not want to wait.
    if (count > 1) {
      log.warn(`${signal}: ending at once; what still runs is cut off`)
      return exitProcess(1)
    }
    log.info(`${signal}: stopping; once more ends the process at once`)
  })
  // One call without `await` in one reconcile must not end all the others; its failure is still a mistake to be seen.
  const stopListening = dev
    ? undefined
    : onUnawaited((error) =>
      log.error(`A promise was rejected and nobody awaited it, is an await missing? ${messageOf(error)}`, { error })
    )
  let [failed, isChecked] = [false, false]
  let started: DevStart | undefined
  try {
    checkDescription(description)
    isChecked = true
    started = dev && (await prepareDev(dev, description, log))
    const flags = dev ? {} : clusterFlags(programArguments())
    const cluster = Object.keys(flags).length > 0 ? { cluster: await findCluster(log, flags) } : {}
    await startOperator(description, scope.signal, { log, ...cluster, ...started?.options })
    if (!dev) log.info(`Operator "${options.name}" has stopped`)
  } catch (error) {
    failed = true
    started?.flush()
    // The manager has logged it already, before what it stopped.
    if (!(error instanceof LeadershipLost)) {
      // An error of the description has its place in the message. Its stack leads to this call.
      const isSaid = !isChecked || saysItAll(error)
      log.error(messageOf(error), isSaid ? {} : { error })
    }
  }
  stopListening?.()
  if (failed && dev && !scope.signal.aborted) {
    release()
    await dev.waitForChange()
  }
  // Signals are still listened to: a late repeat must not end the process by the runtime's default, with another code.
  exitProcess(failed ? 1 : 0)
}

async function prepareDev(hook: DevHook, description: OperatorDescription, log: Log): Promise<DevStart> {
  const { cluster } = await loadConfig({ log })
  const connection = httpTransport(cluster, { clock: systemClock, log: silentLog, userAgent: 'kubeloop dev' })
  return await hook.prepare({ description, cluster, connection, log })
}

/** Whether an error's message is all that helps: it comes from outside, and our stack would only bury it. */
function saysItAll(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof NetworkError || error instanceof ApiError
}

/** Lines on standard output, or JSON where nobody looks on. */
function processLog(pretty: boolean): Log {
  const stated = optionalEnv(LEVEL)
  const named = stated === undefined ? DEFAULT_LEVEL : levelOf(stated)
  const minLevel = LOG_LEVELS.indexOf(named ?? DEFAULT_LEVEL)
  const at = (level: LogLevel): Log['info'] => (message, fields = {}) => {
    if (LOG_LEVELS.indexOf(level) < minLevel) return
    const line = { level, message, fields, timeMs: systemClock.now() }
    writeLogLine(pretty ? formatPretty(line) : formatJson(line))
    const place = pretty ? placeOfError(fields['error']) : undefined
    if (place) writeLogLine(placeLine(place))
  }
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  if (!named) {
    log.warn(`Cannot use ${LEVEL}="${stated}": the levels are ${LOG_LEVELS.join(', ')}; "${DEFAULT_LEVEL}" is used`)
  }
  return log
}
