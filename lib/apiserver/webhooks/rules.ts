/** The rules of webhook configurations, and of the conversion in a CustomResourceDefinition. */
import { celEngine } from '../cel/load.ts'
import { selectorFaults } from '../model/selectors.ts'
import { type ApiObject, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Rules } from '../model/kinds.ts'
import { nameProblems, qualifiedNameProblems } from '../model/names.ts'
import { type Cause, fault } from '../model/status.ts'

const rules: Partial<Rules> = {
  generation: true,
  unconditionalUpdate: false,
  prepareRules: (config) => {
    if (webhooksOf(config).some((hook) => objects(hook['matchConditions']).length > 0)) celEngine()
  },
}

export const WEBHOOK_RULES: Readonly<Record<string, Partial<Rules>>> = {
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': {
    ...rules,
    defaults: (config) => webhooksOf(config).forEach((hook) => hookDefaults(hook, { reinvocationPolicy: 'Never' })),
    validate: (config) => configurationFaults(config, true),
  },
  'validatingwebhookconfigurations.admissionregistration.k8s.io': {
    ...rules,
    defaults: (config) => webhooksOf(config).forEach((hook) => hookDefaults(hook, {})),
    validate: (config) => configurationFaults(config, false),
  },
}

export function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function webhooksOf(config: ApiObject): JsonObject[] {
  return objects(config['webhooks'])
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
  for (const rule of objects(hook['rules'])) rule['scope'] ??= '*'
  serviceDefaults(hook['clientConfig'])
}

function serviceDefaults(clientConfig: Json | undefined): void {
  if (isObject(clientConfig) && isObject(clientConfig['service'])) clientConfig['service']['port'] ??= 443
}

function configurationFaults(config: ApiObject, mutating: boolean): Cause[] {
  const names = new Set<Json | undefined>()
  return webhooksOf(config).flatMap((hook, index) => {
    const path = `webhooks[${index}]`
    const { name } = hook
    const isDuplicate = !!name && names.has(name)
    names.add(name)
    return [
      ...hookFaults(hook, path, mutating),
      ...reviewVersionFaults(hook['admissionReviewVersions'], `${path}.admissionReviewVersions`),
      ...(isDuplicate ? [fault.duplicate(`${path}.name`, name)] : []),
    ]
  })
}

function hookFaults(hook: JsonObject, path: string, mutating: boolean): Cause[] {
  const { sideEffects, timeoutSeconds, namespaceSelector, objectSelector } = hook
  const faults = nameFaults(hook['name'], `${path}.name`)
  for (const [index, rule] of objects(hook['rules']).entries()) {
    faults.push(...ruleFaults(rule, `${path}.rules[${index}]`))
  }
  faults.push(
    ...oneOf(hook, 'failurePolicy', ['Fail', 'Ignore'], path),
    ...oneOf(hook, 'matchPolicy', ['Equivalent', 'Exact'], path),
  )
  if (sideEffects === undefined || sideEffects === null || sideEffects === '') {
    faults.push(fault.required(`${path}.sideEffects`, 'must specify one of None, NoneOnDryRun'))
  } else faults.push(...oneOf(hook, 'sideEffects', ['None', 'NoneOnDryRun'], path))
  if (typeof timeoutSeconds === 'number' && (timeoutSeconds < 1 || timeoutSeconds > 30)) {
    const detail = 'the timeout value must be between 1 and 30 seconds'
    faults.push(fault.invalid(`${path}.timeoutSeconds`, timeoutSeconds, detail))
  }
  if (isObject(namespaceSelector)) faults.push(...selectorFaults(namespaceSelector, `${path}.namespaceSelector`))
  if (isObject(objectSelector)) faults.push(...selectorFaults(objectSelector, `${path}.objectSelector`))
  if (mutating) faults.push(...oneOf(hook, 'reinvocationPolicy', ['IfNeeded', 'Never'], path))
  const clientConfig = isObject(hook['clientConfig']) ? hook['clientConfig'] : {}
  if ((clientConfig['url'] === undefined) === (clientConfig['service'] === undefined)) {
    faults.push(fault.required(`${path}.clientConfig`, 'exactly one of url or service is required'))
  } else faults.push(...clientFaults(clientConfig, `${path}.clientConfig`))
  return [...faults, ...conditionsFaults(objects(hook['matchConditions']), `${path}.matchConditions`)]
}

const MAX_CONDITIONS = 64

/** Returns the faults of conditions. `problemOf` returns what is wrong with an expression. */
export function conditionsFaults(
  conditions: readonly JsonObject[],
  path: string,
  problemOf = (source: string): string | undefined => celEngine().conditionProblem(source),
): Cause[] {
  const names = new Set<Json>()
  const faults = conditions.length > MAX_CONDITIONS ? [fault.tooMany(path, conditions.length, MAX_CONDITIONS)] : []
  for (const [index, { name, expression }] of conditions.entries()) {
    const at = `${path}[${index}]`
    const source = String(expression ?? '').trim()
    const problem = source ? problemOf(source) : undefined
    if (!source) faults.push(fault.required(`${at}.expression`))
    if (problem !== undefined) faults.push(fault.invalid(`${at}.expression`, source, problem))
    if (!name) faults.push(fault.required(`${at}.name`))
    else {
      faults.push(...qualifiedNameProblems(String(name)).map((each) => fault.invalid(`${at}.name`, name, each)))
      if (names.has(name)) faults.push(fault.duplicate(`${at}.name`, name))
      names.add(name)
    }
  }
  return faults
}

