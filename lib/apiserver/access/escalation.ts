/** Prevents users from granting rights that they do not have. */
import { goList } from '../model/go_text.ts'
import type { PolicyRule } from '../model/rights.ts'
import type { User } from '../model/user.ts'
import { coversPath, includes } from './rbac.ts'

/** All rights: what the use of an aggregation rule requires. */
export const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** A rule with one verb, and one resource or URL. */
interface Right {
  readonly verb: string
  readonly group?: string
  readonly resource?: string
  readonly name?: string
  readonly url?: string
}

/** Returns the message of a 403 if a user does not have all the rights of some rules; otherwise undefined. */
export function escalationProblem(
  user: User,
  own: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): string | undefined {
  const missing = wanted.flatMap(rightsOf).filter((right) => !own.some((rule) => covers(rule, right)))
  if (missing.length === 0) return undefined
  return `user ${JSON.stringify(user.name)} (groups=${goList(user.groups)}) is attempting to grant RBAC permissions ` +
    `not currently held:\n${[...new Set(described(missing))].sort().join('\n')}`
}

function rightsOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): Right[] {
  const names = resourceNames?.length ? resourceNames : [undefined]
  const rights: Right[] = []
  for (const group of apiGroups ?? []) {
    for (const resource of resources ?? []) {
      for (const verb of verbs ?? []) {
        for (const name of names) rights.push({ verb, group, resource, ...(name !== undefined && { name }) })
      }
    }
  }
  for (const url of nonResourceURLs ?? []) for (const verb of verbs ?? []) rights.push({ verb, url })
  return rights
}

function covers(rule: PolicyRule, { verb, group, resource, name, url }: Right): boolean {
  if (!includes(rule.verbs, verb)) return false
  if (url !== undefined) return (rule.nonResourceURLs ?? []).some((own) => own === url || coversPath(own, url))
  const slash = resource!.indexOf('/')
  return includes(rule.apiGroups, group!) &&
    (includes(rule.resources, resource!) || (slash >= 0 && !!rule.resources?.includes(`*${resource!.slice(slash)}`))) &&
    (!rule.resourceNames?.length || (name !== undefined && rule.resourceNames.includes(name)))
}

/** Describes rights, those on one resource together. */
function described(rights: readonly Right[]): string[] {
  const verbs = new Map<string, string[]>()
  for (const { verb, group, resource, name, url } of rights) {
    const parts = url !== undefined
      ? [`NonResourceURLs:${goList([url])}`, `Verbs:${goList([verb])}`]
      : [`APIGroups:${goList([group!])}`, `Resources:${goList([resource!])}`]
    if (name !== undefined) parts.push(`ResourceNames:${goList([name])}`)
    const key = parts.join(', ')
    verbs.set(key, [...(verbs.get(key) ?? []), ...(url === undefined ? [verb] : [])])
  }
  return [...verbs].map(([key, list]) => `{${key}${list.length > 0 ? `, Verbs:${goList(list)}` : ''}}`)
}
