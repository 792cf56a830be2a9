/** The kinds of storage.k8s.io/v1. */
import { type ApiObject, at } from '../../model/json.ts'
import { AGE, count, defaultMarked, flag, list, NAME, size, str, text } from '../common/columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { CSI_DRIVER_RULES, STORAGE_CLASS_RULES, STORAGE_RULES } from '../storage/classes.ts'

function tokenRequests(driver: ApiObject): string {
  if (at(driver, 'spec', 'tokenRequests') === undefined) return '<unset>'
  return list(driver, 'spec', 'tokenRequests').map((each) => str(each, 'audience')).join(',')
}

export const STORAGE: GroupTable = groupTable('storage.k8s.io/v1', [
  kind('CSIDriver csidrivers | Cluster returned', {
    columns: [
      NAME,
      flag('AttachRequired', 'spec.attachRequired', true),
      flag('PodInfoOnMount', 'spec.podInfoOnMount'),
      flag('StorageCapacity', 'spec.storageCapacity'),
      text('TokenRequests', tokenRequests),
      flag('RequiresRepublish', 'spec.requiresRepublish'),
      text('Modes', (driver) => {
        const modes = at(driver, 'spec', 'volumeLifecycleModes')
        return (Array.isArray(modes) ? modes.join(',') : '') || '<none>'
      }),
      AGE,
    ],
    rules: CSI_DRIVER_RULES,
  }),
  kind('CSINode csinodes | Cluster returned', {
    columns: [NAME, count('Drivers', (node) => size(at(node, 'spec', 'drivers'))), AGE],
    rules: STORAGE_RULES,
  }),
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
  kind('VolumeAttachment volumeattachments | Cluster returned', {
    subresources: ['status'],
    columns: [
      NAME,
      { ...text('Attacher', 'spec.attacher'), format: 'name' },
      text('PV', 'spec.source.persistentVolumeName'),
      text('Node', 'spec.nodeName'),
      flag('Attached', 'status.attached'),
      AGE,
    ],
    rules: STORAGE_RULES,
  }),
  kind('VolumeAttributesClass volumeattributesclasses vac | Cluster returned', {
    columns: [NAME, text('DriverName', 'driverName'), AGE],
  }),
])
