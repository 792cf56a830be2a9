/**
 * Puts admissions, conversions and their server into the bundle of an operator that has this import. Elsewhere it
 * changes nothing.
 *
 * ```ts
 * import 'kubeloop/webhooks'
 * ```
 *
 * @module
 */
import { providePart } from '../../core/optional_parts.ts'

providePart('webhooks', () => import('../webhooks/open.ts'))
