/** The columns of `kubectl get` for built-in kinds. */
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../json.ts'
import { age, type Column, humanDuration, NAME_COLUMN } from '../table.ts'

const AGE: Column = {
  name: 'Age',
  type: 'string',
  value: (object, nowMs) => age(object.metadata.creationTimestamp ?? undefined, nowMs),
}

function text(name: string, value: (object: ApiObject, nowMs: number) => Json, priority = 0): Column {
  return { name, type: 'string', value, ...(priority && { priority }) }
}

function count(name: string, value: (object: ApiObject) => Json): Column {
  return { name, type: 'integer', value }
}

function num(object: ApiObject, ...path: readonly string[]): number {
  const value = at(object, ...path)
  return typeof value === 'number' ? value : 0
}

function str(object: ApiObject, ...path: readonly string[]): string {
  const value = at(object, ...path)
  return typeof value === 'string' ? value : ''
}

function list(object: ApiObject, ...path: readonly string[]): readonly JsonObject[] {
  const value = at(object, ...path)
  return Array.isArray(value) ? value.filter(isObject) : []
}

function size(value: Json | undefined): number {
  return isObject(value) ? Object.keys(value).length : Array.isArray(value) ? value.length : 0
}

function containers(object: ApiObject): readonly JsonObject[] {
  return list(object, 'spec', 'template', 'spec', 'containers')
}

const CONTAINERS = text('Containers', (object) => containers(object).map((each) => String(each['name'])).join(','), 1)
const IMAGES = text('Images', (object) => containers(object).map((each) => String(each['image'] ?? '')).join(','), 1)
const SELECTOR = text('Selector', (object) => selectorText(at(object, 'spec', 'selector')), 1)

function selectorText(selector: Json | undefined): string {
  const labels = at(selector, 'matchLabels')
  return isObject(labels)
    ? Object.keys(labels).sort().map((key) => `${key}=${String(labels[key])}`).join(',')
    : '<none>'
}

function pairs(labels: Json | undefined): string {
  return isObject(labels) && size(labels) > 0
    ? Object.keys(labels).sort().map(
      (key) => `${key}=${String(labels[key])}`,
    ).join(',')
    : '<none>'
}

function podReady(object: ApiObject): string {
  const statuses = list(object, 'status', 'containerStatuses')
  return `${statuses.filter((status) => status['ready'] === true).length}/${list(object, 'spec', 'containers').length}`
}

function podStatus(object: ApiObject): string {
  if (object.metadata.deletionTimestamp) return 'Terminating'
  return str(object, 'status', 'reason') || str(object, 'status', 'phase')
}

function servicePorts(object: ApiObject): string {
  const ports = list(object, 'spec', 'ports').map((port) => {
    const node = port['nodePort'] ? `:${String(port['nodePort'])}` : ''
    return `${String(port['port'])}${node}/${String(port['protocol'] ?? 'TCP')}`
  })
  return ports.length > 0 ? ports.join(',') : '<none>'
}

function jobStatus(object: ApiObject): string {
  const finished = list(object, 'status', 'conditions').find(
    (each) => (each['type'] === 'Complete' || each['type'] === 'Failed') && each['status'] === 'True',
  )
  if (finished) return String(finished['type'])
  if (object.metadata.deletionTimestamp) return 'Terminating'
  return at(object, 'spec', 'suspend') === true ? 'Suspended' : 'Running'
}

function eventAge(object: ApiObject, nowMs: number): string {
  const last = str(
    object,
    'series',
    'lastObservedTime',
  ) || str(object, 'lastTimestamp') || str(object, 'eventTime') || str(object, 'firstTimestamp')
  return age(last || undefined, nowMs)
}

const WEBHOOK_COLUMNS: readonly Column[] = [
  NAME_COLUMN,
  count('Webhooks', (object) => size(object['webhooks'])),
  AGE,
]

