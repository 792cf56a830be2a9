/** Formats the command's events as lines of text or JSON. */
import { systemClock } from '../../async/clock.ts'
import { inCluster } from '../../controller/change_summary.ts'
import type { LogLevel } from '../../observe/log.ts'
import { isTerminal, writeLine } from '../../runtime/os/terminal.ts'

export type DevEvent =
  | {
    readonly kind: 'started'
    readonly version: string
    readonly runtime: string
    readonly runtimeVersion: string
    /** The operator's file. Absent: the API is served without an operator. */
    readonly file?: string
  }
  | { readonly kind: 'serving'; readonly server: string; readonly kubeconfig: string }
  /** The link of the page of `--ui`, with its token. */
  | { readonly kind: 'page'; readonly url: string }
  /** A command for the user to try. `cluster`: the name of another cluster. `remark`: what to know of the path. */
  | { readonly kind: 'try'; readonly command: string; readonly cluster?: string; readonly remark?: string }
  /** Another cluster of the operator, and its context in the kubeconfig. */
  | { readonly kind: 'cluster'; readonly name: string; readonly context: string; readonly server: string }
  /** The API has the state of the last run. `file`: where that was kept, if the user has named it. */
  | { readonly kind: 'restored'; readonly file?: string }
  /** `cluster`, here and below: the operator's name of it; absent for its own. */
  | {
    readonly kind: 'definition'
    readonly name: string
    readonly cluster?: string
    readonly versions: readonly string[]
    readonly result: 'installed' | 'updated'
  }
  | {
    readonly kind: 'applied'
    readonly object: string
    readonly cluster?: string
    readonly result: 'created' | 'changed' | 'unchanged'
    readonly manifest: string
  }
  /** The ServiceAccount with whose rights the operator runs. `hasOwnRoles`: the user has written its roles. */
  | { readonly kind: 'account'; readonly name: string; readonly hasOwnRoles: boolean }
  | { readonly kind: 'problem' | 'warning'; readonly message: string }
  | { readonly kind: 'stopped' }

/** Returns a function that prints events. Lines are for people on a terminal, unless `json` is set. */
export function reporter(json: boolean): { readonly pretty: boolean; readonly report: (event: DevEvent) => void } {
  const pretty = !json && isTerminal()
  const report = (event: DevEvent): void => {
    if (pretty) prettyLines(event).forEach(writeLine)
    else writeLine(jsonLine(event, systemClock.now()))
  }
  return { pretty, report }
}

const REMARK = 74

export function prettyLines(event: DevEvent): string[] {
  switch (event.kind) {
    case 'started': {
      const { version, runtime, runtimeVersion, file = 'Kubernetes API' } = event
      const head = `kubeloop ${version} · ${runtime} ${runtimeVersion} · ${file}`
      return [remarked(head, 'in memory, not for production')]
    }
    case 'try':
      // A line of its own can be pasted whole, into any shell.
      return [
        `  ${event.command}`,
        ...(event.cluster ? [] : [remarked('', event.remark ?? 'same path every time; state survives restarts')]),
      ]
    case 'page':
      return [`  page       ${event.url}`]
    case 'restored':
      return [remarked('  restored   the state of the last run', event.file ?? '--fresh forgets it')]
    case 'definition':
      return [`  ${event.result.padEnd(9)}  ${event.name}/${event.versions.join(',')}${inCluster(event.cluster)}`]
    case 'applied': {
      const result = event.result === 'unchanged' ? 'unchanged' : 'applied  '
      return [remarked(`  ${result}  ${event.object}${inCluster(event.cluster)}`, event.manifest)]
    }
    case 'account': {
      const roles = event.hasOwnRoles ? 'your roles' : 'kubeloop manifests'
      return [remarked(`  runs as    ServiceAccount ${event.name}`, roles)]
    }
    case 'problem':
    case 'warning':
      return [event.message]
    default:
      return []
  }
}

/** Returns an event as a line of the log's form. The formatter of logs would load the whole client for its errors. */
export function jsonLine(event: DevEvent, timeMs: number): string {
  const { kind, ...fields } = event
  const level: LogLevel = kind === 'problem' ? 'error' : kind === 'warning' ? 'warn' : 'info'
  const head = { time: new Date(timeMs).toISOString(), level }
  return JSON.stringify(
    'message' in fields ? { ...head, message: fields.message } : { ...head, message: kind, ...fields },
  )
}

function remarked(text: string, remark: string): string {
  return `${text.padEnd(REMARK)}  ${remark}`
}
