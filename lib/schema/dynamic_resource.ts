/** Describes a kind that is known only at run time. */
import { kindProblem } from '../core/names.ts'
import { pluralOf } from './names.ts'
import type { KubeObject } from '../core/objects.ts'
import type { Resource } from '../core/resource.ts'

/** The names of a kind. */
export interface DynamicKind {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Default: the kind in lower case with an English plural ending. */
  readonly plural?: string | undefined
  /** Default: `Namespaced`. */
  readonly scope?: 'Namespaced' | 'Cluster' | undefined
}

/**
 * Returns a Resource for a kind without a schema. Its objects are not validated. `client.kindOf` asks the server for
 * the plural and the scope instead.
 *
 * @throws TypeError if a name is missing or invalid.
 *
 * @example
 * ```ts
 * import { dynamicResource } from 'kubeloop'
 * const Certificate = dynamicResource({ group: 'cert-manager.io', version: 'v1', kind: 'Certificate' })
 * if (Certificate.plural !== 'certificates') throw new Error('unexpected')
 * ```
 */
export function dynamicResource<T extends KubeObject = KubeObject & { readonly [field: string]: unknown }, D = object>(
  kind: DynamicKind,
): Resource<T, D> {
  if (!kind.kind || !kind.version) throw new TypeError('Cannot name a kind: its version and kind are needed')
  const names = {
    group: kind.group,
    version: kind.version,
    kind: kind.kind,
    plural: kind.plural ?? pluralOf(kind.kind),
  }
  const problem = kindProblem(names)
  if (problem) throw new TypeError(`Cannot name a kind: ${problem}`)
  return { ...names, scope: kind.scope ?? 'Namespaced' }
}
