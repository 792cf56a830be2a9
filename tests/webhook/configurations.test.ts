import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnyResource, defineResource, operator } from 'kubeloop'
import { CSINode, Lease, Namespace, Node, Pod, Secret, SubjectAccessReview, TokenReview } from 'kubeloop/kinds'
import * as z from 'zod'
import { CRD } from '../../lib/core/resource.ts'
import { warnOfDifferences } from '../../lib/webhook/configurations/configuration_differences.ts'
import { recordingLog } from '../manager/parts.ts'
import { ownObjects } from '../../lib/operator/webhooks/describe.ts'
import {
  type AdmissionDescription,
  type AdmissionOptions,
  checkAdmission,
} from '../../lib/webhook/admission/admission_options.ts'
import {
  type ConfigurationOptions,
  configurationsOf,
  conversionOf,
  namesOf,
  type WebhookEntry,
} from '../../lib/webhook/configurations/configurations.ts'

const Site = defineResource({
  group: 'web.example.dev',
  version: 'v1',
  kind: 'Site',
  spec: z.object({ hosts: z.array(z.string()) }),
})
const URL_TARGET = { url: 'https://127.0.0.1:9443' }
const SERVICE = { service: { namespace: 'prod', name: 'hooks' } }
const OWN = {
  namespace: 'prod',
  lease: { namespace: 'leases', name: 'sites' },
  secrets: [{ namespace: 'certs', name: 'sites-certs' }],
  crds: ['sites.web.example.dev'],
}

function admission(over: Partial<AdmissionDescription> & { options?: object } = {}): AdmissionDescription {
  return { resource: Site, path: '/validate-web-example-dev-v1-site', mutating: false, ...over } as AdmissionDescription
}

function configured(admissions: readonly AdmissionDescription[], over: Partial<ConfigurationOptions> = {}) {
  return configurationsOf({ operator: 'sites', admissions, target: URL_TARGET, ...over })
}

function entryOf(over: Parameters<typeof admission>[0] = {}, more: Partial<ConfigurationOptions> = {}): WebhookEntry {
  const { mutating, validating } = configured([admission(over)], more)
  return (mutating ?? validating)!.webhooks[0]!
}

test('every option is in the webhook', () => {
  const options: AdmissionOptions = {
    operations: ['CREATE', 'DELETE'],
    subresources: ['status', '*'],
    failurePolicy: 'Ignore',
    sideEffects: 'NoneOnDryRun',
    matchPolicy: 'Exact',
    timeout: '3s',
    namespaceSelector: { matchLabels: { a: 'b' } },
    objectSelector: { matchExpressions: [{ key: 'c', operator: 'Exists' }] },
    matchConditions: [{ name: 'not-me', expression: 'true' }],
    reinvocationPolicy: 'IfNeeded',
    scope: 'Namespaced',
  }
  const { name: _, clientConfig: __, admissionReviewVersions: ___, ...rest } = entryOf({ options })
  const expected = {
    failurePolicy: 'Ignore',
    matchConditions: [{ name: 'not-me', expression: 'true' }],
    matchPolicy: 'Exact',
    namespaceSelector: { matchLabels: { a: 'b' } },
    objectSelector: { matchExpressions: [{ key: 'c', operator: 'Exists' }] },
    rules: [{
      apiGroups: ['web.example.dev'],
      apiVersions: ['v1'],
      operations: ['CREATE', 'DELETE'],
      resources: ['sites', 'sites/status', 'sites/*'],
      scope: 'Namespaced',
    }],
    sideEffects: 'NoneOnDryRun',
    timeoutSeconds: 3,
  }
  assert.deepEqual(rest, expected)
  const mutating = entryOf({ options, mutating: true })
  assert.equal(mutating['reinvocationPolicy'], 'IfNeeded')
  assert.deepEqual(
    (mutating['rules'] as [{ operations: string[] }])[0].operations,
    ['CREATE'],
    'never called for DELETE',
  )
})

