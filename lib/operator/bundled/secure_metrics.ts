/**
 * Puts metrics over TLS, and their authorization, into the bundle of an operator that has this import. Elsewhere it
 * changes nothing.
 *
 * ```ts
 * import 'kubeloop/secure-metrics'
 * ```
 *
 * @module
 */
import { providePart } from '../../core/optional_parts.ts'

providePart('secure-metrics', () => import('../../manager/servers/secure_metrics.ts'))
