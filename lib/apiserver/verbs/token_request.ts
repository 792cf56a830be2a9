/** Handles POST to a service account's /token. */
import { type Context, type KindRequest, nowIso, readObject } from '../context/context.ts'
import type { HttpResponse } from '../../core/transport.ts'
import { answerJson } from '../wire/respond.ts'
import type { ResourceRoute } from '../model/routes.ts'
import { badRequest, conflict, fault, invalid } from '../model/status.ts'
import { type ApiObject, at, instant, isObject, type Json, type JsonObject } from '../model/json.ts'
import { admitUnstored, bodyKind, readUnstored } from './unstored.ts'
import { type Claims, ISSUER, type Ref } from '../access/tokens.ts'

const GROUP = 'authentication.k8s.io'
const TOKEN_REQUEST = { group: GROUP, version: 'v1', kind: 'TokenRequest' }

const DEFAULT_SECONDS = 3600
const MIN_SECONDS = 600
const MAX_SECONDS = 2 ** 32
/** Kubelets request this for pods of old clients: the token lives for a year, and asks to be replaced after an hour. */
const EXTENDED_SECONDS = 3607
const YEAR_SECONDS = 365 * 24 * 3600

/** @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/serviceaccount/storage/token.go */
export function requestToken(asked: KindRequest): HttpResponse {
  const { context, route, call } = asked
  const request = readUnstored({ ...asked, kind: bodyKind(TOKEN_REQUEST) }, (object) => {
    const spec = isObject(object['spec']) ? object['spec'] : {}
    object['spec'] = { ...spec, expirationSeconds: spec['expirationSeconds'] ?? DEFAULT_SECONDS }
  })
  const { name: given, uid } = request.metadata
  if (given && given !== route.name) {
    const problem = fault.invalid('metadata.name', given, 'must match the service account name if specified')
    throw invalid(TOKEN_REQUEST, route.name, [problem])
  }
  const account = readObject(asked)
  if (uid && uid !== account.metadata.uid) {
    const problem =
      `the UID in the token request (${uid}) does not match the UID of the service account (${account.metadata.uid})`
    throw conflict({ group: GROUP, plural: TOKEN_REQUEST.kind }, route.name, problem)
  }
  const spec = request['spec'] as JsonObject
  const audiences = Array.isArray(spec['audiences']) && spec['audiences'].length > 0
    ? spec['audiences'].map(String)
    : [ISSUER]
  const seconds = Number(spec['expirationSeconds'])
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) {
    const detail = `must be between ${MIN_SECONDS} and ${MAX_SECONDS}`
    throw invalid(TOKEN_REQUEST, '', [fault.invalid('spec.expirationSeconds', seconds, detail)])
  }
  admitUnstored(asked, TOKEN_REQUEST, request)
  const bound = boundTo(context, route, spec['boundObjectRef'])
  const isExtended = bound.pod !== undefined && seconds === EXTENDED_SECONDS &&
    audiences.every((each) => each === ISSUER)
  const token = context.access.tokens.issue({
    ...bound,
    audiences,
    namespace: route.namespace,
    account: refOf(account),
    expirationSeconds: isExtended ? YEAR_SECONDS : seconds,
    ...(isExtended && { warnAfterSeconds: seconds }),
  })
  const { managedFields } = request.metadata
  const answer = {
    kind: TOKEN_REQUEST.kind,
    apiVersion: `${GROUP}/v1`,
    metadata: {
      name: route.name,
      namespace: route.namespace,
      uid: account.metadata.uid,
      creationTimestamp: nowIso(context),
      ...(managedFields && { managedFields }),
    },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec['boundObjectRef'] ?? null },
    status: { token, expirationTimestamp: instant(context.clock.now() + seconds * 1000) },
  }
  return answerJson(201, JSON.stringify(answer), call.warnings)
}

/** Returns the claims of the object that a token is bound to. Throws if it does not exist, or has another uid. */
function boundTo(
  context: Context,
  route: ResourceRoute,
  ref: Json | undefined,
): Pick<Claims, 'pod' | 'secret' | 'node'> {
  if (!isObject(ref)) return {}
  const { kind = '', apiVersion = '', name = '', uid = '' } = ref as Record<string, string>
  const plural = Object.hasOwn(BOUND, kind) ? BOUND[kind]! : ''
  if (!plural || apiVersion.includes('/')) throw badRequest(`cannot bind a token to a ${kind} of ${apiVersion}`)
  const bound = context.kinds.find('', 'v1', plural)!
  const object = readObject({ context, kind: bound, route: { ...route, name } })
  if (kind === 'Pod' && at(object, 'spec', 'serviceAccountName') !== route.name) {
    throw badRequest(`the pod runs as another service account than ${route.name}`)
  }
  if (uid && uid !== object.metadata.uid) {
    const detail = `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
      'The object might have been deleted and then recreated'
    throw conflict({ group: '', plural: kind }, name, detail)
  }
  if (kind === 'Secret') return { secret: refOf(object) }
  if (kind === 'Node') return { node: refOf(object) }
  const node = String(at(object, 'spec', 'nodeName') ?? '')
  const uidOfNode = context.store.get('nodes', node)?.metadata.uid ?? ''
  return { pod: refOf(object), ...(node && { node: { name: node, uid: uidOfNode } }) }
}

const BOUND: Readonly<Record<string, string>> = { Pod: 'pods', Secret: 'secrets', Node: 'nodes' }

function refOf({ metadata }: ApiObject): Ref {
  return { name: metadata.name!, uid: metadata.uid! }
}
