/** What answers the kinds without stored objects, and the subresources that are not parts of their object. */
import type { HttpResponse } from '../../core/transport.ts'
import type { KindRequest } from '../context/context.ts'
import { bind } from './binding.ts'
import { forwarded, logs } from './connect.ts'
import { evict } from './eviction.ts'
import { REVIEWS } from './reviews.ts'
import { requestToken } from './token_request.ts'

/** By `plural.group`, or `plural.group/name`. */
export const ANSWERS: Readonly<Record<string, (request: KindRequest) => HttpResponse>> = {
  ...REVIEWS,
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
