/** Tests that the committed kinds match client-node and a kube-apiserver 1.36. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as kinds from '../../lib/kinds/mod.ts'
import { generate } from '../tools/kinds.ts'
import type { Desired, ObjectOf } from '../../lib/core/resource.ts'

for (const [name, text] of Object.entries(generate())) {
  test(`lib/kinds/${name} matches the output of \`node tests/tools/kinds.ts\``, () => {
    const committed = readFileSync(new URL(`../../lib/kinds/${name}`, import.meta.url), 'utf8')
    assert.ok(committed === text, 'run it and review the changes')
  })
}

/** `kubectl api-resources` of kube-apiserver 1.36.3, without componentstatuses (deprecated and read-only). */
const SERVED = `
bindings v1 true Binding
configmaps v1 true ConfigMap
endpoints v1 true Endpoints
events v1 true Event
limitranges v1 true LimitRange
namespaces v1 false Namespace
nodes v1 false Node
persistentvolumeclaims v1 true PersistentVolumeClaim
persistentvolumes v1 false PersistentVolume
pods v1 true Pod
podtemplates v1 true PodTemplate
replicationcontrollers v1 true ReplicationController
resourcequotas v1 true ResourceQuota
secrets v1 true Secret
serviceaccounts v1 true ServiceAccount
services v1 true Service
apiservices apiregistration.k8s.io/v1 false APIService
certificatesigningrequests certificates.k8s.io/v1 false CertificateSigningRequest
clusterrolebindings rbac.authorization.k8s.io/v1 false ClusterRoleBinding
clusterroles rbac.authorization.k8s.io/v1 false ClusterRole
controllerrevisions apps/v1 true ControllerRevision
cronjobs batch/v1 true CronJob
csidrivers storage.k8s.io/v1 false CSIDriver
csinodes storage.k8s.io/v1 false CSINode
csistoragecapacities storage.k8s.io/v1 true CSIStorageCapacity
customresourcedefinitions apiextensions.k8s.io/v1 false CustomResourceDefinition
daemonsets apps/v1 true DaemonSet
deployments apps/v1 true Deployment
deviceclasses resource.k8s.io/v1 false DeviceClass
endpointslices discovery.k8s.io/v1 true EndpointSlice
events events.k8s.io/v1 true Event
flowschemas flowcontrol.apiserver.k8s.io/v1 false FlowSchema
horizontalpodautoscalers autoscaling/v2 true HorizontalPodAutoscaler
ingressclasses networking.k8s.io/v1 false IngressClass
ingresses networking.k8s.io/v1 true Ingress
ipaddresses networking.k8s.io/v1 false IPAddress
jobs batch/v1 true Job
leases coordination.k8s.io/v1 true Lease
localsubjectaccessreviews authorization.k8s.io/v1 true LocalSubjectAccessReview
mutatingadmissionpolicies admissionregistration.k8s.io/v1 false MutatingAdmissionPolicy
mutatingadmissionpolicybindings admissionregistration.k8s.io/v1 false MutatingAdmissionPolicyBinding
mutatingwebhookconfigurations admissionregistration.k8s.io/v1 false MutatingWebhookConfiguration
networkpolicies networking.k8s.io/v1 true NetworkPolicy
poddisruptionbudgets policy/v1 true PodDisruptionBudget
priorityclasses scheduling.k8s.io/v1 false PriorityClass
prioritylevelconfigurations flowcontrol.apiserver.k8s.io/v1 false PriorityLevelConfiguration
replicasets apps/v1 true ReplicaSet
resourceclaims resource.k8s.io/v1 true ResourceClaim
resourceclaimtemplates resource.k8s.io/v1 true ResourceClaimTemplate
resourceslices resource.k8s.io/v1 false ResourceSlice
rolebindings rbac.authorization.k8s.io/v1 true RoleBinding
roles rbac.authorization.k8s.io/v1 true Role
runtimeclasses node.k8s.io/v1 false RuntimeClass
selfsubjectaccessreviews authorization.k8s.io/v1 false SelfSubjectAccessReview
selfsubjectreviews authentication.k8s.io/v1 false SelfSubjectReview
selfsubjectrulesreviews authorization.k8s.io/v1 false SelfSubjectRulesReview
servicecidrs networking.k8s.io/v1 false ServiceCIDR
statefulsets apps/v1 true StatefulSet
storageclasses storage.k8s.io/v1 false StorageClass
subjectaccessreviews authorization.k8s.io/v1 false SubjectAccessReview
tokenreviews authentication.k8s.io/v1 false TokenReview
validatingadmissionpolicies admissionregistration.k8s.io/v1 false ValidatingAdmissionPolicy
validatingadmissionpolicybindings admissionregistration.k8s.io/v1 false ValidatingAdmissionPolicyBinding
validatingwebhookconfigurations admissionregistration.k8s.io/v1 false ValidatingWebhookConfiguration
volumeattachments storage.k8s.io/v1 false VolumeAttachment
volumeattributesclasses storage.k8s.io/v1 false VolumeAttributesClass
`

