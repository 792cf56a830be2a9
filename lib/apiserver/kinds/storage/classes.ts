/** The rules of storage classes, and the defaults of drivers. */
import { type Cause, fault } from '../../model/status.ts'
import { isObject, type Json } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { type Check, checked, oneOf, qualified, required, unchanged } from '../common/checks.ts'
import { filling } from '../common/fill.ts'

const lowerQualified: Check = (value, path, parent) =>
  qualified(String(value ?? '').toLowerCase(), path, parent).length === 0 ? [] : qualified(value, path, parent)

export const STORAGE_CLASS_RULES: Partial<Rules> = {
  defaults: filling({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),
  validate: (storageClass, old) => [
    ...checked(storageClass, [
      ['provisioner', required(), lowerQualified],
      ['parameters', parameters],
      ['reclaimPolicy', oneOf('Delete', 'Retain')],
      ['volumeBindingMode', oneOf('Immediate', 'WaitForFirstConsumer')],
    ]),
    ...unchanged(storageClass, old, 'parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'),
  ],
}

function parameters(value: Json | undefined, path: string): readonly Cause[] {
  return Object.keys(isObject(value) ? value : {}).filter((key) => key === '')
    .map((key) => fault.invalid(path, key, 'field can not be empty.'))
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
