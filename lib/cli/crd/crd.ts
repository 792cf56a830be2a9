/**
 * `kubeloop crd FILE`: prints the CustomResourceDefinitions of an operator's kinds, and its webhook configurations, or
 * compares them with committed files or with the objects in a cluster.
 */
import { Cluster, loadConfig } from 'kubeloop'
import { CRD, type CustomResourceDefinition } from '../../core/resource.ts'
import { writeLine } from '../../runtime/os/terminal.ts'
import { load, type Loaded } from '../load.ts'
import { yamlText } from '../yaml_text.ts'

export interface CrdOptions extends Loaded {
  /** Where the operator runs, for the Service of its webhooks. Default: its name and `-system`. */
  readonly namespace: string | undefined
  /** A file or folder to compare with. */
  readonly check: string | undefined
  /** The cluster to compare with. */
  readonly live: { readonly kubeconfig: string | undefined; readonly context: string | undefined } | undefined
}

/**
 * @throws Error if the file does not exist, cannot be loaded, or has no kind with a schema; if an API server would
 * refuse a definition; if the committed files differ, or stored objects do not fit.
 */
export async function crd({ namespace, check, live, ...from }: CrdOptions): Promise<void> {
  const objects = await load(from, { kind: 'definitions', ...(namespace !== undefined && { namespace }) })
  const definitions = objects.filter((object): object is CustomResourceDefinition =>
    (object as { readonly kind?: unknown }).kind === CRD.kind
  )
  const { throwIfRefused } = await import('./refused.ts')
  await throwIfRefused(definitions)
  if (check !== undefined) {
    const command = `kubeloop crd ${from.file}${namespace === undefined ? '' : ` --namespace ${namespace}`}`
    return await checkFiles(from.file, objects, check, command)
  }
  if (live) return await checkCluster(definitions, live)
  writeLine(objects.map(yamlText).join('---\n').trimEnd())
}

/** `command` writes the committed files again. */
async function checkFiles(file: string, objects: readonly object[], path: string, command: string): Promise<void> {
  const { checkCommitted } = await import('./check.ts')
  const { lines, breaking } = await checkCommitted(objects, path)
  if (lines.length === 0) return writeLine(`${path} has the definitions of ${file}`)
  lines.forEach(writeLine)
  const some = lines.length === 1 ? 'in 1 place' : `in ${lines.length} places`
  const which = breaking === 0 ? '' : `, of which ${breaking} may break objects or clients`
  throw new Error(`${path} differs from ${file} ${some}${which}; write it again with "${command}"`)
}

async function checkCluster(
  definitions: readonly CustomResourceDefinition[],
  options: { readonly kubeconfig: string | undefined; readonly context: string | undefined },
): Promise<void> {
  const { checkStored } = await import('./live.ts')
  const { cluster } = await loadConfig(options)
  const connected = new Cluster({ name: 'kubeloop-crd', config: cluster })
  let unfit = 0
  for (const definition of definitions) {
    const result = await checkStored(definition, connected, writeLine)
    writeLine(`${result.name}: ${result.unfit} of ${result.seen} stored objects do not fit`)
    unfit += result.unfit
  }
  if (unfit > 0) {
    throw new Error(`${unfit} stored ${unfit === 1 ? 'object does' : 'objects do'} not fit the definitions`)
  }
}
