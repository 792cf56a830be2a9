/** Answers `kubeloop rights` in the operator's process: its roles, or how a written role differs from them. */
import { firstOf } from '../../core/errors.ts'
import type { OperatorDescription } from '../../operator/description/description.ts'
import { pathOfUrl, textOf } from '../../runtime/os/user_files.ts'
import { namespaceOf, rolesOf } from '../../rights/account.ts'
import { likelyRights, ownRights, type Place } from '../../rights/likely.ts'
import { rulesOf } from '../../rights/rules.ts'
import { askedLines } from './asked.ts'
import { compareRoles } from './compare.ts'
import { grantNotes, type LeastRights, leastRights } from './least.ts'
import { readRecord } from './record.ts'
import type { WrittenRule } from './written_roles.ts'

export interface RightsRequest {
  /** Where the operator runs. Default: `NAME-system`. */
  readonly namespace?: string | undefined
  /** The operator's name of another cluster. Default: its own cluster. */
  readonly cluster?: string | undefined
  /** The folders of the record. Default: the rights follow from the description. */
  readonly record?: readonly string[]
  /** Whether the requests are listed instead, by rule and place. */
  readonly requests?: boolean | undefined
  /** The rules to compare with. Default: print the roles. */
  readonly check?: readonly WrittenRule[] | undefined
}

/** An answer in lines: those of the requests, or of each right that a role lacks or exceeds; empty if it fits. */
export interface RightsReport {
  readonly lines: readonly string[]
}

/** A line on standard error of every answer without a record. */
const UNKNOWN = "What the operator's own code requests beyond this, as with client.get of another kind, is not " +
  'known without --record; see kubeloop rights --help'

/** Returns what the user should know of an answer without a record. */
export function unrecordedNotes(description: OperatorDescription): readonly string[] {
  return [UNKNOWN, ...grantNotes(description)]
}

/** A line on standard error of every answer from a record. */
const UNSEEN = 'Only what was asked for while it was recorded is known: a right that no test exercised is missing here'

/**
 * Returns the roles as objects, or one {@link RightsReport}. `url`: of the operator's file.
 *
 * @throws Error if the operator has no such cluster, or as {@link recordedRights} does.
 */
export async function rightsAnswer(
  description: OperatorDescription,
  { namespace: stated, cluster: named, record = [], requests, check }: RightsRequest,
  url: string,
): Promise<{ readonly objects: readonly object[]; readonly notes: readonly string[] }> {
  const { name } = description.options
  const cluster = named === undefined ? undefined : description.clusters.find((each) => each.name === named)
  const [first] = description.clusters
  if (named !== undefined && !cluster) {
    const names = firstOf(description.clusters.map((each) => `"${each.name}"`), 5).join(', ')
    const has = names ? `the clusters ${names}` : 'no other cluster'
    throw new Error(`Cannot compute the rights in the cluster "${named}": the operator "${name}" has ${has}`)
  }
  if (requests) {
    const { rights, paths } = await readRecord(record, name, named)
    return { objects: [{ lines: askedLines([...rights, ...paths]) } satisfies RightsReport], notes: [UNSEEN] }
  }
  const place = { namespace: namespaceOf(description, { namespace: stated }), cluster }
  const least = record.length === 0 ? undefined : await recordedRights(description, record, place, url)
  if (check) {
    const { problems, notes } = compareRoles(check, {
      needed: least?.rights ?? ownRights(description, place),
      limited: least?.limited ?? ownRights(description, place),
      likely: likelyRights(description, place),
      asked: least?.asked ?? [],
      namespace: place.namespace,
      isRecorded: least !== undefined,
    })
    return { objects: [{ lines: problems } satisfies RightsReport], notes: [...(least?.notes ?? []), ...notes] }
  }
  const rights = rulesOf(least?.rights ?? likelyRights(description, place))
  const objects = rolesOf(name, place.namespace, rights)
  const roles = objects.filter((each) => /Role$/.test((each as { readonly kind: string }).kind))
  const notes = [...(least?.notes ?? unrecordedNotes(description))]
  if (first && !cluster) {
    notes.push(`The operator "${name}" needs rights in other clusters, too: see --cluster ${first.name}`)
  }
  return { objects: roles, notes }
}

/** Returns the least rights by a record. @throws Error as {@link readRecord} does. */
export async function recordedRights(
  description: OperatorDescription,
  folders: readonly string[],
  place: Place,
  url: string,
): Promise<LeastRights> {
  const record = await readRecord(folders, description.options.name, place.cluster?.name)
  const files = new Set([pathOfUrl(url), ...record.rights.flatMap(({ at }) => at?.replace(/:\d+:\d+$/, '') ?? [])])
  const texts = await Promise.all([...files].map(textOf))
  const stands = (text: string): boolean =>
    texts.some((each) => [`'${text}'`, `"${text}"`, `\`${text}\``].some((literal) => each?.includes(literal)))
  const least = leastRights(description, place, record, stands)
  return { ...least, notes: [...least.notes, UNSEEN] }
}