test('the kinds are those of a server, with its plurals and scopes', () => {
  const ours = Object.values(kinds).map(({ group, version, kind, plural, scope }) =>
    `${plural} ${group ? `${group}/` : ''}${version} ${scope === 'Namespaced'} ${kind}`
  )
  assert.deepEqual(ours.sort(), SERVED.trim().split('\n').sort())
})

test('each export is named by its kind, except the newer Event', () => {
  const others = Object.entries(kinds).filter(([name, { kind }]) => name !== kind).map(([name]) => name)
  assert.deepEqual(others, ['EventsV1Event'])
  assert.equal(kinds.Event.group, '')
  assert.equal(kinds.EventsV1Event.group, 'events.k8s.io')
})

test('fields have their wire names', () => {
  const models = readFileSync(new URL('../../lib/kinds/models.ts', import.meta.url), 'utf8')
  assert.deepEqual(models.match(/readonly '?_\w+/g) ?? [], [])
  assert.deepEqual(models.match(/readonly x_kubernetes\w+/g) ?? [], [])
  for (
    const name of [
      'from?: readonly V1NetworkPolicyPeer[]',
      "'x-kubernetes-validations'?:",
      "'$ref'?:",
      'default?: unknown',
      'enum?: readonly unknown[]',
      'continue?:',
    ]
  ) {
    // The last is of ListMeta, which no kind contains.
    assert.equal(models.includes(`readonly ${name}`), name !== 'continue?:', name)
  }
})

test('fields have wire types, and required fields are required', () => {
  const pod: Partial<ObjectOf<typeof kinds.Pod>> = {}
  const started: string | undefined = pod.status?.startTime
  const lease: Desired<typeof kinds.Lease> = {
    metadata: { name: 'x' },
    spec: { renewTime: '2020-01-01T00:00:00.000000Z' },
  }
  const port: Desired<typeof kinds.Service> = {
    metadata: {},
    spec: { ports: [{ targetPort: 'http' }, { targetPort: 80 }] },
  }
  // @ts-expect-error a time is not a Date
  const wrong: Desired<typeof kinds.Lease> = { metadata: {}, spec: { renewTime: new Date(0) } }
  // @ts-expect-error a container that was read has a name
  const unnamed: NonNullable<ObjectOf<typeof kinds.Pod>['spec']>['containers'][number] = {}
  // @ts-expect-error status is not written
  const status: Desired<typeof kinds.Pod> = { metadata: {}, status: {} }
  assert.deepEqual([started, lease.spec?.renewTime, port.spec?.ports?.length], [
    undefined,
    '2020-01-01T00:00:00.000000Z',
    2,
  ])
  assert.ok(wrong && unnamed && status)
})

test('only types are imported, so that users compile and bundle only what they use', () => {
  for (const name of ['mod.ts', 'models.ts']) {
    const text = readFileSync(new URL(`../../lib/kinds/${name}`, import.meta.url), 'utf8')
    const imports = text.match(/^import .*$/gm) ?? []
    assert.ok(imports.every((line) => /^import type .* from '\.\.?\//.test(line)), imports.join('\n'))
  }
})
