/** `kubeloop dev`: serves the embedded API, and runs the operator, again after each save of its files. */
import { Cluster } from 'kubeloop'
import { type Api } from 'kubeloop/parts'
import { type AbortScope, abortScope } from '../../async/abort.ts'
import { systemClock } from '../../async/clock.ts'
import type { SessionRequest } from './session.ts'
import { freePort } from '../../runtime/net/loopback.ts'
import { onOutputClosed } from '../../runtime/os/terminal.ts'
import { absolutePath, pathOfUrl, remove, urlOfPath } from '../../runtime/os/user_files.ts'
import { lineWriter } from '../../testing/rights_recorder.ts'
import { ManifestApplier } from '../api/apply.ts'
import { accountsOf } from './accounts.ts'
import { watchManifests } from './saved_manifests.ts'
import type { DevOptions } from './options.ts'
import { stopOnClosedOutput, stopOnSignals, stopWithNpm } from '../api/stopping.ts'
import { claimDevFolder, type DevFolder, FOLDER, kubeconfigIn, rightsIn } from '../api/folder.ts'
import { contextOf, type EmbeddedApi, startEmbeddedApi } from './embedded_api.ts'
import { type DevEvent, reporter } from '../api/events.ts'
import { findRuntime, type FoundRuntime } from '../runtimes.ts'
import type { Manifest } from '../manifests.ts'
import { OperatorRunner } from './operator_runner.ts'
import { SessionHost } from './session_host.ts'
import { packageVersion } from '../package_files.ts'

export interface DevRun {
  readonly options: DevOptions
  readonly manifests: readonly Manifest[]
  /** The parent process at the start of the command: it may end while modules are loaded. */
  readonly parent: number
  /** The folder of the API's state and kubeconfig. Default: `.kubeloop`. */
  readonly folder?: string
  /** Deno's configuration file, unless it finds one by the folder. */
  readonly denoConfig?: string
}

/** Runs until a signal stops it, or standard output is closed. @throws Error if it cannot start. */
export async function dev(run: DevRun): Promise<void> {
  const { options } = run
  const title = options.file
  const scope = abortScope()
  onOutputClosed(() => stopOnClosedOutput(scope))
  const { pretty, report } = reporter(options.json)
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

async function runWith(
  run: DevRun,
  { runtime, folder, scope, pretty, report }:
    & { readonly runtime: FoundRuntime; readonly folder: DevFolder; readonly scope: AbortScope }
    & ReturnType<typeof reporter>,
): Promise<void> {
  const { options, manifests, denoConfig } = run
  const path = run.folder ?? FOLDER
  const kubeconfig = kubeconfigIn(path)
  if (options.fresh) await remove(rightsIn(path))
  // Loaded only where it is asked for.
  const { serveLoop } = options.ui ? await import('./loop_page.ts') : {}
  const ui = await serveLoop?.({ clock: systemClock, send: (command) => sessions.send(command) })
  const sessions = new SessionHost({
    clock: systemClock,
    changed: () => runner.changed,
    onRight: lineWriter(rightsIn(path), 'dev'),
    onProblem: (message) => report({ kind: 'problem', message }),
    onClusters: (names) => api.setClusters(names),
    onLoop: (batch) => ui?.model.batch(batch),
    async prepare(request) {
      const { operator, account } = request
      ui?.model.started(request)
      const opened = account ? await openAccount(operator, account, scope.signal) : {}
      return { ...opened, ...(ui && { paused: ui.model.paused }) }
    },
    onStart,
  })
  const { port, fresh, noWorkloads } = options
  const parts = { folder: path, sessions, clock: systemClock, report, model: ui?.model }
  const api = await startEmbeddedApi({ ...parts, port, fresh, workloads: !noWorkloads })
  if (ui) report({ kind: 'page', url: ui.url })
  const applier = applierTo(api, manifests, report)
  const openAccount = accountsOf({ transportOf: api.transportOf, applier, clock: systemClock, report })
  const runner = new OperatorRunner({
    runtime,
    options,
    pretty,
    denoConfig,
    report,
    clock: systemClock,
    preload: await preloadOf(runtime),
    kubeconfig: absolutePath(kubeconfig),
    authority: api.authority,
    webhookPort: await freePort(),
    monitoringPort: await freePort(),
    onPids: (pids) => folder.guard(pids),
    onOutputClosed: () => stopOnClosedOutput(scope),
  })
  const release = stopOnSignals(scope, () => runner.kill())
  void stopWithNpm(scope, run.parent)
  let applying: Promise<void> = Promise.resolve()
  const suggest = suggestions(kubeconfig, report)
  function onStart(request: SessionRequest, _start: number, installed: Promise<void>): void {
    runner.operatorIs(request.pid)
    suggest(request)
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
    await Promise.all([api.close(), ui?.close()])
  }
}

/** Returns what writes the manifests to the APIs of the clusters. */
function applierTo(
  { transportOf }: Pick<EmbeddedApi, 'transportOf'>,
  manifests: readonly Manifest[],
  report: (event: DevEvent) => void,
): ManifestApplier {
  const apiOf = (cluster: string | undefined): Api | undefined => {
    const transport = transportOf(cluster)
    return transport && new Cluster({ name: 'kubeloop-dev', transport }).api
  }
  const retried = 'it is saved or the operator restarts'
  return new ManifestApplier(manifests, { apiOf, clock: systemClock, report, retried })
}

/** Returns what suggests a command for each cluster, once. */
function suggestions(kubeconfig: string, report: (event: DevEvent) => void): (request: SessionRequest) => void {
  const suggested = new Set<string | undefined>()
  return ({ kinds, clusters }) => {
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
  }
}

/** Returns the path or URL of the preloaded module, as the runtime expects it. */
async function preloadOf({ name }: FoundRuntime): Promise<string> {
  const { preloadUrl } = await import('./child/preload.ts')
  const path = pathOfUrl(preloadUrl)
  return name === 'node' ? urlOfPath(path) : path
}
