/** `kubeloop rights FILE`. */
import { absolutePath } from '../../runtime/os/user_files.ts'
import { load } from '../load.ts'
import { manifestText, readManifests } from '../manifests.ts'
import { type Command, command, namespaceOption, runtime, value } from '../options.ts'
import type { RightsReport } from '../rights/answer.ts'
import { writtenRules } from '../rights/written_roles.ts'

export const rights: Command = command({
  file: 'operator.ts',
  about: `Prints the ClusterRole and the Roles of the operator of FILE, as YAML. Without --record they follow from its
    description: the kinds that it watches, owns and finalizes. With it they are the least that suffice for what the
    operator asked for while its tests ran with KUBELOOP_RIGHTS=FOLDER, or under kubeloop dev (.kubeloop/rights). What
    no test exercised is not known.`,
  options: {
    record: value('FOLDER', 'the folder of the record'),
    check: value(
      'FILE',
      'compare with the roles in FILE (YAML or JSON, "-" for standard input) instead: one line for each right that ' +
        'they lack or exceed, and then exit code 1',
    ),
    namespace: namespaceOption('where the operator runs; default: the operator\'s name and "-system"'),
    cluster: value('NAME', "the rights in the cluster of app.cluster(NAME, …); default: the operator's own"),
    runtime,
  },
  passes: true,
  async run({ namespace, cluster, record, check: file, ...from }, { print, warn }) {
    const check = file === undefined
      ? undefined
      : (await readManifests([file])).flatMap(({ name, objects }) => writtenRules(objects, name))
    const options = { namespace, cluster, record: record === undefined ? undefined : absolutePath(record), check }
    const objects = await load(from, { kind: 'rights', options }, warn)
    if (!check) return print(manifestText(objects).trimEnd())
    const [{ problems }] = objects as readonly [RightsReport]
    problems.forEach(print)
    return problems.length === 0
  },
})
