/** Answers the kinds that ask about users and rights. */
import type { Access } from '../access/access.ts'
import { type Context, type KindRequest, nowIso } from '../context/context.ts'
import type { HttpResponse } from '../../core/transport.ts'
import { answerJson } from '../wire/respond.ts'
import type { Call } from '../model/routes.ts'
import { badRequest, type Cause, fault, invalid } from '../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../model/json.ts'
import { admitUnstored, readUnstored } from './unstored.ts'
import { type Attributes, resourceAttributes } from '../model/attributes.ts'
import { aggregate, rulesFor } from '../access/rbac.ts'
import { type User, userInfo } from '../model/user.ts'

/** Answers a POST, which stores nothing. */
type Answer = (request: KindRequest) => HttpResponse

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
  'selfsubjectaccessreviews.authorization.k8s.io': reviewing(({ access }, review, { user }) =>
    decided(access, review, user, ['managedFields'])
  ),
  'subjectaccessreviews.authorization.k8s.io': reviewing(({ access }, review) =>
    decided(access, review, subjectOf(review), ['managedFields'])
  ),
  'localsubjectaccessreviews.authorization.k8s.io': reviewing(({ access }, review) =>
    decided(access, review, subjectOf(review), ['managedFields', 'namespace'])
  ),
  'selfsubjectrulesreviews.authorization.k8s.io': reviewing((context, review, call) => ({
    apiVersion: review.apiVersion,
    kind: review.kind,
    metadata: {},
    spec: {},
    status: rulesStatus(context, review, call.user),
  })),
}

function reviewing(answer: (context: Context, review: ApiObject, call: Call) => JsonObject): Answer {
  return (request) => {
    const { context, kind, call } = request
    const review = readUnstored(request)
    delete review.metadata.uid
    return answerJson(201, JSON.stringify(answer(context, admitUnstored(request, kind, review), call)), call.warnings)
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

/** Returns an access review with its status. `fields`: the fields that its metadata may have. */
function decided(access: Access, review: ApiObject, user: User, fields: readonly string[]): JsonObject {
  const faults = reviewFaults(review, fields)
  // The real server names no kind here.
  if (faults.length > 0) throw invalid({ group: 'authorization.k8s.io', kind: '' }, '', faults)
  const { allowed, reason } = access.decide(attributesOf(review['spec'], user))
  return { ...review, status: { allowed, ...(reason && { reason }) } }
}

function attributesOf(spec: Json | undefined, user: User): Attributes {
  const resource = at(spec, 'resourceAttributes')
  const asked = isObject(resource) ? resource : at(spec, 'nonResourceAttributes')
  const of = (field: string): string => String(at(asked, field) ?? '')
  const verb = of('verb')
  if (!isObject(resource)) {
    return { ...resourceAttributes({ user, verb, resource: '', path: of('path') }), isResource: false }
  }
  const names = ['group', 'version', 'resource', 'subresource', 'namespace', 'name'] as const
  const fields = Object.fromEntries(names.map((name) => [name, of(name)])) as Record<typeof names[number], string>
  return resourceAttributes({ user, verb, ...fields })
}

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

function reviewFaults({ kind, metadata, spec }: ApiObject, fields: readonly string[]): Cause[] {
  const [resource, plain] = [at(spec, 'resourceAttributes'), at(spec, 'nonResourceAttributes')]
  const [ofResource, ofPath] = [isObject(resource), isObject(plain)]
  const isLocal = fields.includes('namespace')
  const hasSubject = kind === 'SelfSubjectAccessReview' || at(spec, 'user') || strings(at(spec, 'groups'))
  const isElsewhere = (at(resource, 'namespace') ?? '') !== metadata.namespace
  const wrong: readonly (readonly [isWrong: boolean, path: string, detail: string])[] = [
    [ofPath && (ofResource || isLocal), 'spec.nonResourceAttributes', 'not with resourceAttributes or a namespace'],
    [!ofPath && !ofResource, 'spec.resourceAttributes', 'it or nonResourceAttributes must be specified'],
    [!hasSubject, 'spec.user', 'at least one of user or group must be specified'],
    [isLocal && ofResource && isElsewhere, 'spec.resourceAttributes.namespace', 'must match metadata.namespace'],
    [
      Object.keys(metadata).some((name) => !fields.includes(name)),
      'metadata',
      'must be empty except for the namespace of a local review',
    ],
  ]
  return wrong.flatMap(([isWrong, path, detail]) => isWrong ? [fault.invalid(path, null, detail)] : [])
}
