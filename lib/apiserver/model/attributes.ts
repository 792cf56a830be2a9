/** What a request does, in the terms of authorization. */
import { NO_RESOURCE, type RequestedAction, requestedAction } from '../../core/requested_action.ts'
import { StatusError } from './status.ts'
import type { User } from './user.ts'

/** The action that a user asks for. */
export interface Attributes extends RequestedAction {
  readonly user: User
}

/** Returns the attributes of an action on a resource. */
export function resourceAttributes(
  given: Pick<Attributes, 'user' | 'verb' | 'resource'> & Partial<Attributes>,
): Attributes {
  return { ...NO_RESOURCE, isResource: true, ...given }
}

/** The parts of a request that say what it does. */
interface Target {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
}

/** Returns the attributes of a request. */
export function attributesOf({ method, path, query }: Target, user: User): Attributes {
  return { ...requestedAction(method, path, query), user }
}

/** Returns the 403 error of an action that is not allowed. */
export function notAllowed(attributes: Attributes, reason = ''): StatusError {
  const { group, resource, name, isResource } = attributes
  const text = escaped(problemOf(attributes)) + (reason && `: ${reason}`)
  if (!isResource) return new StatusError(403, 'Forbidden', `forbidden: ${text}`, {})
  const qualified = group ? `${resource}.${group}` : resource
  return new StatusError(403, 'Forbidden', `${qualified}${name && ` ${JSON.stringify(name)}`} is forbidden: ${text}`, {
    ...(name && { name }),
    ...(group && { group }),
    kind: resource,
  })
}

function problemOf({ user, verb, isResource, path, group, resource, subresource, namespace }: Attributes): string {
  const start = `User ${JSON.stringify(user.name)} cannot ${verb}`
  if (!isResource) return `${start} path ${JSON.stringify(path)}`
  const target = JSON.stringify(subresource ? `${resource}/${subresource}` : resource)
  const place = namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope'
  return `${start} resource ${target} in API group ${JSON.stringify(group)} ${place}`
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
