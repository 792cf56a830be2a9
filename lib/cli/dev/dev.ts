/**
 * `kubeloop dev`: serves the embedded API, and runs the operator in a process that restarts when its files are saved.
 */
import { type Api, Cluster } from 'kubeloop'
import { type AbortScope, abortScope } from '../../async/abort.ts'
import { sleep, systemClock } from '../../async/clock.ts'
import { silentLog } from '../../observe/log.ts'
import type { SessionRequest } from './session.ts'
import { freePort } from '../../runtime/net/loopback.ts'
import { exists } from '../../runtime/os/files.ts'
import { onSignals } from '../../runtime/os/signals.ts'
import { isTerminal, writeLine } from '../../runtime/os/terminal.ts'
import { optionalEnv } from '../../runtime/os/env.ts'
import { onOutputClosed, parentPid } from '../../runtime/os/this_runtime.ts'
import { absolutePath, pathOfUrl, urlOfPath } from '../../runtime/os/user_files.ts'
import { ManifestApplier, watchManifests } from './apply.ts'
import type { DevOptions } from '../arguments.ts'
import { claimDevFolder, type DevFolder, FOLDER, kubeconfigIn } from './folder.ts'
import { contextOf, startEmbeddedApi } from './embedded_api.ts'
import { type DevEvent, jsonLine, prettyLines } from './events.ts'
import { findRuntime, type FoundRuntime } from '../runtimes.ts'
import type { Manifest } from '../manifests.ts'
import { OperatorRunner } from './operator_runner.ts'
import { SessionHost } from './session_host.ts'
import { packageVersion } from '../package_files.ts'

/** A second signal within this time is the same Ctrl-C, once from the terminal and once from npm. */
const SAME_SIGNAL_MS = 500

export interface DevRun {
  readonly options: DevOptions
  readonly manifests: readonly Manifest[]
  /** The file's name in output. */
  readonly title: string
  /** The parent process at the start of the command: it may end while modules are loaded. */
  readonly parent: number
  /** The folder of the API's state and kubeconfig. Default: `.kubeloop`. */
  readonly folder?: string
  /** Deno's configuration file, unless it finds one by the folder. */
  readonly denoConfig?: string
}

/**
 * Runs until a signal stops it, or standard output is closed.
 *
 * @throws Error if it cannot start.
 */
export async function dev(run: DevRun): Promise<void> {
  const { options, title } = run
  const scope = abortScope()
  onOutputClosed(() => stopOnClosedOutput(scope))
  const pretty = !options.json && isTerminal()
  const report = (event: DevEvent): void => {
    if (pretty) prettyLines(event).forEach(writeLine)
    else writeLine(jsonLine(event, systemClock.now()))
  }
  if (!(await exists(options.file))) throw new Error(`Cannot run ${title}: there is no such file`)
  const runtime = await findRuntime(options.runtime, title)
  const folder = await claimDevFolder(run.folder ?? FOLDER)
  try {
    report({
      kind: 'started',
      version: await packageVersion(),
      runtime: runtime.name,
      runtimeVersion: runtime.version,
      file: title,
    })
    await runWith(run, { runtime, folder, scope, pretty, report })
  } finally {
    await folder.release()
  }
  report({ kind: 'stopped' })
}

interface DevContext {
  readonly runtime: FoundRuntime
  readonly folder: DevFolder
  /** Aborted when the command must stop. */
  readonly scope: AbortScope
  readonly pretty: boolean
  readonly report: (event: DevEvent) => void
}

