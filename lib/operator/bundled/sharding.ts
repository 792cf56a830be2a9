/**
 * Puts what shares objects among replicas into the bundle of an operator that has this import. Elsewhere it
 * changes nothing.
 *
 * ```ts
 * import 'kubeloop/sharding'
 * ```
 *
 * @module
 */
import { providePart } from '../../core/optional_parts.ts'

providePart('sharding', () => import('../sharding/sharding_parts.ts'))
