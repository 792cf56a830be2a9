/** Cases of ValidatingAdmissionPolicies. */
import assert from 'node:assert/strict'
import type { Api, Body, Case } from './api.ts'
import { casesOf, cm, deploy, foo, type Script, type Step } from './transcript.ts'

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1'

/** What a policy of a case has beside its defaults: it is about ConfigMaps in the namespace of the case. */
interface Given {
  readonly spec: Body
  readonly match?: Body
  /** Default: one that denies. */
  readonly bindings?: readonly Body[]
}

const rule = (resources: string, operations = ['CREATE', 'UPDATE'], more: Body = {}): Body => ({
  apiGroups: ['*'],
  apiVersions: ['*'],
  operations,
  resources: [resources],
  ...more,
})

async function installPolicy(api: Api, name: string, { spec, match, bindings = [{}] }: Given): Promise<void> {
  const matchConstraints = {
    resourceRules: [rule('configmaps')],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': api.namespace } },
    ...match,
  }
  const apiVersion = 'admissionregistration.k8s.io/v1'
  await api.expect(201, 'POST', `${REGISTRATION}/validatingadmissionpolicies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: { matchConstraints, ...spec },
  })
  for (const [index, binding] of bindings.entries()) {
    await api.expect(201, 'POST', `${REGISTRATION}/validatingadmissionpolicybindings`, {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: `b${index}.${name}` },
      spec: { policyName: name, validationActions: ['Deny'], ...binding },
    })
  }
}

/** Installs policies, and waits until the server uses them: it does when it uses a later one. */
function policies(...all: readonly Given[]): NonNullable<Script['setup']> {
  return async (api) => {
    for (const [index, given] of all.entries()) await installPolicy(api, `p${index}.${api.namespace}`, given)
    const validations = [{ expression: 'false', message: 'it is used' }]
    await installPolicy(api, `probe.${api.namespace}`, {
      spec: { validations },
      match: { resourceRules: [rule('leases')] },
    })
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'probe' }, spec: {} }
    for (let tries = 0; tries < 5000; tries++) {
      const { body } = await api.request('POST', `${api.leases}?dryRun=All`, lease)
      if (body.message?.includes('it is used')) return {}
    }
    assert.fail('the policies were never used')
  }
}

const validating = (expression: string, more: Body = {}): Body => ({ validations: [{ expression, ...more }] })
const creating = (data: Body, labels?: Body): Step => ['POST cm?dryRun=All', cm('a', data, { labels })]
const denying = (message: string): Body => validating('false', { message })
const saying = (messageExpression: string): Body => validating('false', { messageExpression })

/** A rule that is broken by ConfigMaps with a key. */
const without = (key: string, more: Body = {}): Body => ({ expression: `!has(object.data.${key})`, ...more })
const FAILS = "!has(object.data.fails) || object.data.none == 'x'"

const RULES: Readonly<Record<string, Body>> = {
  plain: {},
  text: { message: '  no text  ' },
  made: { message: 'other', messageExpression: "'made of ' + object.data.made" },
  failed: { message: 'other', messageExpression: 'string(object.data.none)' },
  lines: { messageExpression: "'a\\nb'" },
  empty: { messageExpression: "'  '" },
  long: { message: 'too long', messageExpression: 'string(object.data.long + object.data.long)' },
  forbidden: { reason: 'Forbidden' },
  large: { reason: 'RequestEntityTooLarge' },
  invalid: { reason: 'Invalid' },
  spaces: { expression: '  !has(object.data.spaces) ' },
  fails: { expression: FAILS },
}

const MESSAGES: Script = {
  name: 'policies: the message of a broken rule is its expression, its message, or that of an expression',
  setup: policies({ spec: { validations: Object.entries(RULES).map(([key, more]) => without(key, more)) } }),
  steps: [
    ...[...Object.keys(RULES), 'fine'].map((key) => creating({ [key]: 'xy' })),
    creating({ long: 'x'.repeat(3000) }),
    ['POST cm', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'gen-' }, data: { plain: 'x' } }],
    ['POST cm', cm('a', { plain: 'x' })],
    'GET cm/a',
  ],
}

const CONDITIONS: readonly Script[] = [['Fail', undefined], ['Ignore', 'Ignore']].map(([name, failurePolicy]) => ({
  name: `policies: conditions decide before rules, and what fails counts by the policy ${name}`,
  setup: policies({
    spec: {
      failurePolicy,
      matchConditions: [
        { name: 'a', expression: "!has(object.data.first) || object.data.none == 'x'" },
        { name: 'b', expression: '!has(object.data.unmatched) && namespaceObject == null' },
        { name: 'c', expression: "!has(object.data.both) || object.data.other == 'x'" },
      ],
      validations: [without('refused'), { expression: FAILS }],
    },
  }),
  steps: [
    'refused',
    'unmatched refused',
    'unmatched refused first',
    'refused first',
    'refused first both',
    'fails',
    'fails refused',
  ]
    .map((keys) => creating(Object.fromEntries(keys.split(' ').map((key) => [key, 'x'])))),
}))

const VARIABLES: Script = {
  name: 'policies: variables are evaluated when they are read, and may read those before them',
  setup: policies({
    spec: {
      variables: [
        { name: 'key', expression: "has(object.data.key) ? object.data.key : 'none'" },
        { name: 'shout', expression: "variables.key + '!'" },
        { name: 'failing', expression: 'object.data.failing' },
        { name: 'failed', expression: "variables.failing + '!'" },
        { name: 'amount', expression: "quantity(object.data.?amount.orValue('1'))" },
      ],
      validations: [
        { expression: "variables.shout != 'x!'", messageExpression: "'it is ' + variables.shout" },
        { expression: "variables.key != 'y' || variables.failing == 'a'" },
        { expression: "variables.key != 'z' || variables.failed == 'a'" },
        { expression: "variables.amount.isLessThan(quantity('10'))" },
      ],
    },
  }),
  steps: [
    ...[{ key: 'x' }, { key: 'y' }, { key: 'z' }, { key: 'v' }, { key: 'y', failing: 'a' }, { amount: '11' }, {
      amount: '9',
    }],
  ].map((data) => creating(data)),
}

const noting = (key: string): Body => ({
  auditAnnotations: [{ key: 'k', valueExpression: `string(has(object.data.${key}) ? object.data.none : 'x')` }],
})
const ACTIONS: Script = {
  name: 'policies: a binding denies, warns, or has no effect but audit annotations',
  setup: policies(
    { spec: validating('!has(object.data.a)'), bindings: [{ validationActions: ['Audit'] }] },
    {
      spec: {
        validations: [without('b', { message: 'one' }), without('b', { message: 'two' })],
        auditAnnotations: [{ key: 'b', valueExpression: 'has(object.data.note) ? null : null' }],
      },
      bindings: [{ validationActions: ['Warn', 'Audit'] }],
    },
    { spec: validating('!has(object.data.c)'), bindings: [{ validationActions: ['Deny', 'Audit'] }] },
    { spec: noting('d'), bindings: [{ validationActions: ['Audit'] }] },
    { spec: { failurePolicy: 'Ignore', ...noting('e') } },
    { spec: validating('false'), bindings: [] },
  ),
  steps: ['a', 'b', 'c', 'd', 'e'].map((key) => creating({ [key]: 'x' })),
}

const MATCHES: Script = {
  name: 'policies: rules, exclusions, names and selectors decide which requests are checked',
  setup: policies(
    {
      spec: denying('names'),
      match: {
        resourceRules: [rule('configmaps', ['CREATE'], { resourceNames: ['named', 'excluded'] })],
        excludeResourceRules: [rule('*', ['*'], { resourceNames: ['excluded'] })],
      },
    },
    {
      spec: denying('labels'),
      match: { objectSelector: { matchExpressions: [{ key: 'x', operator: 'In', values: ['y'] }] } },
    },
    {
      spec: denying('namespace'),
      match: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-public' } } },
    },
    {
      spec: validating('!has(object.data.bound)', { message: 'bound' }),
      bindings: [
        { objectSelector: { matchLabels: { bound: 'yes' } } },
        { resourceRules: [rule('secrets')] },
        { excludeResourceRules: [rule('configmaps')] },
      ].map((matchResources) => ({ matchResources })),
    },
  ),
  steps: [
    ...['named', 'excluded', 'other'].map((name): Step => ['POST cm?dryRun=All', cm(name)]),
    ['POST cm', cm('b', {}, { labels: { x: 'y' } })],
    ['POST cm', cm('b')],
    ...['y', 'z'].map((x): Step => ['MERGE cm/b', { metadata: { labels: { x } } }]),
    creating({ bound: 'x' }, { bound: 'yes' }),
    creating({ bound: 'x' }),
  ],
}

const VERSIONS: readonly Script[] = ['Equivalent', 'Exact'].map((matchPolicy) => ({
  name: `policies: a rule for another version of a kind, by the policy ${matchPolicy}`,
  setup: policies({
    spec: saying("request.kind.version + ' ' + request.requestKind.version + ' ' + string(object.apiVersion)"),
    match: {
      matchPolicy,
      resourceRules: [rule('foos', ['CREATE'], { apiVersions: ['v2'] })],
      excludeResourceRules: [rule('foos', ['CREATE'], { apiVersions: ['v2'], resourceNames: ['b'] })],
    },
  }),
  steps: [...['a', 'b'].map((name): Step => ['POST foos?dryRun=All', foo(name)]), ['POST foos2?dryRun=All', {
    ...foo('a'),
    apiVersion: '{group}/v2',
  }]],
}))

const SEEN = [
  "[request.operation, request.?subResource.orValue('-'), request.?name.orValue('-'), request.namespace == '' ? '-' : 'ns',",
  "string(request.dryRun), request.resource.resource, request.kind.kind, request.userInfo.username == '' ? '-' : 'user',",
  "string(object == null ? '-' : object.kind), string(oldObject == null ? '-' : oldObject.kind),",
  "request.operation == 'CONNECT' ? ['stdin', 'stdout', 'stderr', 'tty', 'container', 'path'].filter(each, each in object)",
  ".map(each, each + '=' + string(object[each])).join(',') + string(size(object.?command.orValue([]))) : ''].join(' ')",
].join(' ')
const POD = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }

const OPERATIONS: Script = {
  name: 'policies: updates, deletions, subresources and dry runs are checked',
  setup: async (api) => {
    await api.expect(201, 'POST', api.configMaps, cm('old'))
    await api.expect(201, 'POST', api.deployments, deploy('d'))
    await api.expect(201, 'POST', api.foos, api.foo('f'))
    await api.expect(201, 'POST', `/api/v1/namespaces/${api.namespace}/pods`, POD)
    const resources = ['configmaps', 'deployments/*', 'foos/*', 'pods/*', 'serviceaccounts/token']
    return policies({ spec: saying(SEEN), match: { resourceRules: resources.map((each) => rule(each, ['*'])) } })(api)
  },
  steps: [
    ['MERGE cm/old', { data: { a: 'b' } }],
    ['PUT cm/old?dryRun=All', cm('old', { a: 'b' })],
    ['APPLY cm/old?fieldManager=m&force=true', cm('old', { a: 'b' })],
    ...['DELETE cm/old', 'DELETE cm/old?dryRun=All', 'DELETE cm', 'GET cm/old'],
    ['MERGE deploy/d/scale', { spec: { replicas: 2 } }],
    ['MERGE deploy/d/status', { status: { replicas: 2 } }],
    ['MERGE foos/f/status', { status: { ready: 2 } }],
    ['MERGE foos/f/scale', { spec: { replicas: 2 } }],
    ['POST ns/pods/p/binding', { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }],
    ['POST ns/pods/p/eviction', { metadata: { name: 'p' } }],
    ['MERGE ns/pods/p/ephemeralcontainers', { spec: { ephemeralContainers: [{ name: 'd', image: 'i' }] } }],
    ...[
      'GET deploy/d ? spec.replicas',
      'POST ns/pods/p/exec?command=ls&command=-l&container=c&stdin=true&stdout=true&stderr=true&tty=false',
      'GET ns/pods/p/portforward?ports=80',
    ],
    ...['POST ns/pods/p/attach?tty=true', 'GET ns/pods/p/proxy', 'GET ns/pods/p/proxy/path', 'GET ns/pods/p/log'],
  ],
}

const PARAM_KIND = { apiVersion: 'v1', kind: 'ConfigMap' }
const LIMIT = {
  paramKind: PARAM_KIND,
  ...validating('object.data.k != params.data.k', {
    messageExpression: "'not ' + string(params.data.k) + string(params.kind)",
  }),
}
const NAMESPACE_KIND = { apiVersion: 'v1', kind: 'Namespace' }

/** Policies with the references of their bindings, if any; each is about ConfigMaps with its own label. */
const parametrized = (api: Api): readonly (readonly [spec: Body, ref?: Body])[] => [
  [LIMIT, { name: 'one' }],
  [LIMIT, { selector: { matchLabels: { kind: 'param' } } }],
  [LIMIT, { name: api.namespace, namespace: 'default' }],
  [LIMIT, { name: 'missing' }],
  [LIMIT, { name: 'missing', parameterNotFoundAction: 'Allow' }],
  [LIMIT, { selector: { matchLabels: { kind: 'none' } } }],
  [{ ...LIMIT, ...validating('params == null') }],
  [{ ...LIMIT, ...validating('params != null') }],
  [{ ...LIMIT, paramKind: { apiVersion: 'none.example.com/v1', kind: 'None' } }, { name: 'x' }],
  [{ ...LIMIT, paramKind: { apiVersion: 'v1', kind: 'None' }, failurePolicy: 'Ignore' }, { name: 'x' }],
  [{ ...LIMIT, paramKind: { apiVersion: 'v1', kind: 'None' } }, { name: 'x' }],
  [{ paramKind: { apiVersion: `${api.group}/v1`, kind: 'Foo' }, ...validating('params.spec.size > 3') }, {
    name: 'limits',
  }],
  [{ paramKind: NAMESPACE_KIND, ...validating('params.metadata.name == "x"') }, { name: 'default' }],
  [{ paramKind: NAMESPACE_KIND, ...validating('true') }, { name: 'default', namespace: 'default' }],
  [{ ...LIMIT, failurePolicy: 'Ignore' }, { name: 'missing' }],
]

const PARAMETERS: Script = {
  name: 'policies: parameters are found by name or labels, in the namespace of the object or another one',
  setup: async (api) => {
    await api.expect(201, 'POST', api.configMaps, cm('one', { k: 'a' }, { labels: { kind: 'param' } }))
    await api.expect(201, 'POST', api.foos, api.foo('limits', { size: 3 }))
    const wide = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: api.namespace }, data: { k: 'w' } }
    await api.expect(201, 'POST', '/api/v1/namespaces/default/configmaps', wide)
    const all = parametrized(api).map(([spec, ref], index): Given => ({
      spec,
      match: { objectSelector: { matchLabels: { policy: String(index) } } },
      ...(ref && { bindings: [{ paramRef: { parameterNotFoundAction: 'Deny', ...ref } }] }),
    }))
    return policies(...all)(api)
  },
  steps: Array.from({ length: 15 }, (_, index) => String(index)).flatMap((policy) =>
    ['a', 'w'].map((k) => creating({ k }, { policy }))
  ),
}

const NAMESPACE_FIELDS = [
  'has(namespaceObject.metadata.labels)',
  "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == object.metadata.namespace",
  "namespaceObject.status.phase == 'Active'",
  "namespaceObject.spec.finalizers == ['kubernetes']",
  '!has(namespaceObject.metadata.annotations)',
]

const NAMESPACES: Script = {
  name: 'policies: expressions read the namespace of an object, which a namespace itself does not have',
  setup: policies(
    { spec: validating(`!(${NAMESPACE_FIELDS.join(' && ')})`, { message: 'all hold' }) },
    {
      spec: validating('namespaceObject != null', { message: 'none' }),
      match: { resourceRules: [rule('namespaces', ['*'])] },
    },
  ),
  steps: [creating({}), ['MERGE /api/v1/namespaces/{ns}', { metadata: { labels: { a: 'b' } } }]],
}

const EXEMPT_KINDS = ['validatingadmissionpolicybindings', 'validatingwebhookconfigurations']
const EXEMPT: Script = {
  name: 'policies: reviews and policies are not checked',
  setup: (api) =>
    policies(
      ...EXEMPT_KINDS.map((plural) => ({
        spec: denying('checked'),
        match: { objectSelector: { matchLabels: { only: api.namespace } }, resourceRules: [rule(plural)] },
      })),
      { spec: denying('checked'), match: { namespaceSelector: {}, resourceRules: [rule('selfsubjectaccessreviews')] } },
      { spec: denying('checked'), match: { namespaceSelector: {}, resourceRules: [rule('selfsubjectreviews')] } },
    )(api),
  steps: [
    ...EXEMPT_KINDS.map((plural): Step => [
      `POST ${REGISTRATION}/${plural}?dryRun=All&fieldValidation=Ignore`,
      { metadata: { name: 'x', labels: { only: '{ns}' } }, spec: { policyName: 'x', validationActions: ['Deny'] } },
    ]),
    [
      'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews ? status.allowed',
      { spec: { nonResourceAttributes: { path: '/x', verb: 'get' } } },
    ],
    ['POST /apis/authentication.k8s.io/v1/selfsubjectreviews ? kind', {}],
  ],
}

const FULL = { matchConstraints: { resourceRules: [rule('pods')] }, ...validating('true') }
const named = (...expressions: readonly string[]): Body[] =>
  expressions.map((expression, index) => ({ name: 'abc'[index]!, expression }))

const WRONG_MATCH = {
  matchPolicy: 'None',
  objectSelector: { matchExpressions: [{ key: 'x', operator: 'In' }] },
  namespaceSelector: { matchLabels: { 'a b': 'c' } },
  resourceRules: [rule('pods/', ['READ'], { apiGroups: [] })],
  excludeResourceRules: [rule('', [], { scope: 'None' })],
}

const WRONG_POLICIES: readonly Body[] = [
  {},
  FULL,
  { ...FULL, failurePolicy: 'Never' },
  { ...FULL, matchConstraints: {} },
  { ...FULL, matchConstraints: WRONG_MATCH },
  { ...FULL, paramKind: {} },
  { ...FULL, matchConditions: [{ name: 'a', expression: 'params.x' }, { name: 'a', expression: '' }, { name: 'a b' }] },
  { ...FULL, paramKind: PARAM_KIND, matchConditions: named('params.x == 1') },
  { ...FULL, matchConditions: named('variables.x == 1'), variables: [{ name: 'x', expression: '1' }] },
  {
    ...FULL,
    variables: [...named('1', 'variables.a + variables.c'), { name: 'in', expression: ' ' }, {
      name: ' ',
      expression: 'nope',
    }],
    ...validating("variables.a == 'x' || variables.nope"),
  },
  {
    ...FULL,
    validations: [
      { expression: ' ', reason: 'NotFound' },
      { expression: '1', messageExpression: '1' },
      { expression: 'object.x', messageExpression: 'namespaceObject.metadata.nope' },
      { expression: 'nope' },
      { expression: 'request.nope' },
    ],
  },
  {
    ...FULL,
    auditAnnotations: [
      { key: 'a', valueExpression: '1' },
      { key: 'b c', valueExpression: ' ' },
      { key: 'd', valueExpression: "object == null ? null : 'x'" },
    ],
  },
]

const bound = { policyName: 'a', validationActions: ['Deny'] }
const WRONG_BINDINGS: readonly Body[] = [
  {},
  { policyName: 'A_b', validationActions: ['Deny', 'Warn', 'Other'] },
  { ...bound, paramRef: {} },
  { ...bound, paramRef: { name: 'a/b', parameterNotFoundAction: 'Deny' } },
  { ...bound, paramRef: { selector: { matchLabels: { 'a b': 'c' } }, parameterNotFoundAction: 'Never' } },
  { ...bound, matchResources: { matchPolicy: 'x', resourceRules: [rule('a', [])] } },
]

const checking = (kind: string, plural: string, specs: readonly Body[]): Script => ({
  name: `policies: what a ${kind} must be`,
  steps: specs.map((spec): Step => [`POST ${REGISTRATION}/${plural}?dryRun=All`, { metadata: { name: 'x' }, spec }]),
})

export const POLICY_CASES: readonly Case[] = casesOf('policies', [
  ...[MESSAGES, ...CONDITIONS, VARIABLES, ACTIONS, MATCHES, ...VERSIONS, OPERATIONS, PARAMETERS, NAMESPACES, EXEMPT],
  checking('ValidatingAdmissionPolicy', 'validatingadmissionpolicies', WRONG_POLICIES),
  checking('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', WRONG_BINDINGS),
])
