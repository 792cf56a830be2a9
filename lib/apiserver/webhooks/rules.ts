/** The rules of webhook configurations, and of the conversion in a CustomResourceDefinition. */
import { celEngine } from '../cel/load.ts'
import { at, isObject, type Json, type JsonObject, list, objectAt } from '../model/json.ts'
import type { Rules } from '../model/kinds.ts'
import { type Cause, fault } from '../model/status.ts'
import {
  between,
  type Check,
  checked,
  type Checks,
  fields,
  labelSelector,
  must,
  name,
  notBlank,
  oneOf,
  portNumber,
  qualified,
  required,
  uniqueNames,
  unset,
  without,
} from '../model/checks.ts'

/** @param defaults The fields that only webhooks of this type have, with their default values. */
function rulesOf(defaults: JsonObject): Partial<Rules> {
  return {
    generation: true,
    unconditionalUpdate: false,
    prepareRules: (config) => {
      if (list(config['webhooks']).some((hook) => list(hook['matchConditions']).length > 0)) celEngine()
    },
    defaults: (config) => list(config['webhooks']).forEach((hook) => hookDefaults(hook, defaults)),
    validate: (config) => checked(config, CONFIGURATION),
  }
}

export const WEBHOOK_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': rulesOf({ reinvocationPolicy: 'Never' }),
  'validatingwebhookconfigurations.admissionregistration.k8s.io': rulesOf({}),
}

function hookDefaults(hook: JsonObject, more: JsonObject): void {
  const given: JsonObject = {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    ...more,
  }
  for (const [field, value] of Object.entries(given)) hook[field] ??= value
  for (const rule of list(hook['rules'])) rule['scope'] ??= '*'
  serviceDefaults(hook['clientConfig'])
}

function serviceDefaults(clientConfig: Json | undefined): void {
  if (isObject(clientConfig) && isObject(clientConfig['service'])) clientConfig['service']['port'] ??= 443
}

const MAX_CONDITIONS = 64

/** Returns the checks of conditions. `problemOf` returns what is wrong with an expression. */
export function conditionChecks(
  path: string,
  problemOf = (source: string): string | undefined => celEngine().conditionProblem(source),
): Checks {
  const few: Check = (value, at) =>
    Array.isArray(value) && value.length > MAX_CONDITIONS ? [fault.tooMany(at, value.length, MAX_CONDITIONS)] : []
  return [
    [path, few],
    [`${path}[].expression`, notBlank, without((source) => [problemOf(source.trim()) ?? []].flat())],
    [`${path}[].name`, required(), qualified],
    [path, uniqueNames],
  ]
}

const alone: Check = must(
  (value) => !Array.isArray(value) || value.length < 2 || !value.includes('*'),
  "if '*' is present, there must be no others",
)

/** The checks of a rule of a webhook or a policy. */
export const RULE: Checks = [
  ['operations', required(), alone],
  ['operations[]', oneOf('*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE')],
  ['apiGroups', required(), alone],
  ['apiVersions', required(), alone],
  ['apiVersions[]', required()],
  ['resources', required()],
  ['resources[]', required()],
  ['scope', oneOf('*', 'Cluster', 'Namespaced')],
]

const reviewVersions: Check = must(
  (value) => Array.isArray(value) && (value.includes('v1') || value.includes('v1beta1')),
  'must include at least one of v1, v1beta1',
)

const isWebhookUrl = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'https:' && !url.username && !url.search && !url.hash
}

const CLIENT: Checks = [
  ['url', must((text) => isWebhookUrl(String(text)), 'must be https://host[/path], without user, query and fragment')],
  // The real server mixes these two up: a missing name is reported as a missing namespace.
  ['service', (value, path) => at(value, 'namespace') ? [] : [fault.required(`${path}.name`)]],
  ['service', (value, path) => at(value, 'name') ? [] : [fault.required(`${path}.namespace`)]],
  ['service.port', portNumber],
  ['service.path', must((path) => String(path).startsWith('/'), "must start with a '/'")],
]

/** A URL, or a service. */
const client: Check = (value, path) => {
  const config = objectAt(value)
  return (config['url'] === undefined) === (config['service'] === undefined)
    ? [fault.required(path, 'exactly one of url or service is required')]
    : checked(config, CLIENT.filter(([at]) => config[at.split('.')[0]!] !== undefined), path)
}

const CONFIGURATION: Checks = [
  ['webhooks', uniqueNames],
  ['webhooks[]', (hook, path) => checked(hook as JsonObject, HOOK, path)],
]

const HOOK: Checks = [
  [
    'name',
    required(),
    name('subdomain'),
    must((text) => String(text).split('.').length > 2, 'should be a domain with at least three segments'),
  ],
  ['rules[]', fields(RULE)],
  ['failurePolicy', oneOf('Fail', 'Ignore')],
  ['matchPolicy', oneOf('Equivalent', 'Exact')],
  ['sideEffects', required(), oneOf('None', 'NoneOnDryRun')],
  ['timeoutSeconds', between(1, 30)],
  ['namespaceSelector', labelSelector],
  ['objectSelector', labelSelector],
  ['reinvocationPolicy', oneOf('IfNeeded', 'Never')],
  ['clientConfig', client],
  ...conditionChecks('matchConditions'),
  ['admissionReviewVersions', required(), reviewVersions],
]

/** Sets the defaults of the `conversion` of a definition, in place. */
export function conversionDefaults(spec: JsonObject): void {
  const conversion = spec['conversion'] ??= { strategy: 'None' }
  const webhook = isObject(conversion) ? conversion['webhook'] : undefined
  if (isObject(webhook)) serviceDefaults(webhook['clientConfig'])
}

const ONLY_WEBHOOK: Check = unset('should not be set when strategy is not set to Webhook')

/** Returns the faults of the `conversion` of a definition, under the field names of the server's internal version. */
export function conversionFaults(conversion: Json | undefined): Cause[] {
  if (!isObject(conversion)) return []
  const path = 'spec.conversion'
  const faults = checked(conversion, [['strategy', required(), oneOf('None', 'Webhook')]], path)
  if (faults.length > 0) return faults
  const isWebhook = conversion['strategy'] === 'Webhook'
  const { clientConfig, conversionReviewVersions: versions } = objectAt(conversion['webhook'])
  const webhook = { webhookClientConfig: clientConfig ?? null, conversionReviewVersions: versions ?? null }
  return checked(webhook, [
    ['webhookClientConfig', isWebhook ? client : ONLY_WEBHOOK],
    ['conversionReviewVersions', ...(isWebhook ? [required(), reviewVersions] : [ONLY_WEBHOOK])],
  ], path)
}
