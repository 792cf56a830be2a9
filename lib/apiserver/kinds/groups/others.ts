/** The kinds of the smaller groups. Those that only components of a cluster write have the columns of any kind. */
import { WEBHOOK_RULES } from '../../webhooks/rules.ts'
import { CRD_RULES } from '../../crd/rules.ts'
import { EVENT_COLUMNS, loadBalancerText } from './columns.ts'
import { CERTIFICATE_RULES } from '../../access/certificates.ts'
import { type Column, humanDuration } from '../../model/columns.ts'
import { type ApiObject, at, type JsonObject, list, num, size, str } from '../../model/json.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { selectable, selectorText } from '../../model/selectors.ts'
import { AGE, count, CREATED_AT, defaultMarked, firstOf, flag, NAME, text, wide } from '../common/columns.ts'
import { fill } from '../common/fill.ts'
import { INGRESS_RULES } from '../networking/ingresses.ts'
import { INGRESS_CLASS_RULES, NETWORK_POLICY_RULES } from '../networking/rules.ts'
import {
  POLICY_BINDING_RULES,
  POLICY_RULES,
  VALIDATING_BINDING_RULES,
  VALIDATING_POLICY_RULES,
} from '../rules/admission_policies.ts'
import { EVENT_RULES } from '../rules/events.ts'
import { RUNTIME_CLASS_RULES } from '../rules/nodes.ts'
import { BINDING_RULES, ROLE_RULES } from '../rules/rbac.ts'
import {
  DEVICE_CLAIM_RULES,
  DEVICE_TEMPLATE_RULES,
  FLOW_SCHEMA_RULES,
  LEASE_RULES,
  PRIORITY_CLASS_RULES,
  PRIORITY_LEVEL_RULES,
} from '../rules/small.ts'
import { ENDPOINT_SLICE_RULES } from '../services/endpoints.ts'
import { CSI_DRIVER_RULES, STORAGE_CLASS_RULES, STORAGE_RULES } from '../storage/classes.ts'

const REVIEW = { verbs: ['create'], stored: false } as const
const WITH_STATUS = ['status'] as const

const conditionOf = (object: ApiObject, type: string): JsonObject | undefined =>
  list(object, 'status', 'conditions').find((each) => each['type'] === type)

function availability(service: ApiObject): string {
  const condition = conditionOf(service, 'Available')
  if (!condition) return 'Unknown'
  return condition['status'] === 'True' ? 'True' : `${str(condition, 'status')} (${str(condition, 'reason')})`
}

function serviceText(service: ApiObject): string {
  const target = at(service, 'spec', 'service')
  return target ? `${str(target, 'namespace')}/${str(target, 'name')}` : 'Local'
}

function approvalText(request: ApiObject): string {
  const decision = ['Denied', 'Approved'].find((type) => conditionOf(request, type)) ?? 'Pending'
  const issued = str(request, 'status', 'certificate') ? ',Issued' : ''
  return `${decision}${conditionOf(request, 'Failed') ? ',Failed' : ''}${issued}`
}

function durationText(request: ApiObject): string {
  const seconds = num(request, 'spec', 'expirationSeconds')
  return seconds ? humanDuration(seconds * 1000) : '<none>'
}

function subjects(kind: string): Column {
  const named = (each: JsonObject): string =>
    kind === 'ServiceAccount' ? `${str(each, 'namespace')}/${str(each, 'name')}` : str(each, 'name')
  return wide(
    text(
      `${kind}s`,
      (binding) => list(binding, 'subjects').filter((each) => each['kind'] === kind).map(named).join(', '),
    ),
  )
}

const MAX_HOSTS = 3

function hostsText(ingress: ApiObject): string {
  const rules = list(ingress, 'spec', 'rules')
  const hosts = rules.slice(0, MAX_HOSTS).map((rule) => str(rule, 'host')).filter(Boolean)
  if (hosts.length === 0) return '*'
  const more = rules.length - MAX_HOSTS
  return more > 0 ? `${hosts.join(',')} + ${more} more...` : hosts.join(',')
}

function parametersText(ingressClass: ApiObject): string {
  const parameters = at(ingressClass, 'spec', 'parameters')
  if (!parameters) return '<none>'
  const group = str(parameters, 'apiGroup')
  return `${str(parameters, 'kind')}${group && `.${group}`}/${str(parameters, 'name')}`
}

function portsText(slice: ApiObject): string {
  return firstOf(list(slice, 'ports').map((port) => String(port['port'] ?? port['name'] ?? '*')), 3) || '<unset>'
}

function addressesText(slice: ApiObject): string {
  return firstOf(list(slice, 'endpoints').flatMap((each) => (each['addresses'] ?? []) as string[]), 3) || '<unset>'
}

function paramKind(policy: ApiObject): string {
  const kind = at(policy, 'spec', 'paramKind')
  return kind ? `${str(kind, 'apiVersion')}/${str(kind, 'kind')}` : '<unset>'
}

function paramText(binding: ApiObject): string {
  const param = at(binding, 'spec', 'paramRef')
  const name = str(param, 'name')
  if (name) return `${str(param, 'namespace') || '*'}/${name}`
  return selectorText(at(param, 'selector')) || '<unset>'
}

