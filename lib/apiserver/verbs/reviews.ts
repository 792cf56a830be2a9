/** Answers the kinds that ask about users and rights. */
import { type Context, nowIso } from '../context/context.ts'
import type { HttpResponse } from '../../core/transport.ts'
import { answerJson } from '../wire/respond.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import { badRequest, type Cause, fault, invalid } from '../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { admitted, isDryRunCall, readUnstored } from './unstored.ts'
import { type Attributes, resourceAttributes } from '../model/attributes.ts'
import { aggregate, rulesFor } from '../access/rbac.ts'
import { type User, userInfo } from '../model/user.ts'

/** Answers a POST, which stores nothing. */
type Answer = (context: Context, kind: Kind, route: ResourceRoute, call: Call) => HttpResponse

/** By `plural.group`. */
export const REVIEWS: Readonly<Record<string, Answer>> = {
  'selfsubjectreviews.authentication.k8s.io': reviewing((context, review, call) => ({
    apiVersion: review.apiVersion,
    kind: review.kind,
    metadata: { creationTimestamp: nowIso(context) },
    status: { userInfo: userInfo(call.user) },
  })),
  'tokenreviews.authentication.k8s.io': reviewing((context, review) => ({
    ...review,
    status: tokenStatus(context, review),
  })),
  'selfsubjectaccessreviews.authorization.k8s.io': reviewing((context, review, call) => {
    refuse([...specFaults(review), ...metadataFaults(review, ['managedFields'])])
    return { ...review, status: accessStatus(context, review, call.user) }
  }),
  'subjectaccessreviews.authorization.k8s.io': reviewing((context, review) => {
    refuse([...specFaults(review), ...metadataFaults(review, ['managedFields'])])
    return { ...review, status: accessStatus(context, review, subjectOf(review)) }
  }),
  'localsubjectaccessreviews.authorization.k8s.io': reviewing((context, review) => {
    refuse([...specFaults(review), ...metadataFaults(review, ['managedFields', 'namespace']), ...placeFaults(review)])
    return { ...review, status: accessStatus(context, review, subjectOf(review)) }
  }),
  'selfsubjectrulesreviews.authorization.k8s.io': reviewing((context, review, call) => ({
    apiVersion: review.apiVersion,
    kind: review.kind,
    metadata: {},
    spec: {},
    status: rulesStatus(context, review, call.user),
  })),
}

function reviewing(answer: (context: Context, review: ApiObject, call: Call) => JsonObject): Answer {
  return (context, kind, route, call) => {
    const review = readUnstored(context, kind, route, call)
    delete review.metadata.uid
    const admittedReview = admitted(context, kind, route, kind, review, isDryRunCall(call))
    return answerJson(201, JSON.stringify(answer(context, admittedReview, call)), call.warnings)
  }
}

function tokenStatus(context: Context, review: ApiObject): JsonObject {
  const token = String(at(review, 'spec', 'token') ?? '')
  if (!token) throw badRequest('token is required for TokenReview in authentication')
  const audiences = at(review, 'spec', 'audiences')
  const result = context.access.review(token, strings(audiences))
  if ('error' in result) {
    const messages = ['invalid bearer token', ...(result.error ? [result.error] : [])]
    return { user: {}, error: aggregate(messages) }
  }
  return { authenticated: true, user: userInfo(result.user), audiences: [...result.audiences] }
}

function strings(value: Json | undefined): string[] | undefined {
  return Array.isArray(value) && value.length > 0 ? value.map(String) : undefined
}

function subjectOf({ spec }: ApiObject): User {
  const extra = isObject(at(spec, 'extra')) ? at(spec, 'extra') as JsonObject : {}
  return {
    name: String(at(spec, 'user') ?? ''),
    uid: String(at(spec, 'uid') ?? ''),
    groups: strings(at(spec, 'groups')) ?? [],
    extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, strings(values) ?? []])),
  }
}

