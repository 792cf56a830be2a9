/**
 * Puts schedules, with croner, into the bundle of an operator that has this import. Elsewhere it
 * changes nothing.
 *
 * ```ts
 * import 'kubeloop/schedules'
 * ```
 *
 * @module
 */
import { providePart } from '../../core/optional_parts.ts'

providePart('schedules', () => import('../schedules.ts'))
