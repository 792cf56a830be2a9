/** `kubeloop rights FILE`. */
import { absolutePath } from '../../runtime/os/user_files.ts'
import { load } from '../load.ts'
import { manifestText, readManifestsAt } from '../manifests.ts'
import { type Command, command, flag, list, namespaceOption, runtime, value } from '../options.ts'
import type { RightsReport } from '../rights/answer.ts'
import { writtenRules } from '../rights/written_roles.ts'

const ROLES = /\bkind["']?: *["']?(?:(?:Cluster)?Role(?:Binding)?|List)\b/

export const rights: Command = command({
  file: 'operator.ts',
  about: `Prints the ClusterRole and the Roles of the operator of FILE, as YAML. Without --record they follow from its
    description: the kinds that it watches, owns and finalizes. With it they are the least that suffice for what the
    operator asked for while its tests ran with KUBELOOP_RIGHTS=FOLDER, or under kubeloop dev (.kubeloop/rights). What
    no test exercised is not known.`,
  options: {
    record: list('FOLDER', 'the folder of the record; repeatable: all of them together'),
    check: list(
      'PATH',
      'compare with the roles in a file (YAML or JSON, "-" for standard input) or folder instead: one line for each ' +
        'right that they lack or exceed, and then exit code 1; repeatable: all of them together',
    ),
    requests: flag('list what was asked for instead, with the places in the file that asked; needs --record'),
    namespace: namespaceOption('where the operator runs; default: the operator\'s name and "-system"'),
    cluster: value('NAME', "the rights in the cluster of app.cluster(NAME, …); default: the operator's own"),
    runtime,
  },
  passes: true,
  check({ requests, record, check }) {
    if (!requests) return undefined
    if (record.length === 0) return '--requests lists those of a record; add --record FOLDER'
    return check.length > 0 ? 'it takes --requests or --check, not both' : undefined
  },
  async run({ namespace, cluster, record, requests, check: paths, ...from }, { print, warn }) {
    const read = await Promise.all(paths.map((each) => readManifestsAt(each, ROLES, `Cannot check ${each}`)))
    const objects = read.flat().flatMap((each) => each.objects)
    const check = paths.length === 0 ? undefined : writtenRules(objects, paths.join(', '))
    const options = { namespace, cluster, record: record.map((each) => absolutePath(each)), requests, check }
    const answer = await load(from, { kind: 'rights', options }, warn)
    if (!check && !requests) return print(manifestText(answer).trimEnd())
    const [{ lines }] = answer as readonly [RightsReport]
    lines.forEach(print)
    return requests || lines.length === 0
  },
})
