/** Cases of the conditions of webhooks. */
import type { Case } from './api.ts'
import { casesOf, cm, script, type Step } from './transcript.ts'
import { configuration, deny, hooked, IDLE, rule } from './webhooks.ts'

const PATH = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'

/** Conditions of webhooks: those that a ConfigMap with `data: { k: 'v' }` meets are called. */
const CONDITIONS: readonly (readonly string[])[] = [
  ["object.data.k == 'v'"],
  ["object.data.k == 'x'"],
  ["object.metadata.name == 'a'", 'false'],
  ["request.operation == 'CREATE' && request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap'"],
  ["request.namespace == object.metadata.namespace && request.name == 'a'"],
  ['oldObject == null && object != null'],
  ["has(object.metadata.labels) && 'x' in object.metadata.labels"],
  ["'system:masters' in request.userInfo.groups"],
  ['request.dryRun'],
  ['object.data.nope == 1', 'false'],
  ['object.data.all(k, k.matches("^[a-z]$"))'],
]

const CHECKED: readonly (readonly [name: string, expression: string])[] = [
  ['a', ''],
  ['', 'true'],
  ['a', 'object.x'],
  ['a', '1'],
  ['a', 'nope'],
  ['a', 'request.nope'],
]

const conditions = (expressions: readonly string[]) => ({
  matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
})

/** A condition that fails, for all but the request that tests whether the configuration is used. */
const FAILING = conditions([
  "!has(object.metadata.labels) || !('marker' in object.metadata.labels)",
  'object.data.nope == 1',
])

export const CONDITION_CASES: readonly Case[] = casesOf('cel_features', [
  hooked('a webhook is called if all its conditions are true', [
    ['Validating', ...CONDITIONS.map((expressions) => ({ fields: conditions(expressions) }))],
  ], [['POST cm', cm('a')], 'CALLS ? name']),
  hooked('a webhook whose conditions are true denies', [
    ['Validating', { respond: (review) => deny(review), fields: conditions(["request.name == 'a'"]) }],
  ], [['POST cm', cm('a')], ['POST cm', cm('b')]]),
  hooked('a condition that fails refuses the request, unless failures are ignored', [
    ['Mutating', { fields: { ...FAILING, failurePolicy: 'Ignore' } }],
    ['Validating', { rules: [rule(['configmaps'], ['UPDATE'])], fields: FAILING }],
  ], [['POST cm', cm('a')], ['PUT cm/a', cm('a', { k: 'w' })]]),
  script(
    'the conditions of a webhook are checked when it is created',
    CHECKED.map(([name, expression]): Step => [
      `POST ${PATH}?dryRun=All`,
      configuration('Validating', 'a', [{ ...IDLE, matchConditions: [{ name, expression }] }]),
    ]),
  ),
])
