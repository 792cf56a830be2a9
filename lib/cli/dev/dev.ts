/** `kubeloop dev`: the embedded API in this process, the operator in another one, which is started again when a file of it is saved. */
import { type Api, Cluster } from 'kubeloop'
import { type AbortScope, abortScope } from '../../async/abort.ts'
import { sleep, systemClock } from '../../async/clock.ts'
import { silentLog } from '../../observe/log.ts'
import type { SessionRequest } from './session.ts'
import { exists } from '../../runtime/os/files.ts'
import { onSignals } from '../../runtime/os/signals.ts'
import { isTerminal, writeLine } from '../../runtime/os/terminal.ts'
import { optionalEnv } from '../../runtime/os/env.ts'
import { onOutputClosed, parentPid } from '../../runtime/os/this_runtime.ts'
import { absolutePath, pathOfUrl, urlOfPath } from '../../runtime/os/user_files.ts'
import { ManifestApplier } from './apply.ts'
import type { DevOptions } from '../arguments.ts'
import { claimDevFolder, type DevFolder, FOLDER, kubeconfigIn } from './folder.ts'
import { startEmbeddedApi } from './embedded_api.ts'
import { type DevEvent, jsonLine, prettyLines } from './events.ts'
import { contextOf } from './kubeconfig.ts'
import { watchManifests } from './manifest_files.ts'
import { findRuntime, type FoundRuntime } from '../find_runtime.ts'
import type { Manifest } from '../manifests.ts'
import { OperatorRunner } from './operator_runner.ts'
import { SessionHost } from './session_host.ts'
import { packageVersion } from '../version.ts'

/** A signal within this time of the first is the same Ctrl-C, from the terminal and from npm. */
const SAME_SIGNAL_MS = 500

export interface DevRun {
  readonly options: DevOptions
  readonly manifests: readonly Manifest[]
  /** What the file is called in what is printed. */
  readonly title: string
  /** The process that started the command, asked for at its start: it may end while the rest is loaded. */
  readonly parent: number
  /** Where the API's state and its kubeconfig are. Default: `.kubeloop`. */
  readonly folder?: string
  /** Where Deno finds the file's modules, when it is not told by the folder. */
  readonly denoConfig?: string
}

/** Runs until it is told to stop. @throws Error when it cannot start. */
export async function dev(run: DevRun): Promise<void> {
  const { options, title } = run
  const scope = abortScope()
  onOutputClosed(() => endUnread(scope))
  const pretty = !options.json && isTerminal()
  const say = (event: DevEvent): void => {
    if (pretty) prettyLines(event).forEach(writeLine)
    else writeLine(jsonLine(event, systemClock.now()))
  }
  if (!(await exists(options.file))) throw new Error(`Cannot run ${title}: there is no such file`)
  const runtime = await findRuntime(options.runtime, title)
  const folder = await claimDevFolder(run.folder ?? FOLDER)
  try {
    say({
      kind: 'started',
      version: await packageVersion(),
      runtime: runtime.name,
      runtimeVersion: runtime.version,
      file: title,
    })
    await runWith(run, { runtime, folder, scope, pretty, say })
  } finally {
    await folder.release()
  }
  say({ kind: 'stopped' })
}

interface Surroundings {
  readonly runtime: FoundRuntime
  readonly folder: DevFolder
  /** Ends when it is time to stop. */
  readonly scope: AbortScope
  readonly pretty: boolean
  readonly say: (event: DevEvent) => void
}

async function runWith(run: DevRun, { runtime, folder, scope, pretty, say }: Surroundings): Promise<void> {
  const { options, manifests, title, denoConfig } = run
  const place = run.folder ?? FOLDER
  const kubeconfig = kubeconfigIn(place)
  const { port, fresh, elect, passed } = options
  const file = absolutePath(options.file)
  const sessions = new SessionHost({
    clock: systemClock,
    changed: () => runner.changed,
    prepare: ({ clusters }) => api.setClusters(clusters.map(({ name }) => name)),
    onStart,
  })
  const api = await startEmbeddedApi({ folder: place, port, fresh, sessions, clock: systemClock, log: silentLog, say })
  const apiOf = (cluster: string | undefined): Api | undefined => {
    const transport = api.transportOf(cluster)
    return transport && new Cluster({ name: 'kubeloop-dev', transport }).api
  }
  const applier = new ManifestApplier(manifests, { apiOf, clock: systemClock, say })
  const runner = new OperatorRunner({
    runtime,
    file,
    title,
    pretty,
    elect,
    passed,
    denoConfig,
    say,
    clock: systemClock,
    preload: await preloadOf(runtime),
    kubeconfig: absolutePath(kubeconfig),
    authority: api.authority,
    onPids: (pids) => folder.guard(pids),
    onOutputClosed: () => endUnread(scope),
  })
  const release = stopOnSignals(scope, () => runner.kill())
  void stopWithNpm(scope, run.parent)
  let applying: Promise<void> = Promise.resolve()
  const tried = new Set<string | undefined>()
  function onStart({ kinds, clusters, pid }: SessionRequest): void {
    runner.operatorIs(pid)
    for (const { name, kinds: [first] } of [{ name: undefined, kinds }, ...clusters]) {
      if (tried.has(name)) continue
      tried.add(name)
      const context = name === undefined ? '' : ` --context ${contextOf(name)}`
      say({
        kind: 'try',
        command: `kubectl --kubeconfig ${kubeconfig}${context} get ${first?.split('/').at(-1) ?? 'namespaces'} -w`,
        ...(name && { cluster: name }),
      })
    }
    applying = applier.apply(scope.signal)
  }
  const watching = watchManifests({
    apply: options.apply,
    clock: systemClock,
    onSaved(saved) {
      applying = applier.reapply(saved, { started: sessions.starts > 0 }, scope.signal)
    },
    onProblem: (message) => say({ kind: 'problem', message }),
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

function endUnread(scope: AbortScope): void {
  scope.abort(new DOMException('Standard output is closed', 'AbortError'))
}

/** Ctrl-C, a closed terminal and a kind `kill` all mean to stop; another one, to stop at once. */
function stopOnSignals(scope: AbortScope, kill: () => void): () => void {
  let first: number | undefined
  return onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => {
    const now = systemClock.monotonic()
    if (first !== undefined && now - first > SAME_SIGNAL_MS) kill()
    first ??= now
    scope.abort(new DOMException(`${signal} was received`, 'AbortError'))
  })
}

/** How often it is checked that npm still runs. */
const NPM_CHECK_MS = 500

/** A signal to npm or npx ends it and its shell, and does not reach this process. */
async function stopWithNpm({ signal, abort }: AbortScope, parent: number): Promise<void> {
  if (optionalEnv('npm_lifecycle_event') === undefined) return
  try {
    while (parentPid() === parent) await sleep(systemClock, NPM_CHECK_MS, signal)
    abort(new DOMException('npm has ended', 'AbortError'))
  } catch {
    // Aborted: it stops for another reason.
  }
}

/** The module that is loaded before the operator's, as its runtime takes it. */
async function preloadOf({ name }: FoundRuntime): Promise<string> {
  const { preloadUrl } = await import('./child/preload.ts')
  const path = pathOfUrl(preloadUrl)
  return name === 'node' ? urlOfPath(path) : path
}
