/** The rules of APIServices: their fields are not checked, as requests are never forwarded. */
import type { Rules } from '../../model/kinds.ts'
import { fill } from '../common/fill.ts'

export const API_SERVICE_RULES: Partial<Rules> = {
  unconditionalUpdate: false,
  nameRule: 'path',
  defaults: (service) => fill(service, { 'spec.service.port': 443 }),
}