function nameFaults(name: Json | undefined, path: string): Cause[] {
  if (!name) return [fault.required(path)]
  const problems = nameProblems(String(name), 'subdomain')
  if (problems.length > 0) return problems.map((problem) => fault.invalid(path, name, problem))
  const detail = 'should be a domain with at least three segments separated by dots'
  return String(name).split('.').length < 3 ? [fault.invalid(path, name, detail)] : []
}

function oneOf(of: JsonObject, field: string, supported: readonly string[], path: string): Cause[] {
  const value = of[field]
  if (value === undefined || value === null || supported.includes(String(value))) return []
  return [fault.notSupported(`${path}.${field}`, value, supported)]
}

const OPERATIONS: readonly string[] = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']

/** Returns the faults of a rule of a webhook or a policy. */
export function ruleFaults(rule: JsonObject, path: string): Cause[] {
  const faults: Cause[] = []
  const list = (field: string, others: string): string[] => {
    const value = rule[field]
    const items = Array.isArray(value) ? value.map(String) : []
    if (items.length === 0) faults.push(fault.required(`${path}.${field}`))
    if (others && items.length > 1 && items.includes('*')) {
      faults.push(fault.invalid(`${path}.${field}`, items, `if '*' is present, must not specify other ${others}`))
    }
    return items
  }
  for (const [index, operation] of list('operations', 'operations').entries()) {
    if (!OPERATIONS.includes(operation)) {
      faults.push(fault.notSupported(`${path}.operations[${index}]`, operation, OPERATIONS))
    }
  }
  list('apiGroups', 'API groups')
  for (const [field, others] of [['apiVersions', 'API versions'], ['resources', '']] as const) {
    for (const [index, item] of list(field, others).entries()) {
      if (!item) faults.push(fault.required(`${path}.${field}[${index}]`))
    }
  }
  const { scope } = rule
  if (scope !== undefined && !['*', 'Cluster', 'Namespaced'].includes(String(scope))) {
    faults.push(fault.notSupported(`${path}.scope`, scope, ['*', 'Cluster', 'Namespaced']))
  }
  return faults
}

const REVIEW_VERSIONS: readonly string[] = ['v1', 'v1beta1']

function reviewVersionFaults(versions: Json | undefined, path: string): Cause[] {
  const list = Array.isArray(versions) ? versions.map(String) : []
  if (list.length === 0) return [fault.required(path, `must specify one of ${REVIEW_VERSIONS.join(', ')}`)]
  if (list.some((version) => REVIEW_VERSIONS.includes(version))) return []
  return [fault.invalid(path, list, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`)]
}

/** Returns the faults of a URL or a service reference. */
function clientFaults({ url, service }: JsonObject, path: string): Cause[] {
  if (url !== undefined) return urlFaults(String(url), `${path}.url`)
  return serviceFaults(isObject(service) ? service : {}, `${path}.service`)
}

function urlFaults(text: string, path: string): Cause[] {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:' && !url.username && !url.search && !url.hash) return []
  return [fault.invalid(path, text, 'must be a URL of the form https://host[/path], without user, query and fragment')]
}

function serviceFaults(service: JsonObject, path: string): Cause[] {
  const faults: Cause[] = []
  // The real server mixes these two up: a missing name is reported as a missing namespace.
  if (!service['namespace']) faults.push(fault.required(`${path}.name`))
  if (!service['name']) faults.push(fault.required(`${path}.namespace`))
  const port = service['port']
  if (typeof port === 'number' && (port < 1 || port > 65_535)) {
    faults.push(fault.invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'))
  }
  const urlPath = service['path'] ?? '/'
  if (!String(urlPath).startsWith('/')) faults.push(fault.invalid(`${path}.path`, urlPath, "must start with a '/'"))
  return faults
}

/** Sets the defaults of the `conversion` of a definition, in place. */
export function conversionDefaults(spec: JsonObject): void {
  const conversion = spec['conversion'] ??= { strategy: 'None' }
  const webhook = isObject(conversion) ? conversion['webhook'] : undefined
  if (isObject(webhook)) serviceDefaults(webhook['clientConfig'])
}

/** Returns the faults of the `conversion` of a definition, under the field names of the server's internal version. */
export function conversionFaults(conversion: Json | undefined): Cause[] {
  if (!isObject(conversion)) return []
  const { strategy } = conversion
  const path = 'spec.conversion'
  if (!strategy) return [fault.required(`${path}.strategy`)]
  if (strategy !== 'None' && strategy !== 'Webhook') {
    return [fault.notSupported(`${path}.strategy`, strategy, ['None', 'Webhook'])]
  }
  const webhook = isObject(conversion['webhook']) ? conversion['webhook'] : {}
  const { clientConfig, conversionReviewVersions: versions } = webhook
  if (strategy === 'None') {
    const detail = 'should not be set when strategy is not set to Webhook'
    const faults: Cause[] = []
    if (clientConfig) faults.push(fault.forbidden(`${path}.webhookClientConfig`, detail))
    if (versions) faults.push(fault.forbidden(`${path}.conversionReviewVersions`, detail))
    return faults
  }
  const clientPath = `${path}.webhookClientConfig`
  const faults: Cause[] = []
  if (!isObject(clientConfig)) faults.push(fault.required(clientPath, 'required when strategy is set to Webhook'))
  else if ((clientConfig['url'] === undefined) === (clientConfig['service'] === undefined)) {
    faults.push(fault.required(clientPath, 'exactly one of url or service is required'))
  } else faults.push(...clientFaults(clientConfig, clientPath))
  const versionsPath = `${path}.conversionReviewVersions`
  if (!Array.isArray(versions) || versions.length === 0) faults.push(fault.required(versionsPath))
  else faults.push(...reviewVersionFaults(versions, versionsPath))
  return faults
}
