/**
 * `kubeloop/schema`: zod schemas of fields that many kinds have, and checks with what only Kubernetes knows.
 *
 * @module
 */
import {
  $ZodArray,
  type $ZodCheck,
  $ZodEnum,
  $ZodISODateTime,
  $ZodObject,
  type $ZodOptional,
  $ZodRecord,
  type $ZodType,
  _enum,
  _gte,
  _isoDateTime,
  _maxLength,
  _regex,
} from 'zod/v4/core'
import type { LabelExpression, LabelSelector } from '../core/selectors.ts'
import { field, type FieldSchema, integer, optional, text } from './formats.ts'
import { type Condition, MAX_MESSAGE, MAX_REASON, MAX_TYPE, REASON, TYPE } from '../core/conditions.ts'
import { atomic, listMap } from './checks.ts'

export { atomic, cel, type CelOptions, embedded, entries, listMap, listSet } from './checks.ts'
export {
  dateTime,
  duration,
  durationMs,
  type EmbeddedObject,
  embeddedObject,
  type FieldSchema,
  intOrString,
  quantity,
} from './formats.ts'
export type { Condition } from '../core/conditions.ts'
export type { LabelExpression, LabelSelector } from '../core/selectors.ts'

/**
 * The schema of `status.conditions`: an optional list with one condition of each type. Types, reasons and lengths
 * follow meta/v1 Condition.
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
export const conditionList: $ZodOptional<$ZodType<readonly Condition[], readonly Condition[]>> = optional(
  conditionsSchema(),
)

/**
 * The schema of a label selector, such as a Deployment's `spec.selector`: `matchLabels` and `matchExpressions`, as in
 * meta/v1 LabelSelector. Server-side apply replaces it as one value. The server checks the operators, but neither the
 * form of the labels nor the number of values: `client.list(Pod, { labels: selectors.formatLabels(selector) })` throws
 * a TypeError for what can't select.
 *
 * @example
 * ```ts
 * import { defineResource } from 'kubeloop'
 * import { labelSelector } from 'kubeloop/schema'
 * import * as z from 'zod'
 * const Foo = defineResource({
 *   group: 'example.com', version: 'v1', kind: 'Foo',
 *   spec: z.object({ selector: labelSelector, others: z.optional(labelSelector) }),
 * })
 * ```
 */
export const labelSelector: FieldSchema<LabelSelector> = field(selectorSchema())

function selectorSchema(): $ZodType<LabelSelector, LabelSelector> {
  const expression = new $ZodObject({
    type: 'object',
    shape: {
      key: text(),
      operator: _enum($ZodEnum, ['In', 'NotIn', 'Exists', 'DoesNotExist']),
      values: optional(listOf(text(), atomic())),
    },
  }) as $ZodType as $ZodType<LabelExpression, LabelExpression>
  const selector = new $ZodObject({
    type: 'object',
    shape: {
      matchLabels: optional(new $ZodRecord({ type: 'record', keyType: text(), valueType: text() })),
      matchExpressions: optional(listOf(expression, atomic())),
    },
    checks: [atomic()] as never,
  })
  return selector as $ZodType as $ZodType<LabelSelector, LabelSelector>
}

function listOf(element: $ZodType, check: $ZodCheck<unknown>): $ZodType {
  return new $ZodArray({ type: 'array', element, checks: [check] as never })
}

/** The type is the key of the list, so that server-side apply merges conditions of several writers. */
function conditionsSchema(): $ZodType<readonly Condition[], readonly Condition[]> {
  const condition = new $ZodObject({
    type: 'object',
    shape: {
      type: text(_regex(TYPE), _maxLength(MAX_TYPE)),
      status: _enum($ZodEnum, ['True', 'False', 'Unknown']),
      reason: text(_regex(REASON), _maxLength(MAX_REASON)),
      message: text(_maxLength(MAX_MESSAGE)),
      lastTransitionTime: _isoDateTime($ZodISODateTime, { offset: true }),
      observedGeneration: optional(integer('safeint', _gte(0))),
    },
  })
  return listOf(condition, listMap('type')) as $ZodType as $ZodType<readonly Condition[], readonly Condition[]>
}
