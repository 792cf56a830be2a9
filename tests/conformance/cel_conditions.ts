/** Cases of the conditions of webhooks. */
import assert from 'node:assert/strict'
import type { Body, Case } from './api.ts'
import { deny, install } from './webhooks.ts'

const PATH = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'

/** Conditions of a webhook that denies each ConfigMap, and whether it is called for one with `data: { k: 'v' }`. */
const CONDITIONS: readonly (readonly [expressions: readonly string[], isCalled: boolean])[] = [
  [["object.data.k == 'v'"], true],
  [["object.data.k == 'x'"], false],
  [["object.metadata.name == 'a'", 'false'], false],
  [
    ["request.operation == 'CREATE' && request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap'"],
    true,
  ],
  [["request.namespace == object.metadata.namespace && request.name == 'a'"], true],
  [['oldObject == null && object != null'], true],
  [["has(object.metadata.labels) && 'x' in object.metadata.labels"], false],
  [["'system:masters' in request.userInfo.groups"], true],
  [['request.dryRun'], false],
  [['object.data.nope == 1', 'false'], false],
  [['object.data.all(k, k.matches("^[a-z]$"))'], true],
]

const REFUSED: readonly (readonly [condition: Body, causes: readonly string[]])[] = [
  [{ name: 'a', expression: '' }, ['FieldValueRequired expression: Required value']],
  [{ name: '', expression: 'true' }, ['FieldValueRequired name: Required value']],
  [{ name: 'a', expression: 'object.x' }, [
    'FieldValueInvalid expression: Invalid value: "object.x": must evaluate to bool but got dyn',
  ]],
  [{ name: 'a', expression: '1' }, [
    'FieldValueInvalid expression: Invalid value: "1": must evaluate to bool but got int',
  ]],
  [{ name: 'a', expression: 'nope' }, [
    'FieldValueInvalid expression: Invalid value: "nope": compilation failed: ERROR: <input>:1:1: undeclared ' +
    "reference to 'nope' (in container '')\n | nope\n | ^",
  ]],
  [{ name: 'a', expression: 'request.nope' }, [
    'FieldValueInvalid expression: Invalid value: "request.nope": compilation failed: ERROR: <input>:1:8: undefined ' +
    "field 'nope'\n | request.nope\n | .......^",
  ]],
]

export const CONDITION_CASES: readonly Case[] = [
  ...CONDITIONS.map(([expressions, isCalled]): Case => ({
    name: `a webhook is ${isCalled ? '' : 'not '}called under the conditions ${expressions.join('; ')}`,
    async run(api) {
      const matchConditions = expressions.map((expression, index) => ({ name: `c${index}`, expression }))
      await install(api, 'Validating', { respond: (review) => deny(review), fields: { matchConditions } })
      const { status } = await api.request('POST', api.configMaps, api.configMap('a'))
      assert.equal(status, isCalled ? 400 : 201)
    },
  })),
  {
    name: 'a condition that fails refuses the request, unless failures are ignored',
    async run(api) {
      const matchConditions = [{ name: 'a', expression: 'object.data.nope == 1' }]
      const marked = "!has(object.metadata.labels) || !('marker' in object.metadata.labels)"
      const conditions = [{ name: 'm', expression: marked }, ...matchConditions]
      await install(api, 'Mutating', { fields: { matchConditions: conditions, failurePolicy: 'Ignore' } })
      await api.expect(201, 'POST', api.configMaps, api.configMap('a'))
      await install(api, 'Mutating', { fields: { matchConditions: conditions } })
      const { message } = await api.refused(403, 'Forbidden', 'POST', api.configMaps, api.configMap('b'))
      assert.equal(
        message,
        'configmaps "b" is forbidden: expression \'object.data.nope == 1\' resulted in error: no such key: nope',
      )
    },
  },
  {
    name: 'the conditions of a webhook are checked when it is created',
    async run(api) {
      for (const [condition, expected] of REFUSED) {
        const config = {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingWebhookConfiguration',
          metadata: { name: api.namespace },
          webhooks: [{
            name: 'a.b.example.com',
            clientConfig: api.hooks.client('/none'),
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            matchConditions: [condition],
          }],
        }
        const { body } = await api.request('POST', `${PATH}?dryRun=All`, config)
        const causes = (body.details?.causes ?? []) as Body[]
        const given = causes.map(({ reason, field, message }) =>
          `${reason} ${field.replace('webhooks[0].matchConditions[0].', '')}: ${message}`
        )
        assert.deepEqual(given, expected, condition.expression)
      }
    },
  },
]
