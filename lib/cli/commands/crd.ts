/** `kubeloop crd FILE`. */
import { Cluster, loadConfig } from 'kubeloop'
import { CRD, type CustomResourceDefinition } from '../../core/resource.ts'
import { load } from '../load.ts'
import { manifestText } from '../manifests.ts'
import { type Command, command, namespaceOption, oneOf, runtime, value } from '../options.ts'

type Print = (line: string) => void

export const crd: Command = command({
  file: 'operator.ts',
  about: `Prints the CustomResourceDefinitions of the kinds that FILE exports or has an operator for, and the
    configurations of its webhooks, as YAML: "kubeloop crd operator.ts | kubectl apply -f -". Loads the file, but does
    not start its operator. Fails if an API server would refuse a definition, as for a rule that costs too much.`,
  options: {
    check: value(
      'PATH',
      'compare with the definitions in a file or folder instead: exit code 1 and a line for each difference, with ' +
        'those that break, or may break, stored objects',
    ),
    against: value(
      'live',
      'check the objects in a cluster instead: exit code 1 and a line for each problem of one that does not fit',
      oneOf('live'),
    ),
    kubeconfig: value('FILE', 'the cluster of --against; default: KUBECONFIG, ~/.kube/config'),
    context: value('NAME', 'the context of --against; default: the current one'),
    namespace: namespaceOption(
      'where the operator runs, for the Service of its webhooks; default: the operator\'s name and "-system", as for ' +
        'manifests',
    ),
    runtime,
  },
  passes: true,
  check({ check, against, kubeconfig, context }) {
    if (against !== undefined && check !== undefined) return 'it takes --check or --against, not both'
    if (against !== undefined || (kubeconfig ?? context) === undefined) return undefined
    return `--${kubeconfig === undefined ? 'context' : 'kubeconfig'} is for --against live`
  },
  async run(values, { print, warn }) {
    const { file, namespace, check, against } = values
    const objects = await load(values, { kind: 'definitions', ...(namespace !== undefined && { namespace }) }, warn)
    const definitions = objects.filter((object): object is CustomResourceDefinition =>
      (object as { readonly kind?: unknown }).kind === CRD.kind
    )
    const { throwIfRefused } = await import('../crd/refused.ts')
    await throwIfRefused(definitions)
    if (against !== undefined) return await checkCluster(definitions, values, print)
    if (check === undefined) return print(manifestText(objects).trimEnd())
    const command = `kubeloop crd ${file}${namespace === undefined ? '' : ` --namespace ${namespace}`}`
    await checkFiles(file, objects, check, command, print)
  },
})

/** `command` writes the committed files again. */
async function checkFiles(file: string, objects: readonly object[], path: string, command: string, print: Print) {
  const { checkCommitted } = await import('../crd/check.ts')
  const { lines, breaking } = await checkCommitted(objects, path)
  if (lines.length === 0) return print(`${path} has the definitions of ${file}`)
  lines.forEach(print)
  const some = lines.length === 1 ? 'in 1 place' : `in ${lines.length} places`
  const which = breaking === 0 ? '' : `, of which ${breaking} may break objects or clients`
  throw new Error(`${path} differs from ${file} ${some}${which}; write it again with "${command}"`)
}

async function checkCluster(
  definitions: readonly CustomResourceDefinition[],
  options: { readonly kubeconfig: string | undefined; readonly context: string | undefined },
  print: Print,
): Promise<void> {
  const { checkStored } = await import('../crd/live.ts')
  const { cluster } = await loadConfig(options)
  const connected = new Cluster({ name: 'kubeloop-crd', config: cluster })
  let unfit = 0
  for (const definition of definitions) {
    const result = await checkStored(definition, connected, print)
    print(`${result.name}: ${result.unfit} of ${result.seen} stored objects do not fit`)
    unfit += result.unfit
  }
  if (unfit > 0) {
    throw new Error(`${unfit} stored ${unfit === 1 ? 'object does' : 'objects do'} not fit the definitions`)
  }
}