async function runWith(run: DevRun, { runtime, folder, scope, pretty, report }: DevContext): Promise<void> {
  const { options, manifests, title, denoConfig } = run
  const path = run.folder ?? FOLDER
  const kubeconfig = kubeconfigIn(path)
  const { port, fresh, elect, passed } = options
  const file = absolutePath(options.file)
  const sessions = new SessionHost({
    clock: systemClock,
    changed: () => runner.changed,
    prepare: ({ clusters }) => api.setClusters(clusters.map(({ name }) => name)),
    onStart,
  })
  const api = await startEmbeddedApi({
    folder: path,
    port,
    fresh,
    sessions,
    clock: systemClock,
    log: silentLog,
    report,
  })
  const apiOf = (cluster: string | undefined): Api | undefined => {
    const transport = api.transportOf(cluster)
    return transport && new Cluster({ name: 'kubeloop-dev', transport }).api
  }
  const applier = new ManifestApplier(manifests, { apiOf, clock: systemClock, report })
  const runner = new OperatorRunner({
    runtime,
    file,
    title,
    pretty,
    elect,
    passed,
    denoConfig,
    report,
    clock: systemClock,
    preload: await preloadOf(runtime),
    kubeconfig: absolutePath(kubeconfig),
    authority: api.authority,
    webhookPort: await freePort(),
    onPids: (pids) => folder.guard(pids),
    onOutputClosed: () => stopOnClosedOutput(scope),
  })
  const release = stopOnSignals(scope, () => runner.kill())
  void stopWithNpm(scope, run.parent)
  let applying: Promise<void> = Promise.resolve()
  const suggested = new Set<string | undefined>()
  function onStart({ kinds, clusters, pid }: SessionRequest, _start: number, installed: Promise<void>): void {
    runner.operatorIs(pid)
    for (const { name, kinds: [first] } of [{ name: undefined, kinds }, ...clusters]) {
      if (suggested.has(name)) continue
      suggested.add(name)
      const context = name === undefined ? '' : ` --context ${contextOf(name)}`
      report({
        kind: 'try',
        command: `kubectl --kubeconfig ${kubeconfig}${context} get ${first?.split('/').at(-1) ?? 'namespaces'} -w`,
        ...(name && { cluster: name }),
      })
    }
    // Webhooks must see the objects.
    applying = installed.then(() => applier.apply(scope.signal))
  }
  const watching = watchManifests({
    apply: options.apply,
    clock: systemClock,
    onSaved(saved) {
      applying = applier.reapply(saved, { started: sessions.starts > 0 }, scope.signal)
    },
    onProblem: (message) => report({ kind: 'problem', message }),
  }, scope.signal)
  watching.catch((error: unknown) => scope.abort(error))
  try {
    await runner.run(scope.signal)
    await watching
    await applying
  } finally {
    release()
    scope.abort()
    await api.close()
  }
}

function stopOnClosedOutput(scope: AbortScope): void {
  scope.abort(new DOMException('Standard output is closed', 'AbortError'))
}

/** The first signal stops the command, a later one kills the operator. */
function stopOnSignals(scope: AbortScope, kill: () => void): () => void {
  let first: number | undefined
  return onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => {
    const now = systemClock.monotonic()
    if (first !== undefined && now - first > SAME_SIGNAL_MS) kill()
    first ??= now
    scope.abort(new DOMException(`${signal} was received`, 'AbortError'))
  })
}

/** The interval of checks that npm still runs. */
const NPM_CHECK_MS = 500

/** Stops the command with npm: a signal to npm or npx ends it and its shell, but does not reach this process. */
async function stopWithNpm({ signal, abort }: AbortScope, parent: number): Promise<void> {
  if (optionalEnv('npm_lifecycle_event') === undefined) return
  try {
    while (parentPid() === parent) await sleep(systemClock, NPM_CHECK_MS, signal)
    abort(new DOMException('npm has ended', 'AbortError'))
  } catch {
    // Aborted: the command stops for another reason.
  }
}

/** Returns the path or URL of the preloaded module, as the runtime expects it. */
async function preloadOf({ name }: FoundRuntime): Promise<string> {
  const { preloadUrl } = await import('./child/preload.ts')
  const path = pathOfUrl(preloadUrl)
  return name === 'node' ? urlOfPath(path) : path
}