const POLICY_COLUMNS = (list: string): readonly Column[] => [
  NAME,
  count(`${list[0]!.toUpperCase()}${list.slice(1)}`, (policy) => size(at(policy, 'spec', list))),
  text('ParamKind', paramKind),
  AGE,
]

const POLICY_BINDING_COLUMNS = [NAME, text('PolicyName', 'spec.policyName'), text('ParamRef', paramText), AGE]
const WEBHOOK_COLUMNS = [NAME, count('Webhooks', (config) => size(config['webhooks'])), AGE]
const ROLE_COLUMNS = [NAME, CREATED_AT]
const BINDING_COLUMNS = [
  NAME,
  text('Role', (binding) => `${str(binding, 'roleRef', 'kind')}/${str(binding, 'roleRef', 'name')}`),
  AGE,
  ...['User', 'Group', 'ServiceAccount'].map(subjects),
]

export const APIREGISTRATION: GroupTable = groupTable('apiregistration.k8s.io/v1', [
  kind('APIService apiservices | Cluster api-extensions', {
    subresources: WITH_STATUS,
    columns: [NAME, text('Service', serviceText), text('Available', availability), AGE],
    rules: {
      unconditionalUpdate: false,
      nameRule: 'path',
      defaults: (service) => fill(service, { 'spec.service.port': 443 }),
    },
  }),
])

export const EVENTS: GroupTable = groupTable('events.k8s.io/v1', [
  kind('Event events ev', {
    storedAs: { group: '', version: 'v1', plural: 'events' },
    columns: EVENT_COLUMNS,
    rules: EVENT_RULES,
  }),
])

export const AUTHENTICATION: GroupTable = groupTable('authentication.k8s.io/v1', [
  kind('SelfSubjectReview selfsubjectreviews | Cluster', REVIEW),
  kind('TokenReview tokenreviews | Cluster', REVIEW),
])

export const AUTHORIZATION: GroupTable = groupTable('authorization.k8s.io/v1', [
  kind('LocalSubjectAccessReview localsubjectaccessreviews', REVIEW),
  kind('SelfSubjectAccessReview selfsubjectaccessreviews | Cluster', REVIEW),
  kind('SelfSubjectRulesReview selfsubjectrulesreviews | Cluster', REVIEW),
  kind('SubjectAccessReview subjectaccessreviews | Cluster', REVIEW),
])

export const CERTIFICATES: GroupTable = groupTable('certificates.k8s.io/v1', [
  kind('CertificateSigningRequest certificatesigningrequests csr | Cluster', {
    subresources: [{ name: 'approval', verbs: ['get', 'patch', 'update'] }, 'status'],
    columns: [
      NAME,
      AGE,
      text('SignerName', 'spec.signerName', '<none>'),
      text('Requestor', 'spec.username'),
      text('RequestedDuration', durationText),
      text('Condition', approvalText),
    ],
    rules: CERTIFICATE_RULES,
  }),
])

export const NETWORKING: GroupTable = groupTable('networking.k8s.io/v1', [
  kind('IngressClass ingressclasses | Cluster', {
    columns: [
      defaultMarked('ingressclass.kubernetes.io/is-default-class'),
      text('Controller', 'spec.controller'),
      text('Parameters', parametersText),
      AGE,
    ],
    rules: INGRESS_CLASS_RULES,
  }),
  kind('Ingress ingresses ing', {
    subresources: WITH_STATUS,
    columns: [
      NAME,
      text('Class', 'spec.ingressClassName', '<none>'),
      text('Hosts', hostsText),
      text('Address', loadBalancerText),
      text('Ports', (ingress) => (list(ingress, 'spec', 'tls').length > 0 ? '80, 443' : '80')),
      AGE,
    ],
    rules: INGRESS_RULES,
  }),
  kind('IPAddress ipaddresses ip | Cluster', { rules: { nameRule: 'path' } }),
  kind('NetworkPolicy networkpolicies netpol', {
    columns: [NAME, text('Pod-Selector', (policy) => selectorText(at(policy, 'spec', 'podSelector')) || '<none>'), AGE],
    rules: NETWORK_POLICY_RULES,
  }),
  kind('ServiceCIDR servicecidrs | Cluster', { subresources: WITH_STATUS }),
])

export const RBAC: GroupTable = groupTable('rbac.authorization.k8s.io/v1', [
  kind('ClusterRoleBinding clusterrolebindings | Cluster', { columns: BINDING_COLUMNS, rules: BINDING_RULES }),
  kind('ClusterRole clusterroles | Cluster', { columns: ROLE_COLUMNS, rules: ROLE_RULES }),
  kind('RoleBinding rolebindings', { columns: BINDING_COLUMNS, rules: BINDING_RULES }),
  kind('Role roles', { columns: ROLE_COLUMNS, rules: ROLE_RULES }),
])

