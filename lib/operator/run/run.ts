/** Runs an operator as a process: signals, logging, one line per failure and an exit code. */
import { ApiError, ConfigError, fileMissing, LeadershipLost, messageOf, NetworkError } from '../../core/errors.ts'
import { abortScope } from '../../async/abort.ts'
import { systemClock } from '../../async/clock.ts'
import { formatJson } from '../../observe/format_log.ts'
import { levelOf, type Log, LOG_LEVELS, type LogLevel, silentLog } from '../../observe/log.ts'
import { userFrames } from '../../observe/stack.ts'
import { loadConfig } from '../../config/load.ts'
import type { ClusterConfig } from '../../core/cluster_config.ts'
import { optionalEnv, unreadable } from '../../runtime/os/env.ts'
import { isMain, programArguments, thisRuntime } from '../../runtime/os/this_runtime.ts'
import { exitProcess, onSignals, onUnawaited } from '../../runtime/os/signals.ts'
import { isTerminal, writeLogLine } from '../../runtime/os/terminal.ts'
import { httpTransport } from '../../runtime/net/transport.ts'
import { findCluster } from '../clusters.ts'
import { checkDescription } from '../description/checks.ts'
import type { OperatorDescription } from '../description/description.ts'
import { type DevHook, devHook, type DevStart } from './tool_hooks.ts'
import type { ClusterFlags } from './flags.ts'
import { ownLog } from './own_log.ts'
import { startOperator, type StartOptions } from './start.ts'

const LEVEL = 'KUBELOOP_LOG'
const DEFAULT_LEVEL: LogLevel = 'info'

/** The time limit of a stop under `kubeloop dev`, as the restart waits for it. */
const DEV_STOP_MS = 1000

export async function runOperator(description: OperatorDescription, module: ImportMeta | undefined): Promise<void> {
  if (module && !isMain(module)) return
  const dev = devHook()
  dev?.operatorRuns()
  const { options } = description
  const pretty = !options.log && (dev?.pretty ?? isTerminal())
  const log = ownLog(options) ?? (pretty ? await terminalLog() : processLog())
  const scope = abortScope()
  const release = onSignals(['SIGINT', 'SIGTERM'], (signal, count) => {
    scope.abort(new DOMException(`${signal} was received`, 'AbortError'))
    if (dev) {
      // The terminal and the runtime's watcher both send a signal, so a second one does not force the end.
      if (count === 1) systemClock.after(DEV_STOP_MS, () => exitProcess(1))
      return
    }
    // A second signal forces the end.
    if (count > 1) {
      log.warn(`${signal}: exiting now, which aborts running work`)
      return exitProcess(1)
    }
    log.info(`${signal}: stopping; a second signal exits at once`)
  })
  // A missing `await` in one reconcile must not end the others, but its failure must be visible.
  const stopListening = dev
    ? undefined
    : onUnawaited((error) =>
      log.error(`A promise was rejected and not awaited; is an await missing? ${messageOf(error)}`, { error })
    )
  const ignored = unreadable([...(options.log ? [] : [LEVEL]), 'HTTPS_PROXY', 'NO_PROXY'])
  if (ignored.length > 0 && !dev) {
    log.info(`Ignoring ${ignored.join(', ')}, which may be unset: Deno needs --allow-env=${ignored.join(',')}`)
  }
  let [failed, isChecked] = [false, false]
  let started: DevStart | undefined
  try {
    checkDescription(description)
    isChecked = true
    started = dev && (await prepareDev(dev, description, log))
    const flags = dev ? {} : await flagsOf(programArguments())
    const cluster = dev ? {} : await clusterFor(description, flags, log)
    await startOperator(description, scope.signal, { log, ...cluster, ...started?.options })
    if (!dev) log.info(`Operator "${options.name}" has stopped`)
  } catch (error) {
    failed = true
    started?.flush()
    // The manager logged it at once, before what it caused; the last line has the cause of the end in any case.
    if (error instanceof LeadershipLost) log.error(`Operator "${options.name}" has ended: ${messageOf(error)}`)
    else {
      // An error of the description has its place in the message; its stack only leads to this call.
      const isPlain = !isChecked || isFromOutside(error)
      log.error(messageOf(error), isPlain ? {} : { error })
    }
  }
  stopListening?.()
  if (failed && dev && !scope.signal.aborted) {
    release()
    await dev.waitForChange()
  }
  // The signal listeners stay: by default, a late repeat would end the process with another code.
  exitProcess(failed ? 1 : 0)
}

async function prepareDev(hook: DevHook, description: OperatorDescription, log: Log): Promise<DevStart> {
  const { cluster } = await loadConfig({ log })
  const connection = httpTransport(cluster, { clock: systemClock, log: silentLog, userAgent: 'kubeloop dev' })
  return await hook.prepare({ description, cluster, connection, log })
}

/** Whether an error comes from outside, so that our stack would not help. */
function isFromOutside(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof NetworkError || error instanceof ApiError
}

/** The parser is loaded only for a program with arguments: a pod seldom has any. */
async function flagsOf(args: readonly string[]): Promise<ClusterFlags> {
  if (args.length === 0) return {}
  const { clusterFlags } = await import('./flags.ts').catch(fileMissing('read the arguments', 'flags.js'))
  return clusterFlags(args)
}

/** Finds the cluster that the flags name; on Deno always, to name all missing permissions in one message. */
async function clusterFor(description: OperatorDescription, flags: ClusterFlags, log: Log): Promise<StartOptions> {
  // Without the file, each missing permission is named when it is needed.
  const permissions = thisRuntime().name === 'deno' && (await import('./permissions.ts').catch(() => undefined))
  const find = (): Promise<ClusterConfig> => findCluster(log, flags)
  if (!permissions) return Object.keys(flags).length > 0 ? { cluster: await find() } : {}
  const cluster = await permissions.findPermitted(description, flags, find)
  return cluster ? { cluster } : {}
}

type TerminalLog = typeof import('./terminal_log.ts')

/** Returns a log of lines for a person; of JSON, with a warning, if the file that formats them is missing. */
async function terminalLog(): Promise<Log> {
  try {
    return processLog(await import('./terminal_log.ts').catch(fileMissing('write for a terminal', 'terminal.js')))
  } catch (error) {
    const log = processLog()
    log.warn(messageOf(error))
    return log
  }
}

/** Returns a log to standard output, as lines for a person or as JSON. */
function processLog(terminal?: TerminalLog): Log {
  const stated = optionalEnv(LEVEL)
  const named = stated === undefined ? DEFAULT_LEVEL : levelOf(stated)
  const log = logFrom(named ?? DEFAULT_LEVEL, terminal)
  if (!named) {
    log.warn(`Cannot use ${LEVEL}="${stated}": the levels are ${LOG_LEVELS.join(', ')}; "${DEFAULT_LEVEL}" is used`)
  }
  return log
}

function logFrom(lowest: LogLevel, terminal: TerminalLog | undefined): Log {
  const at = (level: LogLevel): Log['info'] => (message, fields = {}) => {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(lowest)) return
    const line = { level, message, fields, timeMs: systemClock.now() }
    writeLogLine((terminal?.formatPretty ?? formatJson)(line))
    const place = terminal?.placeOfError(fields['error'], userFrames)
    if (place) writeLogLine(terminal!.placeLine(place))
  }
  const lines = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { ...lines, level: lowest, withLevel: (level) => logFrom(level, terminal) }
}
