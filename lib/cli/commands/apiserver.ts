/** `kubeloop apiserver`. */
import { Cluster } from 'kubeloop'
import { ApiServer, type SavedState } from 'kubeloop/apiserver'
import { aborted, type AbortScope, abortScope } from '../../async/abort.ts'
import { systemClock } from '../../async/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { Transport } from '../../core/transport.ts'
import { type Log, silentLog } from '../../observe/log.ts'
import { isLoopback } from '../../runtime/net/address.ts'
import { readTextIfExists } from '../../runtime/os/files.ts'
import { exitProcess } from '../../runtime/os/signals.ts'
import { onOutputClosed } from '../../runtime/os/terminal.ts'
import { thisRuntime } from '../../runtime/os/this_runtime.ts'
import { remove, writePrivate } from '../../runtime/os/user_files.ts'
import { GarbageCollector } from '../../simcluster/garbage_collector.ts'
import { ManifestApplier } from '../api/apply.ts'
import { type DevEvent, reporter } from '../api/events.ts'
import {
  checkReplaceable,
  claimDevFolder,
  claimState,
  FOLDER,
  kubeconfigIn,
  readState,
  StateFile,
} from '../api/folder.ts'
import { isOwnKubeconfig, kubeconfigText, listen } from '../api/serving.ts'
import { stopOnClosedOutput, stopOnSignals, stopWithNpm } from '../api/stopping.ts'
import { type Manifest, readManifests } from '../manifests.ts'
import { type Command, command, flag, list, numberFrom, UsageError, value, type Values } from '../options.ts'
import { packageVersion } from '../package_files.ts'

const OPTIONS = {
  port: value('N', 'the port; default: a free one', numberFrom(1, 65_535)),
  host: value(
    'ADDRESS',
    'the address of this machine to listen on; default: 127.0.0.1. All other addresses give every client that has the ' +
      'token all rights',
  ),
  state: value('FILE', 'keep the objects in FILE over restarts; default: they are gone at the end'),
  apply: list('FILE', 'apply a manifest (JSON or YAML, "-" for standard input); may be repeated'),
  writeKubeconfig: value('FILE', 'write the kubeconfig to FILE instead'),
  garbageCollector: flag('delete objects whose owners are gone, as a cluster does; default: off'),
  json: flag('print lines of JSON; default if standard output is not a terminal'),
} as const

/** Runs until a signal stops it, or standard output is closed. */
export const apiserver: Command = command({
  about: `Serves a Kubernetes API in memory, alone: no operator, no nodes, no controllers. For development and tests,
    never for production. kubectl works with .kubeloop/kubeconfig, which is removed at the end.`,
  options: OPTIONS,
  remark: 'Ctrl-C stops it.',
  async run(options, { parent }) {
    const scope = abortScope()
    onOutputClosed(() => stopOnClosedOutput(scope))
    // A second signal does not wait for open requests.
    const release = stopOnSignals(scope, () => exitProcess(1))
    void stopWithNpm(scope, parent)
    const { report } = reporter(options.json)
    const manifests = await manifestsOf(options.apply)
    // A kubeconfig elsewhere needs no folder, so that scripts can run several servers in one.
    const folder = options.writeKubeconfig === undefined ? await claimDevFolder(FOLDER) : undefined
    let leaveState: (() => Promise<void>) | undefined
    try {
      if (options.state !== undefined) leaveState = await claimState(options.state)
      await serveUntilStopped(options, manifests, scope, report)
    } finally {
      release()
      await leaveState?.()
      await folder?.release()
    }
    report({ kind: 'stopped' })
  },
})

async function manifestsOf(files: readonly string[]): Promise<readonly Manifest[]> {
  const manifests = await readManifests(files)
  const other = manifests.find(({ cluster }) => cluster !== undefined)
  if (!other) return manifests
  const remedy = `write ./${other.cluster}=${other.name} if that is the file's name`
  throw new UsageError(`Cannot apply ${other.name} in ${other.cluster}: kubeloop apiserver has one cluster; ${remedy}`)
}