test('the name of a webhook is a domain of three parts for every path', () => {
  assert.equal(entryOf({ path: '/validate--v1-pod' }).name, 'validate--v1-pod.sites.kubeloop')
  assert.equal(entryOf({ path: '/My_own/Path-' }).name, 'my-own-path.sites.kubeloop')
})

test('several admissions of one path are one webhook, and must have the same options', () => {
  assert.equal(configured([admission(), admission()]).validating?.webhooks.length, 1)
  const other = admission({ options: { failurePolicy: 'Ignore' } })
  assert.throws(() => configured([admission(), other]), {
    name: 'TypeError',
    message:
      'Cannot configure the admission of Site: the path /validate-web-example-dev-v1-site has two admissions with ' +
      'different options; give them the same options, or one of them another path',
  })
})

test('the operator itself is not blocked by its webhooks on built-in kinds', () => {
  const of = (resource: AnyResource, target: ConfigurationOptions['target'], options: AdmissionOptions = {}) =>
    entryOf({ resource, path: '/x', options }, { target, own: OWN })
  const outside = (...more: string[]) => {
    const places = JSON.stringify(['kube-system', 'kube-node-lease', ...more])
    const expression = `!(has(request.namespace) && request.namespace in ${places})`
    return { name: 'not-in-system-namespaces', expression }
  }
  const namespaceSelector = { matchLabels: { team: 'a' } }
  const mine = { name: 'a', expression: 'b' }
  assert.deepEqual(of(Pod, SERVICE)['matchConditions'], [outside('prod')])
  assert.deepEqual(of(Namespace, SERVICE)['matchConditions'], [outside('prod')])
  const selected = of(Pod, SERVICE, { namespaceSelector, matchConditions: [mine] })
  assert.deepEqual([selected['namespaceSelector'], selected['matchConditions']], [namespaceSelector, [
    outside('prod'),
    mine,
  ]])
  const beside = entryOf({ resource: Pod, path: '/x' }, { target: SERVICE, own: { ...OWN, namespace: 'ops' } })
  assert.deepEqual(beside['matchConditions'], [outside('prod', 'ops')])
  assert.deepEqual(entryOf({ resource: Pod, path: '/x' }, { target: SERVICE })['matchConditions'], [outside('prod')])
  const Foo = defineResource({ group: 'sample.k8s.io', version: 'v1', kind: 'Foo', spec: z.object({}) })
  for (
    const [resource, target, options, why] of [
      [Pod, SERVICE, { failurePolicy: 'Ignore' }, 'nothing waits for it'],
      [Pod, SERVICE, { includeSystem: ['namespaces'] }, 'stated'],
      [Pod, URL_TARGET, {}, 'its Pods do not run in this cluster'],
      [Site, SERVICE, {}, 'objects of its own kinds may be beside it'],
      [Foo, SERVICE, {}, 'also in a group of the project'],
    ] as const
  ) assert.equal(of(resource, target, options)['matchConditions'], undefined, why)
  const lease = { includeSystem: ['kinds'], matchConditions: [mine] } as const
  assert.deepEqual((of(Lease, SERVICE, lease)['matchConditions'] as unknown[]).slice(1), [outside('prod'), mine])
  assert.deepEqual(of(Lease, URL_TARGET, lease)['matchConditions'], [
    {
      name: 'not-of-leases-of-the-operator',
      expression: '!(request.namespace == "leases" && request.name == "sites")',
    },
    mine,
  ])
  const own = ownObjects(operator({ name: 'a', sharding: { buckets: 4 } }).description, 'shards')
  const [ofShards] = entryOf(
    { resource: Lease, path: '/x', options: lease },
    { target: URL_TARGET, own },
  )['matchConditions'] as { expression: string }[]
  assert.equal(ofShards!.expression, '!(request.namespace == "shards")', 'those of shards are named as their pods')
  const certs = { secret: 'own', namespace: 'vault', ca: { secret: 'ca' } }
  const { secrets } = ownObjects(operator({ name: 'a', webhooks: { certs } }).description, 'here')
  assert.deepEqual(secrets, ['own', 'ca'].map((name) => ({ namespace: 'vault', name })))
  assert.deepEqual(of(Secret, URL_TARGET)['matchConditions'], [
    {
      name: 'not-of-secrets-of-the-operator',
      expression: '!(request.namespace == "certs" && request.name == "sites-certs")',
    },
  ])
  assert.deepEqual(of(CRD, URL_TARGET)['matchConditions'], [
    {
      name: 'not-of-customresourcedefinitions-of-the-operator',
      expression: '!(request.name in ["sites.web.example.dev"])',
    },
  ])
  const without = entryOf({ resource: CRD, path: '/x' }, { target: URL_TARGET, own: { ...OWN, crds: [] } })
  assert.equal(without['matchConditions'], undefined)
})

