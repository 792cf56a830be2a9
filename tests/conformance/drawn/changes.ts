/** Valid objects of built-in kinds with one or two changes of their fields. */
import { type Body, MERGE, STRATEGIC } from '../api.ts'
import { collectionOf, SAMPLES } from '../kinds/objects.ts'
import { RULE_SAMPLES } from '../kinds/rules.ts'
import type { Chance } from '../../tools/chance.ts'
import { canonical, type Drawn, refusal, type Server } from './server.ts'

const COUNT = 250
/** Of other kinds, names are generated, little is validated, or the answer depends on what other objects there are. */
const KINDS: Readonly<Record<string, string>> = {
  ...{ configmaps: 'ConfigMap', secrets: 'Secret', services: 'Service', serviceaccounts: 'ServiceAccount' },
  ...{ pods: 'Pod', persistentvolumeclaims: 'PersistentVolumeClaim', persistentvolumes: 'PersistentVolume' },
  ...{ deployments: 'Deployment', replicasets: 'ReplicaSet', statefulsets: 'StatefulSet', daemonsets: 'DaemonSet' },
  ...{ jobs: 'Job', cronjobs: 'CronJob', ingresses: 'Ingress', networkpolicies: 'NetworkPolicy', leases: 'Lease' },
  ...{ poddisruptionbudgets: 'PodDisruptionBudget', horizontalpodautoscalers: 'HorizontalPodAutoscaler' },
  ...{ roles: 'Role', rolebindings: 'RoleBinding', clusterroles: 'ClusterRole', priorityclasses: 'PriorityClass' },
  ...{ resourcequotas: 'ResourceQuota', limitranges: 'LimitRange', storageclasses: 'StorageClass' },
  ...{ endpointslices: 'EndpointSlice', podtemplates: 'PodTemplate', replicationcontrollers: 'ReplicationController' },
  ...{ endpoints: 'Endpoints', controllerrevisions: 'ControllerRevision', runtimeclasses: 'RuntimeClass' },
  ...{ csidrivers: 'CSIDriver', csinodes: 'CSINode', csistoragecapacities: 'CSIStorageCapacity' },
  ...{ volumeattachments: 'VolumeAttachment', deviceclasses: 'DeviceClass', resourceclaims: 'ResourceClaim' },
  ...{ resourceclaimtemplates: 'ResourceClaimTemplate', flowschemas: 'FlowSchema', events: 'Event' },
  ...{ prioritylevelconfigurations: 'PriorityLevelConfiguration' },
  ...{ certificatesigningrequests: 'CertificateSigningRequest', clusterrolebindings: 'ClusterRoleBinding' },
  ...{ validatingadmissionpolicies: 'ValidatingAdmissionPolicy', mutatingadmissionpolicies: 'MutatingAdmissionPolicy' },
  validatingadmissionpolicybindings: 'ValidatingAdmissionPolicyBinding',
  mutatingadmissionpolicybindings: 'MutatingAdmissionPolicyBinding',
  ...{ validatingwebhookconfigurations: 'ValidatingWebhookConfiguration' },
  ...{ mutatingwebhookconfigurations: 'MutatingWebhookConfiguration' },
}
const ODD: readonly unknown[] = [
  ...[null, '', 'x', 'A B', 0, 1, -1, 1.5, 2 ** 31, 70_000, true, false, [], {}, ['x'], { a: 'b' }, 'x'.repeat(300)],
  ...['10%', '1Gi', '-1', 'a/b', 'é', '/abs', '../x', [null], { '': '' }, { 'a b': 'c' }],
]

const kindOf = (resource: string): string | undefined => KINDS[resource.split('/').at(-1)!]
const VALID = [...SAMPLES, ...RULE_SAMPLES].filter(({ resource }) => kindOf(resource))

type Path = readonly (string | number)[]

function pathsIn(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  const isList = Array.isArray(value)
  return [
    at,
    ...Object.entries(value).flatMap(([name, inner]) => pathsIn(inner, [...at, isList ? Number(name) : name])),
  ]
}

