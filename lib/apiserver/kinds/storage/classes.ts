/** The rules of storage classes, and the defaults of drivers. */
import type { Rules } from '../../model/kinds.ts'
import { filling } from '../common/fill.ts'
import { checked, oneOf, required, unchanged } from '../../model/checks.ts'

export const STORAGE_CLASS_RULES: Partial<Rules> = {
  defaults: filling({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),
  validate: (storageClass, old) => [
    ...checked(storageClass, [
      ['provisioner', required()],
      ['reclaimPolicy', oneOf('Delete', 'Retain')],
      ['volumeBindingMode', oneOf('Immediate', 'WaitForFirstConsumer')],
    ]),
    ...unchanged(storageClass, old, 'parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'),
  ],
}

/** What storage drivers write is stored with its defaults, and not checked. */
export const CSI_DRIVER_RULES: Partial<Rules> = {
  unconditionalUpdate: false,
  defaults: filling({
    'spec.attachRequired': true,
    'spec.podInfoOnMount': false,
    'spec.storageCapacity': false,
    'spec.fsGroupPolicy': 'ReadWriteOnceWithFSType',
    'spec.volumeLifecycleModes': ['Persistent'],
    'spec.requiresRepublish': false,
    'spec.seLinuxMount': false,
  }),
}

export const STORAGE_RULES: Partial<Rules> = { unconditionalUpdate: false }
