/**
 * Puts the compact cache into the bundle of an operator that has this import. Elsewhere it
 * changes nothing.
 *
 * ```ts
 * import 'kubeloop/compact'
 * ```
 *
 * @module
 */
import { providePart } from '../../core/optional_parts.ts'

providePart('compact', () => import('../../cache/compact/compact_caches.ts'))
