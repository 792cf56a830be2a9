/**
 * Puts tracing into the bundle of an operator that has this import. Elsewhere it
 * changes nothing.
 *
 * ```ts
 * import 'kubeloop/tracing'
 * ```
 *
 * @module
 */
import { providePart } from '../../core/optional_parts.ts'

providePart('tracing', () => import('../../observe/tracing.ts'))