/** Changes one field: removes it, or gives it an odd value or that of another field; or repeats an item. */
function change(object: Body, chance: Chance): void {
  const paths = pathsIn(object).filter(([first]) =>
    first && !['apiVersion', 'kind', 'metadata'].includes(String(first))
  )
  if (paths.length === 0) return
  const [at, other] = [chance.pick(paths), chance.pick(paths)]
  const within = (path: Path): Body => path.reduce((inner: Body, name) => inner[name], object)
  const [parent, name] = [within(at.slice(0, -1)), at.at(-1)!]
  const how = chance.below(5)
  if (how === 0 && Array.isArray(parent)) parent.splice(Number(name), 1)
  else if (how === 0) delete parent[name]
  else if (how === 1 && Array.isArray(parent)) parent.push(structuredClone(parent[0]))
  else parent[name] = structuredClone(how === 2 ? within(other) : chance.pick(ODD))
}

/** Returns a valid object of a kind that is drawn, with its collection. */
function sampleOf(chance: Chance, from: typeof VALID): { readonly path: string; readonly object: Body } {
  const { resource, object: valid } = chance.pick(from)
  const parts = resource.replace(/^\//, '').split('/').slice(0, -1)
  const object: Body = structuredClone({ apiVersion: parts.join('/'), kind: kindOf(resource), ...valid })
  object.metadata = { ...object.metadata, name: 'x' }
  return { path: collectionOf(resource).replace('{ns}', 'default'), object }
}

function contentOf({ metadata: _metadata, status: _status, ...content }: Body): string {
  return canonical(content)
}

export async function* drawnChanges(server: Server, chance: Chance): AsyncGenerator<Drawn> {
  for (let at = 0; at < COUNT; at++) {
    const { path, object } = sampleOf(chance, VALID)
    for (let left = chance.pick([1, 1, 2]); left > 0; left--) change(object, chance)
    const answer = await server.send('POST', `${path}?dryRun=All`, object)
    yield {
      request: `POST ${path} ${JSON.stringify(object)}`,
      answer: answer.status === 201 ? contentOf(answer.body) : refusal(answer),
    }
  }
}

/** Without those that would change what is compared of others, and Jobs, whose selectors are generated. */
const ALONE = VALID.filter(({ resource }) => !/quotas|limitranges|classes|configurations|jobs/.test(resource))

/** Ages, times, addresses and ports of nodes in tables. */
const VARIABLE = /"\d+s"|\d{4}-[^"]*Z|10\.\d+\.\d+\.\d+|:\d{5}(?=\/)/g
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

/** Updates and patches of objects that are stored, and how they are shown in tables. */
export async function* drawnUpdates(server: Server, chance: Chance, seed: number): AsyncGenerator<Drawn> {
  for (let at = 0; at < COUNT / 10; at++) {
    const { path, object } = sampleOf(chance, ALONE)
    const name = object.metadata.name = `u${seed}-${at}`
    const created = await server.send('POST', path, object)
    yield { request: `POST ${path}`, answer: created.status === 201 ? contentOf(created.body) : refusal(created) }
    const { body: table } = await server.send('GET', `${path}/${name}`, undefined, undefined, TABLE)
    yield { request: `GET ${path}/${name}`, answer: canonical(table.rows?.[0].cells).replaceAll(VARIABLE, '') }
    for (let write = 0; write < 9; write++) {
      // In the same order on each server, as fields are drawn.
      const changed: Body = created.status === 201 ? JSON.parse(contentOf(created.body)) : structuredClone(object)
      changed.metadata = { ...object.metadata, name }
      for (let left = chance.pick([1, 1, 2]); left > 0; left--) change(changed, chance)
      const type = chance.pick([undefined, MERGE, STRATEGIC])
      const answer = await server.send(type ? 'PATCH' : 'PUT', `${path}/${name}?dryRun=All`, changed, type)
      yield {
        request: `${type ?? 'PUT'} ${path}/${name} ${JSON.stringify(changed)}`,
        answer: answer.status < 300 ? contentOf(answer.body) : refusal(answer),
      }
    }
    await server.send('DELETE', `${path}/${name}`, { gracePeriodSeconds: 0, propagationPolicy: 'Background' })
  }
}