test('what nodes, leaders and the access of users depend on fails with the operator only if that is stated', () => {
  for (const resource of [Node, CSINode, Lease, TokenReview, SubjectAccessReview]) {
    for (const target of [SERVICE, URL_TARGET]) {
      const configure = (options: AdmissionOptions) => entryOf({ resource, path: '/x', options }, { target })
      for (const refused of [{}, { includeSystem: ['namespaces'] }, { subresources: ['status'] }] as const) {
        assert.throws(() => configure(refused), {
          name: 'TypeError',
          message:
            `Cannot configure the admission of ${resource.kind}: with failurePolicy "Fail" an outage of the operator ` +
            `would become one of the cluster, which needs ${resource.kind} objects to run; set failurePolicy: ` +
            `'Ignore', or includeSystem: ['kinds'] to accept that`,
        })
      }
      assert.equal(configure({ failurePolicy: 'Ignore' })['failurePolicy'], 'Ignore')
      assert.equal(configure({ includeSystem: ['kinds'] })['failurePolicy'], 'Fail')
    }
  }
  entryOf({ resource: { ...Node, group: 'example.dev' }, path: '/x' })
})

test('invalid options are refused with what to do', () => {
  const condition = { name: 'a', expression: 'true' }
  const cases: readonly (readonly [object, string])[] = [
    [{ failurepolicy: 'Fail' }, 'there is no option "failurepolicy"; did you mean "failurePolicy"?'],
    [{ failurePolicy: 'fail' }, 'failurePolicy is "fail"; did you mean "Fail"?'],
    [{ sideEffects: 'Some' }, 'sideEffects is "Some"; it must be "None" or "NoneOnDryRun"'],
    [{ operations: ['create'] }, 'operations has "create"; they are CREATE, UPDATE, DELETE'],
    [
      { operations: ['CREATE', 'CONNECT'] },
      'operations has "CONNECT", whose objects are options such as PodExecOptions, which this admission cannot get; use ' +
      'a ValidatingAdmissionPolicy, or webhooks.handleFetch with a configuration of your own',
    ],
    [{ includeSystem: ['all'] }, 'includeSystem has "all"; it may have "namespaces", "kinds"'],
    [{ includeSystem: true }, 'includeSystem is true; it must be a list'],
    [{ operations: 'CREATE' }, 'operations is "CREATE"; it must be a list'],
    [{ operations: [] }, 'operations is empty; leave it out for CREATE and UPDATE'],
    [{ subresources: ['sites/status'] }, 'subresources has "sites/status", and must have names such as "status"'],
    ...['scale', 'eviction', 'binding', 'token', 'exec', 'attach', 'portforward', 'proxy'].map((name) =>
      [
        { subresources: ['status', name] },
        `subresources has "${name}", whose objects are of another kind, which this admission cannot get`,
      ] as const
    ),
    [{ timeout: '31s' }, 'timeout is "31s", and must be whole seconds from "1s" to "30s"'],
    [{ timeout: 1500 }, 'timeout is 1500 ms, and must be whole seconds from "1s" to "30s"'],
    [{ timeout: 0 }, 'timeout is 0 ms, and must be whole seconds from "1s" to "30s"'],
    [
      { timeout: '5 s' },
      'timeout: Cannot read duration "5 s": write a number and ms, s, m, h or d, such as "30s"; durationMs of kubeloop/schema reads "1h30m"',
    ],
    [{ matchConditions: [condition, condition] }, 'two match conditions have the name "a"; give each its own'],
    [
      { matchConditions: [{ name: 'a b', expression: 'true' }] },
      'the match condition "a b" must have a name of letters, digits, "-", "_" and "."',
    ],
    [
      { matchConditions: [{ name: 'a', expression: ' ' }] },
      `the match condition "a" has no expression; write CEL such as 'object.metadata.name != "x"'`,
    ],
    [
      { matchConditions: Array.from({ length: 63 }, (_, at) => ({ ...condition, name: `a${at}` })) },
      'matchConditions has 63 conditions, more than 62',
    ],
    [
      { namespaceSelector: { a: 'b' } },
      'there is no option "namespaceSelector.a"; the options are matchLabels, matchExpressions',
    ],
  ]
  for (const [options, problem] of cases) {
    assert.throws(() => entryOf({ options }), {
      name: 'TypeError',
      message: `Cannot configure the admission of Site: ${problem}`,
    })
  }
  assert.throws(
    () => checkAdmission(admission({ options: { scope: 'None' } as object })),
    /scope is "None"; it must be "Namespaced"/,
  )
  checkAdmission(admission({ options: { timeout: '1s', scope: '*' } }))
  assert.throws(
    () => entryOf({ mutating: true, options: { operations: ['DELETE'] } }),
    /default is never called for DELETE; add/,
  )
  assert.throws(
    () => entryOf({ path: 'validate' }),
    /the path "validate" must be segments of letters, digits, "-" and "_"/,
  )
  assert.throws(() => entryOf({ path: '/a?b' }), /the path "\/a\?b" must be/)
})

