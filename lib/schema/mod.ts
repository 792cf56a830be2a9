/**
 * `kubeloop/schema`: zod schemas of what many kinds have.
 *
 * @module
 */
import {
  $ZodArray,
  $ZodEnum,
  $ZodISODateTime,
  $ZodNumberFormat,
  $ZodObject,
  $ZodOptional,
  $ZodString,
  type $ZodType,
  _array,
  _enum,
  _gte,
  _isoDateTime,
  _maxLength,
  _regex,
  globalRegistry,
} from 'zod/v4/core'
import { type Condition, MAX_MESSAGE, MAX_REASON, MAX_TYPE, REASON, TYPE } from '../core/conditions.ts'

export type { Condition } from '../core/conditions.ts'

/**
 * The schema of `status.conditions`: a list with one condition of each type, which may be absent. Types, reasons and lengths are those
 * of meta/v1 Condition.
 *
 * @example
 * ```ts
 * import { defineResource } from 'kubeloop'
 * import { conditionList } from 'kubeloop/schema'
 * import * as z from 'zod'
 * const Foo = defineResource({
 *   group: 'example.com', version: 'v1', kind: 'Foo',
 *   spec: z.object({ size: z.int32() }), status: z.object({ conditions: conditionList }),
 * })
 * ```
 */
export const conditionList: $ZodOptional<$ZodType<readonly Condition[], readonly Condition[]>> = optional(listSchema())

function optional<T extends $ZodType>(innerType: T): $ZodOptional<T> {
  return new $ZodOptional({ type: 'optional', innerType }) as $ZodOptional<T>
}

/** With the type as the key, server-side apply merges conditions of several writers. */
function listSchema(): $ZodType<readonly Condition[], readonly Condition[]> {
  const list = _array($ZodArray, conditionSchema())
  globalRegistry.add(list, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
  return list as $ZodType as $ZodType<readonly Condition[], readonly Condition[]>
}

function conditionSchema(): $ZodObject {
  const text = (...checks: ReturnType<typeof _regex | typeof _maxLength>[]): $ZodString =>
    new $ZodString({ type: 'string', checks: checks as never })
  return new $ZodObject({
    type: 'object',
    shape: {
      type: text(_regex(TYPE), _maxLength(MAX_TYPE)),
      status: _enum($ZodEnum, ['True', 'False', 'Unknown']),
      reason: text(_regex(REASON), _maxLength(MAX_REASON)),
      message: text(_maxLength(MAX_MESSAGE)),
      lastTransitionTime: _isoDateTime($ZodISODateTime, { offset: true }),
      observedGeneration: optional(
        new $ZodNumberFormat({
          type: 'number',
          check: 'number_format',
          format: 'safeint',
          abort: false,
          checks: [_gte(0)],
        }),
      ),
    },
  })
}
