/** The kinds of networking.k8s.io/v1. */
import { type ApiObject, at } from '../../model/json.ts'
import { selectorText } from '../../model/selectors.ts'
import { loadBalancerText } from './columns.ts'
import { AGE, defaultMarked, list, NAME, str, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { INGRESS_CLASS_RULES, NETWORK_POLICY_RULES } from '../networking/rules.ts'
import { INGRESS_RULES } from '../networking/ingresses.ts'

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

function parentText(address: ApiObject): string {
  const parent = at(address, 'spec', 'parentRef')
  if (!parent) return '<none>'
  const group = str(parent, 'group')
  const resource = `${str(parent, 'resource')}${group && `.${group}`}`.toLowerCase()
  return [resource, str(parent, 'namespace'), str(parent, 'name')].filter(Boolean).join('/')
}

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
    subresources: ['status'],
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
  kind('IPAddress ipaddresses ip | Cluster', {
    columns: [NAME, text('ParentRef', parentText)],
    rules: { nameRule: 'path' },
  }),
  kind('NetworkPolicy networkpolicies netpol', {
    columns: [NAME, text('Pod-Selector', (policy) => selectorText(at(policy, 'spec', 'podSelector')) || '<none>'), AGE],
    rules: NETWORK_POLICY_RULES,
  }),
  kind('ServiceCIDR servicecidrs | Cluster', {
    subresources: ['status'],
    columns: [
      NAME,
      text('CIDRs', (range) => {
        const cidrs = at(range, 'spec', 'cidrs')
        return Array.isArray(cidrs) ? cidrs.join(',') : ''
      }),
      AGE,
    ],
  }),
])
