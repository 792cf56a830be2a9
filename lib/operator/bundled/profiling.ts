/**
 * Puts profiling into the bundle of an operator that has this import. Elsewhere it
 * changes nothing.
 *
 * ```ts
 * import 'kubeloop/profiling'
 * ```
 *
 * @module
 */
import { providePart } from '../../core/optional_parts.ts'

providePart('profiling', () => import('../../manager/servers/profiling.ts'))