async function serveUntilStopped(
  options: Values<typeof OPTIONS>,
  manifests: readonly Manifest[],
  scope: AbortScope,
  report: (event: DevEvent) => void,
): Promise<void> {
  const { host, port, state, writeKubeconfig: kubeconfig = kubeconfigIn(FOLDER) } = options
  await checkReplaceable('kubeconfig', kubeconfig, isOwnKubeconfig)
  // A state that a crash cut off is one of ours, too.
  if (state !== undefined) await checkReplaceable('state', state, (text) => text.startsWith('{"format":"kubeloop-'))
  const { signal } = scope
  const { name, version } = thisRuntime()
  const problem = (message: string): void => report({ kind: 'problem', message })
  report({ kind: 'started', version: await packageVersion(), runtime: name, runtimeVersion: version })
  const log = logTo(report)
  const serverOf = (saved?: SavedState): ApiServer =>
    new ApiServer({ clock: systemClock, log, bootstrap: true, ...(saved && { state: saved }) })
  const restored = state === undefined
    ? undefined
    : await readState(state, (saved) => ({ saved, server: serverOf(saved as SavedState) }), problem)
  if (restored && state !== undefined) report({ kind: 'restored', file: state })
  const server = restored?.server ?? serverOf()
  const file = state === undefined ? undefined : new StateFile(state, {
    clock: systemClock,
    // The file of kubeloop dev has the operator's other clusters, too.
    save: () => ({ ...restored?.saved as SavedState | undefined, ...server.save() }),
    onError: (error) => problem(`Cannot save the state of the API: ${messageOf(error)}`),
  })
  const transport = file ? notingWrites(server.handle, file) : server.handle
  const served = await listen({ handle: transport, refuse: server.refuse }, { host, port })
  const loops: Promise<void>[] = []
  let written: string | undefined
  try {
    const url = `https://${reachable(served.host)}:${served.port}`
    written = kubeconfigText({ ...served, url })
    await writePrivate(kubeconfig, written)
    report({ kind: 'serving', server: url, kubeconfig })
    if (!isLoopback(served.host)) {
      const why = 'every client that has the token in the kubeconfig has all rights; it is not for production'
      report({ kind: 'warning', message: `The API listens on ${served.host}, for other machines too: ${why}` })
    }
    const quoted = /^[\w./:\\-]+$/.test(kubeconfig) ? kubeconfig : `'${kubeconfig}'`
    report({
      kind: 'try',
      command: `kubectl --kubeconfig ${quoted} get namespaces`,
      remark: state === undefined ? 'the objects are gone at the end' : `the objects are kept in ${state}`,
    })
    if (options.garbageCollector) {
      loops.push(new GarbageCollector({ transport, clock: systemClock, log }).start(signal))
    }
    const { api } = new Cluster({ name: 'kubeloop-apiserver', transport })
    await new ManifestApplier(manifests, { apiOf: () => api, clock: systemClock, report }).apply(signal)
    await aborted(signal)
  } finally {
    scope.abort()
    await Promise.all(loops)
    server.closeWatches()
    await served.close()
    // Another process may have written its own.
    if (written !== undefined && (await readTextIfExists(kubeconfig)) === written) await remove(kubeconfig)
    await file?.close()
  }
}

function notingWrites(inner: Transport, file: StateFile): Transport {
  return async (request) => {
    const response = await inner(request)
    if (request.method !== 'GET' && response.status < 400) file.changed()
    return response
  }
}

/** Returns the host that clients on this machine use in a URL. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  const address = host === '::' ? '::1' : host
  return address.includes(':') ? `[${address}]` : address
}

function logTo(report: (event: DevEvent) => void): Log {
  const line = (kind: 'problem' | 'warning') => (message: string, fields?: Readonly<Record<string, unknown>>): void => {
    const error = fields?.['error']
    report({ kind, message: error === undefined ? message : `${message}: ${messageOf(error)}` })
  }
  return { ...silentLog, warn: line('warning'), error: line('problem') }
}