export const BUILTIN_COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  ConfigMap: [NAME_COLUMN, count('Data', (object) => size(object['data']) + size(object['binaryData'])), AGE],
  CronJob: [
    NAME_COLUMN,
    text('Schedule', (object) => str(object, 'spec', 'schedule')),
    text(
      'Timezone',
      (object) => str(object, 'spec', 'timeZone') || '<none>',
    ),
    text(
      'Suspend',
      (object) => (at(object, 'spec', 'suspend') === true ? 'True' : 'False'),
    ),
    count('Active', (object) => size(at(object, 'status', 'active'))),
    text(
      'Last Schedule',
      (
        object,
        nowMs,
      ) => (str(object, 'status', 'lastScheduleTime')
        ? age(str(object, 'status', 'lastScheduleTime'), nowMs)
        : '<none>'),
    ),
    AGE,
  ],
  CustomResourceDefinition: [
    NAME_COLUMN,
    { name: 'Created At', type: 'date', value: (object) => object.metadata.creationTimestamp ?? null },
  ],
  DaemonSet: [
    NAME_COLUMN,
    count(
      'Desired',
      (object) => num(object, 'status', 'desiredNumberScheduled'),
    ),
    count('Current', (object) => num(object, 'status', 'currentNumberScheduled')),
    count('Ready', (object) => num(object, 'status', 'numberReady')),
    count(
      'Up-to-date',
      (object) => num(object, 'status', 'updatedNumberScheduled'),
    ),
    count('Available', (object) => num(object, 'status', 'numberAvailable')),
    text('Node Selector', (object) => pairs(at(object, 'spec', 'template', 'spec', 'nodeSelector'))),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
  ],
  Deployment: [
    NAME_COLUMN,
    text('Ready', (object) => `${num(object, 'status', 'readyReplicas')}/${num(object, 'spec', 'replicas')}`),
    // Numbers in string columns, as on the real server.
    text('Up-to-date', (object) => num(object, 'status', 'updatedReplicas')),
    text(
      'Available',
      (object) => num(object, 'status', 'availableReplicas'),
    ),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
  ],
  Event: [
    text('Last Seen', eventAge),
    text('Type', (object) => str(object, 'type')),
    text('Reason', (object) => str(object, 'reason')),
    text('Object', (object) => {
      const about = object['involvedObject'] ?? object['regarding']
      return `${String(at(about, 'kind') ?? '').toLowerCase()}/${String(at(about, 'name') ?? '')}`
    }),
    text('Message', (object) => (str(object, 'message') || str(object, 'note')).trim()),
  ],
  Job: [
    NAME_COLUMN,
    text('Status', jobStatus),
    text('Completions', (object) => `${num(object, 'status', 'succeeded')}/${num(object, 'spec', 'completions') || 1}`),
    text('Duration', (object, nowMs) => {
      const start = str(object, 'status', 'startTime')
      const end = str(object, 'status', 'completionTime')
      return start ? humanDuration((end ? Date.parse(end) : nowMs) - Date.parse(start)) : ''
    }),
    AGE,
  ],
  Lease: [NAME_COLUMN, text('Holder', (object) => str(object, 'spec', 'holderIdentity')), AGE],
  MutatingWebhookConfiguration: WEBHOOK_COLUMNS,
  Namespace: [NAME_COLUMN, text('Status', (object) => str(object, 'status', 'phase')), AGE],
  NetworkPolicy: [NAME_COLUMN, text('Pod-Selector', (object) => selectorText(at(object, 'spec', 'podSelector'))), AGE],
  Pod: [
    NAME_COLUMN,
    text('Ready', podReady),
    text('Status', podStatus),
    text(
      'Restarts',
      (object) =>
        String(
          list(object, 'status', 'containerStatuses').reduce((sum, each) => sum + Number(each['restartCount'] ?? 0), 0),
        ),
    ),
    AGE,
    text('IP', (object) => str(object, 'status', 'podIP') || '<none>', 1),
    text(
      'Node',
      (object) => str(object, 'spec', 'nodeName') || '<none>',
      1,
    ),
    text(
      'Nominated Node',
      (object) => str(object, 'status', 'nominatedNodeName') || '<none>',
      1,
    ),
    text('Readiness Gates', () => '<none>', 1),
  ],
  ReplicaSet: [
    NAME_COLUMN,
    count('Desired', (object) => num(object, 'spec', 'replicas')),
    count(
      'Current',
      (object) => num(object, 'status', 'replicas'),
    ),
    count('Ready', (object) => num(object, 'status', 'readyReplicas')),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
  ],
  RoleBinding: [
    NAME_COLUMN,
    text('Role', (object) => `${str(object, 'roleRef', 'kind')}/${str(object, 'roleRef', 'name')}`),
    AGE,
  ],
  ClusterRoleBinding: [
    NAME_COLUMN,
    text('Role', (object) => `${str(object, 'roleRef', 'kind')}/${str(object, 'roleRef', 'name')}`),
    AGE,
  ],
  Role: [NAME_COLUMN, {
    name: 'Created At',
    type: 'date',
    value: (object) => object.metadata.creationTimestamp ?? null,
  }],
  ClusterRole: [NAME_COLUMN, {
    name: 'Created At',
    type: 'date',
    value: (object) => object.metadata.creationTimestamp ?? null,
  }],
  Secret: [
    NAME_COLUMN,
    text('Type', (object) => str(object, 'type')),
    count('Data', (object) => size(object['data'])),
    AGE,
  ],
  Service: [
    NAME_COLUMN,
    text('Type', (object) => str(object, 'spec', 'type')),
    text(
      'Cluster-IP',
      (object) => str(object, 'spec', 'clusterIP') || '<none>',
    ),
    text(
      'External-IP',
      (object) => ((at(object, 'spec', 'externalIPs') as Json[] | undefined) ?? []).join(',') || '<none>',
    ),
    text('Port(s)', servicePorts),
    AGE,
    text('Selector', (object) => pairs(at(object, 'spec', 'selector')), 1),
  ],
  ServiceAccount: [NAME_COLUMN, count('Secrets', (object) => size(object['secrets'])), AGE],
  StatefulSet: [
    NAME_COLUMN,
    text(
      'Ready',
      (object) => `${num(object, 'status', 'readyReplicas')}/${num(object, 'spec', 'replicas')}`,
    ),
    AGE,
    CONTAINERS,
    IMAGES,
  ],
  ValidatingWebhookConfiguration: WEBHOOK_COLUMNS,
}
