/** Checks requests by the stored ValidatingAdmissionPolicies and their bindings. */
import { celEngine, type Engine } from '../cel/load.ts'
import { type Context, fromStored } from '../context/context.ts'
import { type ApiObject, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { selectorMatches } from '../model/selectors.ts'
import { forbidden, StatusError } from '../model/status.ts'
import { matchesSelectors, type Rule, ruleTarget, type Selectors } from './hooks.ts'
import type { Admission } from './review.ts'

const POLICIES = 'validatingadmissionpolicies.admissionregistration.k8s.io'
export const BINDINGS = 'validatingadmissionpolicybindings.admissionregistration.k8s.io'

interface Match extends Selectors {
  readonly matchPolicy: string
  readonly resourceRules?: readonly Rule[]
  readonly excludeResourceRules?: readonly Rule[]
}

type PolicySpec = Parameters<Engine['evaluatePolicy']>[0] & { readonly matchConstraints: Match }

interface BindingSpec {
  readonly policyName: string
  readonly paramRef?: {
    readonly name?: string
    readonly namespace?: string
    readonly selector?: JsonObject
    readonly parameterNotFoundAction?: string
  }
  readonly matchResources?: Match
  readonly validationActions: readonly string[]
}

interface Named<Spec> {
  readonly name: string
  readonly spec: Spec
}

/** A policy that a request must meet, with the bindings that apply it. */
interface MatchingPolicy {
  readonly policy: Named<PolicySpec>
  readonly bindings: readonly Named<BindingSpec>[]
  /** The kind that the expressions see: that of the request, or an equivalent one. */
  readonly target: Kind
}

/** Returns whether any policy may apply. If so, loads the engine, which suspends the first such request. */
export function hasPolicies({ store }: Context): boolean {
  if (store.list(BINDINGS, '').length === 0) return false
  celEngine()
  return true
}

/** Reviews, and the policies themselves, which a broken one could otherwise lock. */
function isExempt({ group, plural }: Kind): boolean {
  return group === 'authentication.k8s.io' || group === 'authorization.k8s.io' ||
    (group === 'admissionregistration.k8s.io' && plural.includes('admissionpolic'))
}

/** Returns the policies that a request must meet, in the order of their names. */
export function policiesOf(context: Context, admission: Admission): readonly MatchingPolicy[] {
  if (isExempt(admission.kind) || !hasPolicies(context)) return []
  const bindings = context.store.list(BINDINGS, '').map(named<BindingSpec>)
  return context.store.list(POLICIES, '').map(named<PolicySpec>).flatMap((policy) => {
    const own = bindings.filter(({ spec }) => spec.policyName === policy.name)
    const target = own.length > 0 ? matched(context, policy.spec.matchConstraints, admission) : undefined
    if (!target) return []
    const applied = own.filter(({ spec }) => !spec.matchResources || matched(context, spec.matchResources, admission))
    return [{ policy, bindings: applied, target }]
  })
}

function named<Spec>({ metadata, spec }: ApiObject): Named<Spec> {
  return { name: metadata.name!, spec: spec as unknown as Spec }
}

function matched(context: Context, match: Match, admission: Admission): Kind | undefined {
  const { resourceRules = [], excludeResourceRules, matchPolicy } = match
  if (!matchesSelectors(context, match, admission)) return undefined
  if (ruleTarget(context, excludeResourceRules, matchPolicy, admission)) return undefined
  return resourceRules.length === 0 ? admission.kind : ruleTarget(context, resourceRules, matchPolicy, admission)
}

/** What the expressions of a policy read, without its parameters. */
export type PolicyRequest = Omit<Parameters<Engine['evaluatePolicy']>[1], 'params' | 'namespaceObject'>

/**
 * Evaluates policies. Their warnings are added to `warnings`.
 *
 * @throws StatusError of the first policy that denies the request.
 */
export async function checkPolicies(
  context: Context,
  policies: readonly MatchingPolicy[],
  admission: Admission,
  warnings: string[],
  requestOf: (target: Kind) => Promise<PolicyRequest>,
): Promise<void> {
  const denials: StatusError[] = []
  const namespaceObject = namespaceOf(context, admission)
  for (const { policy, bindings, target } of policies) {
    const { paramKind, failurePolicy } = policy.spec
    const kind = paramKind && paramKindOf(context, paramKind)
    if (paramKind && !kind) {
      const name = `${paramKind.apiVersion.replace(/^[^/]*$/, '/$&')}, Kind=${paramKind.kind}`
      const message = `failed to configure policy: failed to find resource referenced by paramKind: '${name}'`
      if (failurePolicy !== 'Ignore') denials.push(denied(admission, `'${policy.name}'`, message))
      continue
    }
    const request = bindings.length > 0 ? await requestOf(target) : undefined
    for (const binding of bindings) {
      const deny = (message: string, reason?: string): unknown =>
        denials.push(denied(admission, `'${policy.name}' with binding '${binding.name}'`, message, reason))
      const params = await paramsOf(context, kind, binding.spec, admission.namespace)
      if (typeof params === 'string') {
        if (failurePolicy !== 'Ignore') deny(`failed to configure binding: ${params}`)
        continue
      }
      for (const each of params) {
        const result = celEngine().evaluatePolicy(policy.spec, { ...request!, params: each, namespaceObject })
        for (const { message, reason } of result.denials) {
          for (const action of binding.spec.validationActions) {
            if (action === 'Deny') deny(message, reason)
            else if (action === 'Warn') warnings.push(warningOf(policy.name, binding.name, message))
          }
        }
        for (const failure of result.failures) deny(failure)
      }
    }
  }
  if (denials.length > 0) throw denials[0]!
}

function warningOf(policy: string, binding: string, message: string): string {
  return `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${message}`
}

/** Returns the namespace of an object; null for cluster-scoped objects, and for namespaces themselves. */
function namespaceOf({ store }: Context, { kind, namespace }: Admission): Json {
  const found = namespace && kind.storage.id !== 'namespaces' ? store.get('namespaces', namespace) : undefined
  if (!found) return null
  const { managedFields: _managers, ownerReferences: _owners, ...metadata } = found.metadata
  return { metadata, spec: found['spec'], status: found['status'] }
}

function paramKindOf(
  { kinds }: Context,
  wanted: { readonly apiVersion: string; readonly kind: string },
): Kind | undefined {
  return kinds.all().find(({ stored, apiVersion, kind }) =>
    stored && apiVersion === wanted.apiVersion && kind === wanted.kind
  )
}

/**
 * Returns the parameters with which a policy is evaluated, each time with one of them: null if it has none, nothing if
 * none is found and the binding allows that. A text is what is wrong with the configuration.
 */
function paramsOf(
  { store }: Context,
  kind: Kind | undefined,
  { paramRef }: BindingSpec,
  requestNamespace: string,
): readonly Json[] | string | Promise<readonly Json[]> {
  if (!kind || !paramRef) return [null]
  const { name, selector, namespace = '', parameterNotFoundAction } = paramRef
  if (namespace && !kind.namespaced) {
    return 'paramRef.namespace must not be provided for a cluster-scoped `paramKind`'
  }
  const place = namespace || requestNamespace
  if (kind.namespaced && !place) {
    return 'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources'
  }
  const found = store.list(kind.storage.id, kind.namespaced ? `${place}/` : '').filter(({ metadata }) =>
    name ? metadata.name === name : isObject(selector) && selectorMatches(selector, metadata.labels)
  )
  if (found.length === 0 && parameterNotFoundAction === 'Deny') {
    return 'no params found for policy binding with `Deny` parameterNotFoundAction'
  }
  return kind.rules.convert ? kind.rules.convert(found, kind.apiVersion) : found.map((each) => fromStored(kind, each))
}

const CODES: Readonly<Record<string, number>> = { Forbidden: 403, RequestEntityTooLarge: 413 }

function denied({ kind, name, object }: Admission, policy: string, why: string, reason = 'Invalid'): StatusError {
  const message = `ValidatingAdmissionPolicy ${policy} denied request: ${why}`
  const error = forbidden(kind, name || object?.metadata.name || 'Unknown', message)
  const details = { ...error.details, causes: [{ message }] }
  return new StatusError(CODES[reason] ?? 422, reason, error.message, details)
}
