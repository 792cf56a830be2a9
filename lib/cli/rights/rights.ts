/** `kubeloop rights FILE`: prints the roles of an operator, or compares them with those that a person has written. */
import { writeLine } from '../../runtime/os/terminal.ts'
import { absolutePath } from '../../runtime/os/user_files.ts'
import { load, type Loaded } from '../load.ts'
import { readManifests } from '../manifests.ts'
import { yamlText } from '../yaml_text.ts'
import type { RightsReport, RightsRequest } from './answer.ts'
import { writtenRules } from './written_roles.ts'

export interface RightsOptions extends Loaded, Pick<RightsRequest, 'namespace' | 'cluster' | 'record'> {
  /** The file with the written roles. Default: print the roles. */
  readonly check: string | undefined
}

/**
 * Resolves with whether the written roles fit; true if there are none to check.
 *
 * @throws Error if the file cannot be loaded, has not exactly one operator, or the record or the roles cannot be read.
 */
export async function rights({ namespace, cluster, record, check, ...from }: RightsOptions): Promise<boolean> {
  const rules = check === undefined
    ? undefined
    : (await readManifests([check])).flatMap(({ name, objects }) => writtenRules(objects, name))
  const options: RightsRequest = {
    namespace,
    cluster,
    record: record === undefined ? undefined : absolutePath(record),
    check: rules,
  }
  const objects = await load(from, { kind: 'rights', options })
  if (!rules) {
    writeLine(objects.map(yamlText).join('---\n').trimEnd())
    return true
  }
  const [{ problems }] = objects as readonly [RightsReport]
  for (const line of problems) writeLine(line)
  return problems.length === 0
}
