/** What a namespace allows: LimitRanges, Pod Security and ResourceQuotas, as a real server's admission applies them. */
import { jsonEqual } from '../../core/equal.ts'
import type { Context } from '../context/context.ts'
import { type Amounts, amounts, minus, nanosOf, plus } from '../kinds/quotas/amounts.ts'
import { limitProblems, setLimitDefaults } from '../kinds/quotas/limits.ts'
import { isInScopes, missingProblem, usageOf } from '../kinds/quotas/usage.ts'
import { containersOf, violations } from '../kinds/pods/security.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { fault, forbidden, invalid } from '../model/status.ts'

/** Sets what the LimitRanges of a namespace give to a new pod, in place. Webhooks see it. */
export function setLimits({ store }: Context, object: ApiObject): void {
  for (const range of store.list('limitranges', `${object.metadata.namespace}/`)) setLimitDefaults(object, range)
}

interface LimitedWrite {
  readonly kind: Kind
  readonly object: ApiObject
  /** Undefined for a creation. */
  readonly old: ApiObject | undefined
  readonly subresource: string
  readonly warnings?: string[] | undefined
}

/** Throws 403 if a LimitRange or Pod Security does not allow an object, and warns as Pod Security does. */
export function checkLimits(context: Context, write: LimitedWrite): void {
  checkRanges(context, write)
  if (write.kind.storage.id === 'namespaces') checkLabels(write)
  else checkSecurity(context, write)
}

/** The kinds whose updates may take more. */
const GROWING = ['persistentvolumeclaims', 'services']

/** Returns whether a write may take more resources. A pod takes them at its creation and by a resize. */
function mayTakeMore({ kind: { storage: { id } }, old, subresource }: LimitedWrite): boolean {
  if (id === 'pods') return !old || subresource === 'resize'
  return !subresource && (!old || GROWING.includes(id))
}

function checkRanges({ store }: Context, write: LimitedWrite): void {
  const { kind, object, old } = write
  const isRanged = ['pods', 'persistentvolumeclaims'].includes(kind.storage.id)
  if (!isRanged || !mayTakeMore(write) || old?.metadata.deletionTimestamp) return
  for (const range of store.list('limitranges', `${object.metadata.namespace}/`)) {
    const problems = limitProblems(object, range)
    const text = problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`
    if (problems.length > 0) throw forbidden(kind, object.metadata.name!, text)
  }
}

/** Where the kinds that make pods have their template. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  podtemplates: ['template'],
  'cronjobs.batch': ['spec', 'jobTemplate', 'spec', 'template'],
  ...Object.fromEntries(
    'replicationcontrollers jobs.batch deployments.apps daemonsets.apps replicasets.apps statefulsets.apps'.split(' ')
      .map((each) => [each, ['spec', 'template']]),
  ),
}

/** The kinds that LimitRanges and Pod Security are about, and namespaces, whose labels are checked. */
export const LIMITED: readonly string[] = ['namespaces', 'persistentvolumeclaims', 'pods', ...Object.keys(TEMPLATES)]

const images = (pod: ApiObject): Json => containersOf(pod['spec']).map(({ name, image }) => [name!, image!])

function checkSecurity({ store }: Context, { kind, object, old, subresource, warnings }: LimitedWrite): void {
  const { name = '', namespace = '' } = object.metadata
  const template = TEMPLATES[kind.storage.id]
  const isPod = kind.storage.id === 'pods' && subresource !== 'status'
  if (isPod ? old && jsonEqual(images(object), images(old)) : !template || subresource) return
  const labels = store.get('namespaces', namespace)?.metadata.labels ?? {}
  const spec = at(object, ...(template ?? []), 'spec')
  const level = (mode: string): string | undefined => labels[`${SECURITY}${mode}`]
  const broken = (mode: string): string => {
    const problems = isObject(spec) ? violations(level(mode)!, spec) : ''
    return problems && `PodSecurity "${level(mode)}:${labels[`${SECURITY}${mode}-version`] ?? 'latest'}": ${problems}`
  }
  const enforced = level('enforce') ? broken('enforce') : ''
  if (isPod && enforced) throw forbidden(kind, name, `violates ${enforced}`)
  const warned = level('warn') ? broken('warn') : enforced
  if (warned) warnings?.push(`would violate ${warned}`)
}

const SECURITY = 'pod-security.kubernetes.io/'

function checkLabels({ kind, object: { metadata }, old }: LimitedWrite): void {
  const faults = ['enforce', 'audit', 'warn'].flatMap((mode) =>
    [
      [mode, /^(privileged|baseline|restricted)$/, 'must be one of privileged, baseline, restricted'],
      [`${mode}-version`, /^(latest|v1\.(\d|[1-9]\d*))$/, 'must be "latest" or "v1.x"'],
    ].flatMap(([label, form, detail]) => {
      const [key, value] = [`${SECURITY}${label}`, metadata.labels?.[`${SECURITY}${label}`]]
      const isWrong = value !== undefined && value !== old?.metadata.labels?.[key] && !(form as RegExp).test(value)
      return isWrong ? [fault.invalid(`metadata.labels[${key}]`, value, String(detail))] : []
    })
  )
  if (faults.length > 0) throw invalid(kind, metadata.name!, faults)
}

/** Throws 403 if a write takes more than a ResourceQuota has left. */
export function checkQuotas({ store }: Context, write: LimitedWrite): void {
  if (!mayTakeMore(write)) return
  const { kind, object, old } = write
  const { namespace = '', name = '' } = object.metadata
  const added = minus(usageOf(kind, object), old ? usageOf(kind, old) : {})
  for (const quota of store.list('resourcequotas', `${namespace}/`)) {
    if (!isInScopes(quota, kind, object)) continue
    const [hard, used] = [amounts(at(quota, 'status', 'hard')), amounts(at(quota, 'status', 'used'))]
    const missing = kind.storage.id === 'pods' ? missingProblem(object, Object.keys(hard)) : undefined
    if (missing) throw forbidden(kind, name, `failed quota: ${quota.metadata.name}: ${missing}`)
    const over = Object.keys(added).filter((each) =>
      nanosOf(added[each]) > 0n && hard[each] !== undefined && nanosOf(plus(used, added)[each]) > nanosOf(hard[each])
    )
    const shown = (all: Amounts): string => over.sort().map((each) => `${each}=${all[each] ?? 0}`).join(',')
    if (over.length > 0) {
      const parts = `requested: ${shown(added)}, used: ${shown(used)}, limited: ${shown(hard)}`
      throw forbidden(kind, name, `exceeded quota: ${quota.metadata.name}, ${parts}`)
    }
  }
}

/** Returns the status of a quota with what the objects of its namespace take. */
export function quotaStatus({ store, kinds }: Context, quota: ApiObject): JsonObject {
  const { metadata, spec, status } = quota
  const hard = amounts(at(spec, 'hard'))
  const all = kinds.stored().filter(({ namespaced }) => namespaced).flatMap((kind) =>
    store.list(kind.storage.id, `${metadata.namespace}/`).filter((object) => isInScopes(quota, kind, object))
      .map((object) => usageOf(kind, object))
  ).reduce(plus, {})
  const used = Object.fromEntries(Object.keys(hard).map((name) => [name, all[name] ?? '0']))
  return { ...(isObject(status) ? status : {}), hard, used }
}