test('the URL of a target is checked as the API server does, and its password is not shown', () => {
  for (
    const [url, problem] of [
      ['nonsense', '"nonsense" as the URL of webhooks: it is not a URL'],
      ['http://127.0.0.1:9443', '"http://127.0.0.1:9443" as the URL of webhooks: it must begin with https://'],
      ['https://me:secret@h', '"https://h" as the URL of webhooks: it must have no user name or password'],
      ['https://h/?a=b', '"https://h" as the URL of webhooks: it must have no query and no fragment'],
      ['https://h/#a', '"https://h" as the URL of webhooks: it must have no query and no fragment'],
    ] as const
  ) {
    assert.throws(() => conversionOf({ url }), {
      name: 'TypeError',
      message: `Cannot use ${problem}; write https://HOST:PORT`,
    })
  }
})

test('a certificate needs the names by which the API server calls', () => {
  assert.deepEqual(namesOf(SERVICE), {
    dnsNames: ['hooks.prod.svc', 'hooks.prod.svc.cluster.local', 'hooks.prod'],
    ipAddresses: [],
  })
  assert.deepEqual(namesOf(URL_TARGET), { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1', '::1'] })
  assert.deepEqual(namesOf({ url: 'https://10.0.0.7:1' }).ipAddresses, ['127.0.0.1', '::1', '10.0.0.7'])
  assert.deepEqual(namesOf({ url: 'https://[fd00::1]:1' }).ipAddresses, ['127.0.0.1', '::1', 'fd00::1'])
  assert.deepEqual(namesOf({ url: 'https://dev.example.com' }).dnsNames, ['localhost', 'dev.example.com'])
})

test('stored rules call a webhook by any form of its resource', () => {
  const wanted = configured([admission({ options: { subresources: ['status'] } })])
  const forms = [['*/*'], ['sites', '*/status'], ['*'], ['sites/*']]
  const uncalled = forms.map((resources) => {
    const lines: string[] = []
    const [webhook] = wanted.validating!.webhooks
    const webhooks = [{ ...webhook, rules: [{ ...(webhook!['rules'] as object[])[0], resources }] }]
    const dependencies = { log: recordingLog(lines), operator: 'sites', api: undefined as never }
    warnOfDifferences([{ ...wanted.validating!, webhooks } as never], wanted, new Set(), dependencies)
    return / is not called for (.*?): /.exec(lines.join())?.[1]
  })
  assert.deepEqual(uncalled, [undefined, undefined, 'CREATE of sites/status', 'CREATE of sites'])
})