export const STORAGE: GroupTable = groupTable('storage.k8s.io/v1', [
  kind('CSIDriver csidrivers | Cluster returned', { rules: CSI_DRIVER_RULES }),
  kind('CSINode csinodes | Cluster returned', { rules: STORAGE_RULES }),
  kind('CSIStorageCapacity csistoragecapacities', { rules: STORAGE_RULES }),
  kind('StorageClass storageclasses sc | Cluster returned', {
    columns: [
      defaultMarked('storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'),
      text('Provisioner', 'provisioner'),
      text('ReclaimPolicy', 'reclaimPolicy', 'Delete'),
      text('VolumeBindingMode', 'volumeBindingMode', 'Immediate'),
      text('AllowVolumeExpansion', (each) => each['allowVolumeExpansion'] ?? false),
      AGE,
    ],
    rules: STORAGE_CLASS_RULES,
  }),
  kind('VolumeAttachment volumeattachments | Cluster returned', { subresources: WITH_STATUS, rules: STORAGE_RULES }),
  kind('VolumeAttributesClass volumeattributesclasses vac | Cluster returned'),
])

export const ADMISSIONREGISTRATION: GroupTable = groupTable('admissionregistration.k8s.io/v1', [
  kind('MutatingAdmissionPolicy mutatingadmissionpolicies | Cluster api-extensions', { rules: POLICY_RULES }),
  kind('MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings | Cluster api-extensions', {
    rules: POLICY_BINDING_RULES,
  }),
  kind('MutatingWebhookConfiguration mutatingwebhookconfigurations | Cluster api-extensions', {
    columns: WEBHOOK_COLUMNS,
    rules: WEBHOOK_RULES['mutatingwebhookconfigurations.admissionregistration.k8s.io']!,
  }),
  kind('ValidatingAdmissionPolicy validatingadmissionpolicies | Cluster api-extensions', {
    subresources: WITH_STATUS,
    columns: POLICY_COLUMNS('validations'),
    rules: VALIDATING_POLICY_RULES,
  }),
  kind('ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings | Cluster api-extensions', {
    columns: POLICY_BINDING_COLUMNS,
    rules: VALIDATING_BINDING_RULES,
  }),
  kind('ValidatingWebhookConfiguration validatingwebhookconfigurations | Cluster api-extensions', {
    columns: WEBHOOK_COLUMNS,
    rules: WEBHOOK_RULES['validatingwebhookconfigurations.admissionregistration.k8s.io']!,
  }),
])

export const APIEXTENSIONS: GroupTable = groupTable('apiextensions.k8s.io/v1', [
  kind('CustomResourceDefinition customresourcedefinitions crd crds | Cluster api-extensions', {
    subresources: WITH_STATUS,
    columns: ROLE_COLUMNS,
    rules: CRD_RULES['customresourcedefinitions.apiextensions.k8s.io']!,
  }),
])

export const SCHEDULING: GroupTable = groupTable('scheduling.k8s.io/v1', [
  kind('PriorityClass priorityclasses pc | Cluster', {
    columns: [
      NAME,
      count('Value', 'value'),
      flag('Global-Default', 'globalDefault'),
      AGE,
      text('PreemptionPolicy', 'preemptionPolicy'),
    ],
    rules: PRIORITY_CLASS_RULES,
  }),
])

export const COORDINATION: GroupTable = groupTable('coordination.k8s.io/v1', [
  kind('Lease leases', { columns: [NAME, text('Holder', 'spec.holderIdentity'), AGE], rules: LEASE_RULES }),
])

export const NODE: GroupTable = groupTable('node.k8s.io/v1', [
  kind('RuntimeClass runtimeclasses | Cluster', {
    columns: [NAME, text('Handler', 'handler'), AGE],
    rules: RUNTIME_CLASS_RULES,
  }),
])

export const DISCOVERY: GroupTable = groupTable('discovery.k8s.io/v1', [
  kind('EndpointSlice endpointslices', {
    columns: [
      NAME,
      text('AddressType', 'addressType'),
      text('Ports', portsText),
      text('Endpoints', addressesText),
      AGE,
    ],
    rules: ENDPOINT_SLICE_RULES,
  }),
])

export const RESOURCE: GroupTable = groupTable('resource.k8s.io/v1', [
  kind('DeviceClass deviceclasses | Cluster', { rules: { generation: true } }),
  kind('ResourceClaim resourceclaims', { subresources: WITH_STATUS, rules: DEVICE_CLAIM_RULES }),
  kind('ResourceClaimTemplate resourceclaimtemplates', { rules: DEVICE_TEMPLATE_RULES }),
  kind('ResourceSlice resourceslices | Cluster', {
    rules: { generation: true, fields: selectable('spec.nodeName', 'spec.driver') },
  }),
])

export const FLOWCONTROL: GroupTable = groupTable('flowcontrol.apiserver.k8s.io/v1', [
  kind('FlowSchema flowschemas | Cluster', { subresources: WITH_STATUS, rules: FLOW_SCHEMA_RULES }),
  kind('PriorityLevelConfiguration prioritylevelconfigurations | Cluster', {
    subresources: WITH_STATUS,
    rules: PRIORITY_LEVEL_RULES,
  }),
])
