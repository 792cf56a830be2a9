/** `kubeloop plan FILE`. */
import { loadConfig } from 'kubeloop'
import { connectionRights } from '../../runtime/net/address.ts'
import { folderOf } from '../../runtime/os/files.ts'
import { absolutePath } from '../../runtime/os/user_files.ts'
import { isRecord } from '../../testing/mirror/record.ts'
import { checkReplaceable } from '../api/folder.ts'
import { load } from '../load.ts'
import { type Command, command, durationForm, flag, namespaceOption, runtime, value } from '../options.ts'
import type { Plan } from '../plan/result.ts'
import { planLines, workLine } from '../plan/text.ts'

const TIMEOUT_MS = 300_000

export const plan: Command = command({
  file: 'operator.ts',
  about: `Runs the operator of FILE until it is at rest, and prints what it would create, change, delete and set as
    status in a cluster, with the reconcile that did it. It reads from the cluster and writes to memory: the cluster
    gets no request but reads and, for the final state of each object, dry runs. Leader election is off, and webhooks
    are not served. Code of the operator that calls other services really calls them.

    Exit code 0 if there is nothing to do, 2 if there is, 1 if a reconcile or the command failed.`,
  options: {
    kubeconfig: value('FILE', 'the cluster; default: KUBECONFIG, ~/.kube/config'),
    context: value('NAME', 'the context; default: the current one'),
    namespace: namespaceOption('where the operator runs; default: the namespace of the context'),
    json: flag('print the plan as JSON'),
    record: value('FILE', 'write what the cluster answered, without the values of Secrets, for --from and worlds'),
    from: value('FILE', 'read from such a record instead of a cluster; no dry runs'),
    rights: flag('print the rights that the operator asked for, with the places in its file'),
    time: value(
      'DURATION',
      "how much of the operator's time passes, for retries and requeues; default: 1s",
      durationForm,
    ),
    timeout: value('DURATION', 'how long it may work, in real time; default: 5m', durationForm),
    runtime,
  },
  passes: true,
  check({ from, kubeconfig, context, record }) {
    if (from === undefined) return undefined
    if (record !== undefined) return 'it takes --record or --from, not both'
    return (kubeconfig ?? context) === undefined ? undefined : '--from reads from no cluster'
  },
  async run({ json, file, passed, runtime, ...options }, { print, warn }) {
    if (options.record !== undefined) await checkReplaceable('record', options.record, isRecord)
    const [from, record] = [options.from, options.record].map((each) => each === undefined ? each : absolutePath(each))
    // To the proxy, if the kubeconfig has one.
    const rights = from === undefined ? connectionRights((await loadConfig(options)).cluster) : []
    const hosts = rights.flatMap((right) => right.name === 'net' ? right.host ?? [] : [])
    const permissions = {
      ...(hosts.length > 0 && { '--allow-net': hosts }),
      ...(record !== undefined && { '--allow-write': [folderOf(record)] }),
    }
    const workMs = options.timeout ?? TIMEOUT_MS
    const request = { kind: 'plan', options: { ...options, timeout: workMs, from, record } } as const
    const [found] = await load({ file, passed, runtime }, request, warn, { workMs, permissions }) as readonly [Plan]
    warn(workLine(found))
    if (json) print(JSON.stringify(found, undefined, 2))
    else planLines(found).forEach(print)
    return found.failed.length > 0 ? 1 : found.changes.length > 0 ? 2 : 0
  },
})
