/** Handles POST to a service account's /token. */
import { type Context, nowIso, readObject, storeKey } from '../context/context.ts'
import type { HttpResponse } from '../../core/transport.ts'
import { answerJson } from '../wire/respond.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import { badRequest, type Cause, conflict, fault, invalid, methodNotAllowed, notFound } from '../model/status.ts'
import { type ApiObject, at, instant, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Kind } from '../model/kinds.ts'
import { admitted, bodyKind, isDryRunCall, readUnstored } from './unstored.ts'
import { type Claims, ISSUER, type Ref } from '../access/tokens.ts'

const GROUP = 'authentication.k8s.io'
const TOKEN_REQUEST = { group: GROUP, version: 'v1', kind: 'TokenRequest' }

const DEFAULT_SECONDS = 3600
const MIN_SECONDS = 600
const MAX_SECONDS = 2 ** 32
/** Kubelets request this for pods of old clients: the token lives for a year, and asks to be replaced after an hour. */
const EXTENDED_SECONDS = 3607
const YEAR_SECONDS = 365 * 24 * 3600

/**
 * @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/serviceaccount/storage/token.go
 */
export function requestToken(context: Context, kind: Kind, route: ResourceRoute, call: Call): HttpResponse {
  if (call.method !== 'POST') throw methodNotAllowed()
  const request = readUnstored(context, bodyKind(TOKEN_REQUEST), route, call, (object) => {
    const spec = isObject(object['spec']) ? object['spec'] : {}
    object['spec'] = { ...spec, expirationSeconds: spec['expirationSeconds'] ?? DEFAULT_SECONDS }
  })
  const { name: given, uid } = request.metadata
  if (given && given !== route.name) {
    const problem = fault.invalid('metadata.name', given, 'must match the service account name if specified')
    throw invalid(TOKEN_REQUEST, route.name, [problem])
  }
  const account = readObject(context, kind, { ...route, subresource: '' })
  if (uid && uid !== account.metadata.uid) {
    const problem =
      `the UID in the token request (${uid}) does not match the UID of the service account (${account.metadata.uid})`
    throw conflict({ group: GROUP, plural: TOKEN_REQUEST.kind }, route.name, problem)
  }
  const spec = request['spec'] as JsonObject
  const audiences = Array.isArray(spec['audiences']) && spec['audiences'].length > 0
    ? spec['audiences'].map(String)
    : [ISSUER]
  const faults = expirationFaults(spec['expirationSeconds'])
  if (faults.length > 0) throw invalid(TOKEN_REQUEST, '', faults)
  admitted(context, kind, route, TOKEN_REQUEST, request, isDryRunCall(call))
  const seconds = Number(spec['expirationSeconds'])
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

function expirationFaults(seconds: Json | undefined): Cause[] {
  const path = 'spec.expirationSeconds'
  if (Number(seconds) < MIN_SECONDS) {
    return [fault.invalid(path, seconds, 'may not specify a duration less than 10 minutes')]
  }
  if (Number(seconds) > MAX_SECONDS) {
    return [fault.invalid(path, seconds, 'may not specify a duration larger than 2^32 seconds')]
  }
  return []
}

/** Returns the claims of the object that a token is bound to. Throws if it does not exist, or has another uid. */
function boundTo(
  context: Context,
  route: ResourceRoute,
  ref: Json | undefined,
): Pick<Claims, 'pod' | 'secret' | 'node'> {
  if (!isObject(ref)) return {}
  const { kind = '', apiVersion = '', name = '', uid = '' } = ref as Record<string, string>
  const object = boundObject(context, route, apiVersion, kind, name)
  if (kind === 'Pod' && at(object, 'spec', 'serviceAccountName') !== route.name) {
    throw badRequest(
      `cannot bind token for serviceaccount ${
        JSON.stringify(route.name)
      } to pod running with different serviceaccount name.`,
    )
  }
  if (uid && uid !== object.metadata.uid) {
    const detail = `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
      'The object might have been deleted and then recreated'
    throw conflict({ group: '', plural: kind }, name, detail)
  }
  if (kind === 'Secret') return { secret: refOf(object) }
  if (kind === 'Node') return { node: refOf(object) }
  const node = at(object, 'spec', 'nodeName')
  return { pod: refOf(object), ...(node ? { node: nodeRef(context, String(node)) } : {}) }
}

/** The kinds that a token can be bound to. */
const BOUND: Readonly<Record<string, string>> = { Pod: 'pods', Secret: 'secrets', Node: 'nodes' }

function boundObject(
  context: Context,
  route: ResourceRoute,
  apiVersion: string,
  kind: string,
  name: string,
): ApiObject {
  const plural = Object.hasOwn(BOUND, kind) ? BOUND[kind]! : undefined
  const [group, version] = groupVersion(apiVersion)
  if (!plural || group !== '') {
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`)
  }
  const found = context.kinds.find('', 'v1', plural)!
  const object = context.store.get(plural, storeKey(found, route.namespace, name))
  if (!object) throw notFound(found, name)
  return object
}

function groupVersion(apiVersion: string): readonly [group: string, version: string] {
  const parts = apiVersion.split('/')
  if (parts.length > 2) return ['', '']
  return parts.length === 2 ? [parts[0]!, parts[1]!] : ['', apiVersion]
}

function nodeRef({ store }: Context, name: string): Ref {
  return { name, uid: store.get('nodes', name)?.metadata.uid ?? '' }
}

function refOf({ metadata }: ApiObject): Ref {
  return { name: metadata.name!, uid: metadata.uid! }
}
