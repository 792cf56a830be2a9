/** Prevents users from granting rights that they do not have. */
import { goList } from '../model/go_text.ts'
import type { PolicyRule } from '../model/rights.ts'
import type { User } from '../model/user.ts'
import { type Right, ruleAllows } from './rbac.ts'

/** All rights: what the use of an aggregation rule requires. */
export const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** Returns the message of a 403 if a user does not have all the rights of some rules; otherwise undefined. */
export function escalationProblem(
  user: User,
  own: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): string | undefined {
  const missing = wanted.flatMap(rightsOf).filter((right) => !own.some((rule) => ruleAllows(rule, right)))
  if (missing.length === 0) return undefined
  return `user ${JSON.stringify(user.name)} (groups=${goList(user.groups)}) is attempting to grant RBAC permissions ` +
    `not currently held:\n${[...new Set(described(missing))].sort().join('\n')}`
}

/** Returns the rights of a rule: one for each verb of a URL, or of a resource or one of its names. */
function rightsOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): Right[] {
  const names = resourceNames?.length ? resourceNames : ['']
  const rights: Right[] = []
  for (const group of apiGroups ?? []) {
    for (const whole of resources ?? []) {
      const [resource = '', subresource = ''] = whole.split(/\/(.*)/s)
      for (const verb of verbs ?? []) {
        for (const name of names) rights.push({ isResource: true, verb, path: '', group, resource, subresource, name })
      }
    }
  }
  const none = { group: '', resource: '', subresource: '', name: '' }
  for (const path of nonResourceURLs ?? []) {
    for (const verb of verbs ?? []) rights.push({ isResource: false, verb, path, ...none })
  }
  return rights
}

/** Describes rights, those on one resource together. */
function described(rights: readonly Right[]): string[] {
  const verbs = new Map<string, string[]>()
  for (const { isResource, verb, path, group, resource, subresource, name } of rights) {
    const whole = subresource ? `${resource}/${subresource}` : resource
    const parts = isResource
      ? [`APIGroups:${goList([group])}`, `Resources:${goList([whole])}`]
      : [`NonResourceURLs:${goList([path])}`, `Verbs:${goList([verb])}`]
    if (name) parts.push(`ResourceNames:${goList([name])}`)
    const key = parts.join(', ')
    verbs.set(key, [...(verbs.get(key) ?? []), ...(isResource ? [verb] : [])])
  }
  return [...verbs].map(([key, list]) => `{${key}${list.length > 0 ? `, Verbs:${goList(list)}` : ''}}`)
}
