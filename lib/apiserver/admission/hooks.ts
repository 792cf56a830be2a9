/** Finds the webhooks of a write. */
import type { WebhookClientConfig } from '../../core/resource.ts'
import { celEngine } from '../cel/load.ts'
import type { Context } from '../context/context.ts'
import { type JsonObject, list } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { selectorMatches } from '../model/selectors.ts'
import type { Admission } from './review.ts'

export const MUTATING = 'mutatingwebhookconfigurations.admissionregistration.k8s.io'

export const VALIDATING = 'validatingwebhookconfigurations.admissionregistration.k8s.io'

/** Which requests a rule is about. Rules of policies may name objects; those of webhooks do not. */
export interface Rule {
  readonly operations: readonly string[]
  readonly apiGroups: readonly string[]
  readonly apiVersions: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly scope?: string
}

/** Which objects and namespaces a webhook or a policy is about. */
export interface Selectors {
  readonly namespaceSelector: JsonObject
  readonly objectSelector: JsonObject
}

/** A webhook of a stored configuration, with its defaults. */
export interface Hook extends Selectors {
  readonly name: string
  readonly clientConfig: WebhookClientConfig
  readonly rules?: readonly Rule[]
  readonly matchPolicy: string
  readonly matchConditions?: readonly { readonly expression: string }[]
  readonly failurePolicy: string
  readonly timeoutSeconds: number
  readonly sideEffects: string
  readonly admissionReviewVersions: readonly string[]
  readonly reinvocationPolicy?: string
}

/** Returns the webhooks in the order of their configurations' names. */
export function hooksOf(context: Context, type: string): readonly Hook[] {
  const configs = context.store.list(type, '')
  if (configs.length === 0) return []
  const hooks = configs.flatMap((config) => list(config, 'webhooks') as unknown as readonly Hook[])
  // The conditions are evaluated while the request waits for webhooks, when it cannot wait for the engine.
  if (hooks.some(({ matchConditions }) => matchConditions?.length)) celEngine()
  return hooks
}

/** Configurations cannot be intercepted by webhooks, or a broken one could never be repaired. */
export function isExempt({ group }: Kind): boolean {
  return group === 'admissionregistration.k8s.io'
}

/**
 * Returns the kind with which a webhook is called: that of the request if a rule matches it, or an equivalent one, in
 * another version or group. Undefined if the webhook does not match.
 */
export function targetOf(context: Context, hook: Hook, admission: Admission): Kind | undefined {
  if (!matchesSelectors(context, hook, admission)) return undefined
  return ruleTarget(context, hook.rules, hook.matchPolicy, admission)
}

/** Returns the kind of the request if a rule matches it, or else an equivalent one that a rule matches. */
export function ruleTarget(
  context: Context,
  rules: readonly Rule[] | undefined,
  matchPolicy: string,
  admission: Admission,
): Kind | undefined {
  const { kind } = admission
  if (rules?.some((rule) => matchesRule(rule, kind, admission))) return kind
  if (matchPolicy !== 'Equivalent') return undefined
  const equivalents = context.kinds.all().filter((other) => other.storage.id === kind.storage.id)
  for (const rule of rules ?? []) {
    for (const other of equivalents) if (matchesRule(rule, other, admission)) return other
  }
  return undefined
}

export function matchesSelectors(
  context: Context,
  { namespaceSelector, objectSelector }: Selectors,
  { kind, operation, namespace, object, old }: Admission,
): boolean {
  if (namespace && !isEmpty(namespaceSelector)) {
    const isOwn = kind.storage.id === 'namespaces' && operation !== 'DELETE'
    const labels = (isOwn ? object : context.store.get('namespaces', namespace))?.metadata.labels
    if (!selectorMatches(namespaceSelector, labels)) return false
  }
  if (isEmpty(objectSelector)) return true
  // The options of a connection have no metadata.
  return [object, old].some((each) => each?.['metadata'] && selectorMatches(objectSelector, each.metadata.labels))
}

function isEmpty(selector: JsonObject): boolean {
  return Object.values(selector).every((part) => part === undefined || part === null || Object.keys(part).length === 0)
}

function matchesRule(rule: Rule, kind: Kind, { operation, subresource, name }: Admission): boolean {
  const { operations, apiGroups, apiVersions, resources, resourceNames = [], scope = '*' } = rule
  return (scope === '*' || (scope === 'Namespaced') === kind.namespaced) && includes(operations, operation) &&
    includes(apiGroups, kind.group) && includes(apiVersions, kind.version) &&
    (resourceNames.length === 0 || resourceNames.includes(name)) &&
    resources.some((each) => {
      const slash = each.indexOf('/')
      const resource = slash < 0 ? each : each.slice(0, slash)
      const sub = slash < 0 ? '' : each.slice(slash + 1)
      return (resource === '*' || resource === kind.plural) && (sub === '*' || sub === subresource)
    })
}

function includes(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value)
}