function accessStatus({ access }: Context, { spec }: ApiObject, user: User): JsonObject {
  const { allowed, reason } = access.decide(attributesOf(spec, user))
  return { allowed, ...(reason && { reason }) }
}

function attributesOf(spec: Json | undefined, user: User): Attributes {
  const resource = at(spec, 'resourceAttributes')
  const of = (value: Json | undefined, field: string): string => String(at(value, field) ?? '')
  if (!isObject(resource)) {
    const plain = at(spec, 'nonResourceAttributes')
    const base = resourceAttributes({ user, verb: of(plain, 'verb'), resource: '', path: of(plain, 'path') })
    return { ...base, isResource: false }
  }
  return resourceAttributes({
    user,
    verb: of(resource, 'verb'),
    group: of(resource, 'group'),
    version: of(resource, 'version'),
    resource: of(resource, 'resource'),
    subresource: of(resource, 'subresource'),
    namespace: of(resource, 'namespace'),
    name: of(resource, 'name'),
  })
}

/** Returns the rules of a user in a namespace. */
function rulesStatus({ access }: Context, review: ApiObject, user: User): JsonObject {
  const namespace = String(at(review, 'spec', 'namespace') ?? '')
  if (!namespace) throw badRequest('no namespace on request')
  const resourceRules: JsonObject[] = []
  const nonResourceRules: JsonObject[] = []
  const problems = new Set<string>()
  for (const each of rulesFor(access.roles, user, namespace)) {
    if (typeof each === 'string') {
      problems.add(each)
      continue
    }
    const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = each.rule
    if (resources?.length) {
      resourceRules.push({
        verbs: [...verbs],
        ...(apiGroups?.length && { apiGroups: [...apiGroups] }),
        resources: [...resources],
        ...(resourceNames?.length && { resourceNames: [...resourceNames] }),
      })
    }
    if (nonResourceURLs?.length) nonResourceRules.push({ verbs: [...verbs], nonResourceURLs: [...nonResourceURLs] })
  }
  return {
    resourceRules,
    nonResourceRules,
    incomplete: false,
    ...(problems.size > 0 && { evaluationError: aggregate(problems) }),
  }
}

function refuse(faults: readonly Cause[]): void {
  // The real server names no kind here.
  if (faults.length > 0) throw invalid({ group: 'authorization.k8s.io', kind: '' }, '', faults)
}

function specFaults({ kind, spec }: ApiObject): Cause[] {
  const faults: Cause[] = []
  const resource = at(spec, 'resourceAttributes')
  const plain = at(spec, 'nonResourceAttributes')
  if (isObject(resource) && isObject(plain)) {
    const detail = 'cannot be specified in combination with resourceAttributes'
    faults.push(fault.invalid('spec.nonResourceAttributes', plain, detail))
  }
  if (!isObject(resource) && !isObject(plain)) {
    const problem = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    faults.push(fault.invalid('spec.resourceAttributes', null, problem))
  }
  if (kind !== 'SelfSubjectAccessReview' && !at(spec, 'user') && !strings(at(spec, 'groups'))) {
    faults.push(fault.invalid('spec.user', '', 'at least one of user or group must be specified'))
  }
  return faults
}

function metadataFaults({ metadata }: ApiObject, allowed: readonly string[]): Cause[] {
  const isAllowed = Object.keys(metadata).every((name) => allowed.includes(name))
  return isAllowed
    ? []
    : [fault.invalid('metadata', metadata, 'must be empty except for the namespace of a local review')]
}

function placeFaults({ metadata, spec }: ApiObject): Cause[] {
  const resource = at(spec, 'resourceAttributes')
  const plain = at(spec, 'nonResourceAttributes')
  const namespace = at(resource, 'namespace') ?? ''
  return [
    ...(isObject(resource) && namespace !== metadata.namespace
      ? [fault.invalid('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace')]
      : []),
    ...(isObject(plain)
      ? [fault.invalid('spec.nonResourceAttributes', plain, 'disallowed on this kind of request')]
      : []),
  ]
}
