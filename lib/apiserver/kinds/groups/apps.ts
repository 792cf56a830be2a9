/** The kinds of apps/v1. */
import { type ApiObject, at } from '../../model/json.ts'
import type { Column } from '../../model/columns.ts'
import {
  AGE,
  containerColumns,
  count,
  labelsText,
  NAME,
  num,
  str,
  text,
  wide,
  WORKLOAD_COLUMNS,
} from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import {
  DAEMON_SET_RULES,
  DEPLOYMENT_RULES,
  REPLICA_SET_RULES,
  REVISION_RULES,
  STATEFUL_SET_RULES,
} from '../workloads/rules.ts'

const READY: Column = text(
  'Ready',
  (workload) => `${num(workload, 'status', 'readyReplicas')}/${num(workload, 'spec', 'replicas')}`,
)

function controllerText({ metadata }: ApiObject): string {
  const owner = (metadata.ownerReferences ?? []).find((each) => each['controller'] === true)
  if (!owner) return '<none>'
  const [group] = str(owner, 'apiVersion').includes('/') ? str(owner, 'apiVersion').split('/') : ['']
  return `${`${str(owner, 'kind')}${group && `.${group}`}`.toLowerCase()}/${str(owner, 'name')}`
}

export const APPS: GroupTable = groupTable('apps/v1', [
  kind('ControllerRevision controllerrevisions', {
    columns: [NAME, text('Controller', controllerText), text('Revision', (revision) => revision['revision'] ?? 0), AGE],
    rules: REVISION_RULES,
  }),
  kind('DaemonSet daemonsets ds | all', {
    subresources: ['status'],
    columns: [
      NAME,
      count('Desired', 'status.desiredNumberScheduled'),
      count('Current', 'status.currentNumberScheduled'),
      count('Ready', 'status.numberReady'),
      count('Up-to-date', 'status.updatedNumberScheduled'),
      count('Available', 'status.numberAvailable'),
      text('Node Selector', (set) => labelsText(at(set, 'spec', 'template', 'spec', 'nodeSelector'))),
      AGE,
      ...WORKLOAD_COLUMNS,
    ],
    rules: DAEMON_SET_RULES,
  }),
  kind('Deployment deployments deploy | all', {
    subresources: ['scale', 'status'],
    columns: [
      NAME,
      READY,
      // Numbers in string columns, as on the real server.
      text('Up-to-date', (deployment) => num(deployment, 'status', 'updatedReplicas')),
      text('Available', (deployment) => num(deployment, 'status', 'availableReplicas')),
      AGE,
      ...WORKLOAD_COLUMNS,
    ],
    rules: DEPLOYMENT_RULES,
  }),
  kind('ReplicaSet replicasets rs | all', {
    subresources: ['scale', 'status'],
    columns: [
      NAME,
      count('Desired', 'spec.replicas'),
      count('Current', 'status.replicas'),
      count('Ready', 'status.readyReplicas'),
      AGE,
      ...WORKLOAD_COLUMNS,
    ],
    rules: REPLICA_SET_RULES,
  }),
  kind('StatefulSet statefulsets sts | all', {
    subresources: ['scale', 'status'],
    columns: [NAME, READY, AGE, ...containerColumns('spec', 'template').map(wide)],
    rules: STATEFUL_SET_RULES,
  }),
])
