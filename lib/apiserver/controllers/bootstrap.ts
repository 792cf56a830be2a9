/** Creates the objects that a real API server has after its start, besides the system namespaces. */
import { type Context, storeKey } from '../context/context.ts'
import { BOOTSTRAP_DATA } from './bootstrap_data.ts'
import { type ApiObject, at, instant, isObject, type Json, type JsonObject, newUid } from '../model/json.ts'
import { selectorMatches } from '../model/selectors.ts'

type Collection = readonly [plural: string, apiVersion: string, kind: string, objects: readonly JsonObject[]]

const ADDRESS = '10.96.0.1'

/** The Service of the API server itself. Nothing serves its address. */
const NETWORK: readonly Collection[] = [
  ['services', 'v1', 'Service', [{
    metadata: { name: 'kubernetes', namespace: 'default', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: ADDRESS,
      clusterIPs: [ADDRESS],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 }],
      sessionAffinity: 'None',
      type: 'ClusterIP',
    },
    status: { loadBalancer: {} },
  }]],
  ['servicecidrs', 'networking.k8s.io/v1', 'ServiceCIDR', [{
    metadata: { name: 'kubernetes' },
    spec: { cidrs: ['10.96.0.0/16'] },
    status: {
      conditions: [{
        type: 'Ready',
        status: 'True',
        reason: '',
        message: 'Kubernetes default Service CIDR is ready',
        lastTransitionTime: null,
      }],
    },
  }]],
  ['ipaddresses', 'networking.k8s.io/v1', 'IPAddress', [{
    metadata: {
      name: ADDRESS,
      labels: {
        'ipaddress.kubernetes.io/ip-family': 'IPv4',
        'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
      },
    },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'kubernetes' } },
  }]],
]

/** Stores the objects. Does not replace one that exists. */
export function createBootstrapObjects(context: Context): void {
  const now = instant(context.clock.now())
  const collections = BOOTSTRAP_DATA.trim().split('\n').map((line) => JSON.parse(line) as Collection)
  for (const [plural, apiVersion, name, objects] of [...NETWORK, ...collections]) {
    const kind = context.kinds.all().find((each) => each.plural === plural && each.apiVersion === apiVersion)
    if (!kind) throw new TypeError(`Cannot create the ${plural} of a new cluster: ${apiVersion} is not served`)
    for (const object of name === 'ClusterRole' ? aggregated(objects) : objects) {
      const metadata = object['metadata'] as ApiObject['metadata']
      const key = storeKey(kind, metadata.namespace ?? '', metadata.name!)
      if (context.store.get(kind.storage.id, key)) continue
      context.store.put(kind.storage.id, key, {
        apiVersion,
        kind: name,
        ...dated(object, now),
        metadata: { ...metadata, uid: newUid(context.random), creationTimestamp: now },
      })
    }
  }
}

/** Returns an object whose conditions changed at this time. */
function dated(object: JsonObject, now: string): JsonObject {
  const conditions = at(object, 'status', 'conditions')
  if (!Array.isArray(conditions)) return object
  const status = object['status'] as JsonObject
  const changed = conditions.map((each): Json => isObject(each) ? { ...each, lastTransitionTime: now } : each)
  return { ...object, status: { ...status, conditions: changed } }
}

/** Returns the roles with the rules that they collect from others, which a controller does in a whole cluster. */
function aggregated(roles: readonly JsonObject[]): readonly JsonObject[] {
  const rules = new Map<JsonObject, Json[]>(roles.map((role) => [role, ownRules(role)]))
  const collectors = roles.filter((role) => isObject(role['aggregationRule']))
  // A collected role may collect others itself: view is part of edit, and edit of admin.
  for (let changed = true; changed;) {
    changed = false
    for (const role of collectors) {
      const found = roles.filter((other) => other !== role && collects(role, other)).flatMap((each) => rules.get(each)!)
      const unique = [...new Map(found.map((rule) => [JSON.stringify(rule), rule])).values()]
      changed ||= unique.length !== rules.get(role)!.length
      rules.set(role, unique)
    }
  }
  return roles.map((role) => (collectors.includes(role) ? { ...role, rules: rules.get(role)! } : role))
}

function ownRules(role: JsonObject): Json[] {
  return Array.isArray(role['rules']) ? role['rules'] : []
}

function collects(role: JsonObject, other: JsonObject): boolean {
  const selectors = at(role, 'aggregationRule', 'clusterRoleSelectors')
  return Array.isArray(selectors) &&
    selectors.some((each) => isObject(each) && selectorMatches(each, at(other, 'metadata', 'labels')))
}
