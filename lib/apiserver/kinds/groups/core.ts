/** The kinds of the core group. */
import { at, size } from '../../model/json.ts'
import * as cells from './columns.ts'
import { POD_COLUMNS, podRowConditions } from '../pods/columns.ts'
import { PERSISTENT_VOLUME_CLAIM_COLUMNS, PERSISTENT_VOLUME_COLUMNS } from '../storage/columns.ts'
import { AGE, containerColumns, labelsText, NAME, REPLICA_COLUMNS, text, wide } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { CONFIG_MAP_RULES, SECRET_RULES } from '../rules/config.ts'
import { ENDPOINTS_RULES } from '../services/endpoints.ts'
import { CORE_EVENT_RULES } from '../rules/events.ts'
import { NAMESPACE_RULES } from '../rules/namespaces.ts'
import { NODE_RULES } from '../rules/nodes.ts'
import { POD_RULES } from '../pods/rules.ts'
import { LIMIT_RANGE_RULES, QUOTA_RULES } from '../quotas/rules.ts'
import { SERVICE_RULES } from '../services/rules.ts'
import { CLAIM_RULES, VOLUME_RULES } from '../storage/volumes.ts'
import { POD_TEMPLATE_RULES, REPLICATION_CONTROLLER_RULES } from '../workloads/rules.ts'

const PROXY_VERBS = ['create', 'delete', 'get', 'patch', 'update']
const STREAM_VERBS = ['create', 'get']

export const CORE: GroupTable = groupTable('v1', [
  kind('Binding bindings', { verbs: ['create'], stored: false }),
  kind('ComponentStatus componentstatuses cs | Cluster', {
    verbs: ['get', 'list'],
    stored: false,
    // There are none.
    columns: [NAME, text('Status', ''), text('Message', ''), text('Error', '')],
  }),
  kind('ConfigMap configmaps cm', {
    columns: [NAME, text('Data', (map) => size(map['data']) + size(map['binaryData'])), AGE],
    rules: CONFIG_MAP_RULES,
  }),
  kind('Endpoints endpoints ep', {
    columns: [NAME, text('Endpoints', cells.endpointsText), AGE],
    rules: ENDPOINTS_RULES,
    deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  }),
  kind('Event events ev', { columns: cells.EVENT_COLUMNS, rules: CORE_EVENT_RULES }),
  kind('LimitRange limitranges limits', { rules: LIMIT_RANGE_RULES }),
  kind('Namespace namespaces ns | Cluster', {
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    subresources: [{ name: 'finalize', verbs: ['update'] }, 'status'],
    columns: [NAME, text('Status', 'status.phase'), AGE],
    rules: NAMESPACE_RULES,
  }),
  kind('Node nodes no | Cluster', {
    subresources: [{ name: 'proxy', kind: 'NodeProxyOptions', verbs: PROXY_VERBS }, 'status'],
    columns: cells.NODE_COLUMNS,
    rules: NODE_RULES,
  }),
  kind('PersistentVolumeClaim persistentvolumeclaims pvc | returned', {
    subresources: ['status'],
    columns: PERSISTENT_VOLUME_CLAIM_COLUMNS,
    rules: CLAIM_RULES,
  }),
  kind('PersistentVolume persistentvolumes pv | Cluster returned', {
    subresources: ['status'],
    columns: PERSISTENT_VOLUME_COLUMNS,
    rules: VOLUME_RULES,
  }),
  kind('Pod pods po | returned all', {
    subresources: [
      { name: 'attach', kind: 'PodAttachOptions', verbs: STREAM_VERBS },
      { name: 'binding', kind: 'Binding', verbs: ['create'] },
      { name: 'ephemeralcontainers', verbs: ['get', 'patch', 'update'] },
      { name: 'eviction', kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] },
      { name: 'exec', kind: 'PodExecOptions', verbs: STREAM_VERBS },
      { name: 'log', verbs: ['get'] },
      { name: 'portforward', kind: 'PodPortForwardOptions', verbs: STREAM_VERBS },
      { name: 'proxy', kind: 'PodProxyOptions', verbs: PROXY_VERBS },
      { name: 'resize', verbs: ['get', 'patch', 'update'] },
      'status',
    ],
    columns: POD_COLUMNS,
    rowConditions: podRowConditions,
    rules: POD_RULES,
  }),
  kind('PodTemplate podtemplates | returned', { rules: POD_TEMPLATE_RULES }),
  kind('ReplicationController replicationcontrollers rc | all', {
    subresources: ['scale', 'status'],
    columns: [
      ...REPLICA_COLUMNS,
      ...containerColumns('spec', 'template').map(wide),
      wide(text('Selector', (controller) => labelsText(at(controller, 'spec', 'selector')))),
    ],
    rules: REPLICATION_CONTROLLER_RULES,
  }),
  kind('ResourceQuota resourcequotas quota | returned', {
    subresources: ['status'],
    columns: [
      NAME,
      text('Request', (quota) => cells.quotaText(quota, false)),
      text('Limit', (quota) => cells.quotaText(quota, true)),
      AGE,
    ],
    rules: QUOTA_RULES,
  }),
  kind('Secret secrets', {
    columns: [NAME, text('Type', 'type'), text('Data', (secret) => size(secret['data'])), AGE],
    rules: SECRET_RULES,
  }),
  kind('ServiceAccount serviceaccounts sa | returned', {
    subresources: [
      { name: 'token', kind: 'TokenRequest', group: 'authentication.k8s.io', version: 'v1', verbs: ['create'] },
    ],
    columns: [NAME, AGE],
  }),
  kind('Service services svc | returned all', {
    subresources: [{ name: 'proxy', kind: 'ServiceProxyOptions', verbs: PROXY_VERBS }, 'status'],
    columns: cells.SERVICE_COLUMNS,
    rules: SERVICE_RULES,
  }),
])
