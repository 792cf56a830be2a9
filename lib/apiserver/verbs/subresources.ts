/** The subresources that are not parts of their object, by `plural.group/name`; `bindings` is a kind that is one. */
import type { HttpResponse } from '../../core/transport.ts'
import { requestToken } from './token_request.ts'
import type { Context } from '../context/context.ts'
import type { Call, ResourceRoute } from '../model/routes.ts'
import type { Kind } from '../model/kinds.ts'
import { bind } from './binding.ts'
import { forwarded, logs } from './connect.ts'
import { evict } from './eviction.ts'

type Answer = (context: Context, kind: Kind, route: ResourceRoute, call: Call) => HttpResponse

export const SUBRESOURCES: Readonly<Record<string, Answer>> = {
  bindings: bind,
  'nodes/proxy': forwarded,
  'pods/attach': forwarded,
  'pods/binding': bind,
  'pods/eviction': evict,
  'pods/exec': forwarded,
  'pods/log': logs,
  'pods/portforward': forwarded,
  'pods/proxy': forwarded,
  'serviceaccounts/token': requestToken,
  'services/proxy': forwarded,
}
