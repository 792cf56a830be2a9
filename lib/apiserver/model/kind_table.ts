/** The tables of the built-in kinds, one per group, and how a row becomes a {@link Kind}. */
import { apiVersionOf } from '../../core/resource.ts'
import type { Kind, Rules, ScalePaths, Subresource } from './kinds.ts'
import { definition } from './schema.ts'
import type { Column } from './columns.ts'
import type { ApiObject, JsonObject } from './json.ts'

/** The kinds of one group and version. */
export interface GroupTable {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kinds: readonly KindTable[]
}

/** Returns the table of a group and version, such as `apps/v1`. */
export function groupTable(apiVersion: string, kinds: readonly KindTable[]): GroupTable {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  return { group, version, kinds }
}

/** A row: what is left out has its usual value. */
interface KindTable {
  readonly kind: string
  readonly plural: string
  /** Default: Namespaced. */
  readonly scope?: 'Cluster'
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  /** Default: all verbs. */
  readonly verbs?: readonly string[]
  /** `status`, `scale`, or the description of another subresource. */
  readonly subresources?: readonly ('status' | 'scale' | NamedSubresource)[]
  /** Whether the answer to a deletion is the deleted object. Default: it is a Status. */
  readonly returnsDeleted?: true
  /** Whether objects are stored. Default: true. */
  readonly stored?: false
  /** The stored form, for a kind that several groups or versions serve. Default: the kind itself. */
  readonly storedAs?: { readonly group: string; readonly version: string; readonly plural: string }
  /** Default: the name and the time of creation. */
  readonly columns?: readonly Column[]
  readonly rowConditions?: (object: ApiObject) => JsonObject[]
  /** The warning in each response, for a deprecated version. Default: none. */
  readonly deprecation?: string
  readonly rules?: Partial<Rules>
}

/**
 * Returns a row. `names`: the kind, its plural and its short names; behind a bar stand `Cluster` for its scope,
 * `returned` if the answer to a deletion is the object, and its categories.
 */
export function kind(names: string, more: Omit<KindTable, 'kind' | 'plural'> = {}): KindTable {
  const [[name, plural, ...shortNames] = [], marks = []] = names.split(' | ').map((part) => part.split(' '))
  const categories = marks.filter((mark) => mark !== 'Cluster' && mark !== 'returned')
  return {
    kind: name!,
    plural: plural!,
    shortNames,
    ...(categories.length > 0 && { categories }),
    ...(marks.includes('Cluster') && { scope: 'Cluster' }),
    ...(marks.includes('returned') && { returnsDeleted: true }),
    ...more,
  }
}

/** A subresource of a kind's own bodies, if `kind` is left out. */
type NamedSubresource = Omit<Subresource, 'kind'> & Partial<Pick<Subresource, 'kind'>>

const ALL_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const STATUS_VERBS = ['get', 'patch', 'update']

const SCALE = { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: STATUS_VERBS }

const SCALE_PATHS: ScalePaths = {
  specReplicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  selector: ['spec', 'selector'],
}

const DEFAULT_RULES: Rules = {
  nameRule: 'subdomain',
  generation: false,
  createOnUpdate: false,
  unconditionalUpdate: true,
}

/** Returns the kinds of a table. */
export function kindsOf({ group, version, kinds }: GroupTable): readonly Kind[] {
  const prefix = `${group.split('.')[0] || 'core'}.${version}`
  return kinds.map((row) => {
    const { kind, plural, subresources = [], storedAs = { group, version, plural } } = row
    return {
      group,
      version,
      apiVersion: apiVersionOf({ group, version }),
      kind,
      plural,
      singular: kind.toLowerCase(),
      listKind: `${kind}List`,
      shortNames: row.shortNames ?? [],
      categories: row.categories ?? [],
      namespaced: row.scope !== 'Cluster',
      verbs: row.verbs ?? ALL_VERBS,
      subresources: subresources.map((each) => subresourceOf(each, kind)),
      schema: definition(`${prefix}.${kind}`),
      definition: `${prefix}.${kind}`,
      status: subresources.includes('status'),
      scale: subresources.includes('scale') ? SCALE_PATHS : undefined,
      custom: false,
      stored: row.stored ?? true,
      storage: {
        id: storedAs.group ? `${storedAs.plural}.${storedAs.group}` : storedAs.plural,
        apiVersion: apiVersionOf(storedAs),
        kind,
      },
      rules: { ...DEFAULT_RULES, returnsDeleted: row.returnsDeleted ?? false, ...row.rules },
      columns: row.columns,
      ...(row.rowConditions && { rowConditions: row.rowConditions }),
      ...(row.deprecation !== undefined && { deprecation: row.deprecation }),
    }
  })
}

/** Returns the description of a subresource. */
export function subresourceOf(given: 'status' | 'scale' | NamedSubresource, kind: string): Subresource {
  if (given === 'scale') return SCALE
  return given === 'status' ? { name: given, kind, verbs: STATUS_VERBS } : { kind, ...given }
}
