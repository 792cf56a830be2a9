/** `kubeloop manifests FILE`: prints the objects that run an operator in a cluster, or writes them to a folder. */
import { writeLine } from '../../runtime/os/terminal.ts'
import { writeErrorLine } from '../../runtime/os/this_runtime.ts'
import { load, type Loaded } from '../load.ts'
import { yamlText } from '../yaml_text.ts'
import { type AnyObject, type FolderForm, markOf } from './files.ts'
import { writeFolder } from './folder.ts'
import type { DeployOptions } from './options.ts'
import { workloadOf } from './parts.ts'

export interface ManifestsOptions extends Loaded {
  readonly deploy: DeployOptions
  /** Default: standard output. */
  readonly target: FolderTarget | undefined
}

/** `out`: a kustomize base. `helm`: a chart. */
export interface FolderTarget {
  readonly form: FolderForm
  readonly folder: string
}

/**
 * @throws Error if the file cannot be loaded, has not exactly one operator, an option does not fit it, or the folder
 * cannot be written.
 */
export async function printManifests({ deploy, target, ...from }: ManifestsOptions): Promise<void> {
  if (target?.form === 'helm') {
    const { chartFiles, chartOptions } = await import('./helm.ts')
    const objects = await load(from, { kind: 'deployment', options: chartOptions(deploy) }) as readonly AnyObject[]
    return await write(target, objects, chartFiles(objects, deploy))
  }
  const objects = await load(from, { kind: 'deployment', options: deploy }) as readonly AnyObject[]
  if (!target) return writeLine(objects.map(yamlText).join('---\n').trimEnd())
  const { kustomizeCaution, kustomizeFiles } = await import('./kustomize.ts')
  await write(target, objects, kustomizeFiles(objects))
  const caution = kustomizeCaution(objects)
  if (caution !== undefined) writeErrorLine(caution)
}

async function write(
  { form, folder }: FolderTarget,
  objects: readonly AnyObject[],
  files: ReadonlyMap<string, string>,
): Promise<void> {
  const { name } = workloadOf(objects).metadata
  const { written, removed } = await writeFolder({ folder, files, mark: markOf(form, name) })
  for (const file of written) writeLine(`wrote ${folder}/${file}`)
  for (const file of removed) writeLine(`removed ${folder}/${file}`)
  if (written.length + removed.length === 0) writeLine(`${folder} is up to date`)
  writeLine(
    form === 'out'
      ? `apply  kubectl apply -k ${folder}`
      : `install  helm upgrade --install ${name} ${folder} --namespace ${name}-system --create-namespace`,
  )
}
