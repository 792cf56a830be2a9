/** The rules of storage classes, drivers and attachments. */
import { jsonEqual } from '../../../core/equal.ts'
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { immutable } from '../../model/objects.ts'
import { atLeast, type Check, checked, name, oneOf, qualified, required, unchanged, unique } from '../common/checks.ts'
import { filling } from '../common/fill.ts'
import { amountOf } from '../common/resources.ts'

/** The name of a class, which may be empty for no class. */
const className: Check = (value, path) => name('subdomain')(value ?? '', path, {})

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

export const VOLUME_ATTRIBUTES_CLASS_RULES: Partial<Rules> = {
  validate: (attributesClass, old) => [
    ...checked(attributesClass, [
      ['driverName', required()],
      ['parameters', required('must contain at least one key/value pair')],
    ]),
    ...['driverName', 'parameters'].filter((field) => old && !jsonEqual(attributesClass[field], old[field]))
      .map((field) => fault.forbidden(field, `updates to ${field} are forbidden.`)),
  ],
}

const TEN_MINUTES = 600

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
  prepareUpdate: countChanges,
  validate: (driver, old) => [
    ...checked(driver, [
      ['spec.fsGroupPolicy', oneOf('File', 'None', 'ReadWriteOnceWithFSType')],
      ['spec.tokenRequests', unique('audience')],
      [
        'spec.tokenRequests[].expirationSeconds',
        atLeast(TEN_MINUTES, 'may not specify a duration less than 10 minutes'),
      ],
    ]),
    ...lifecycleFaults(at(driver, 'spec', 'volumeLifecycleModes')),
    ...(old && !jsonEqual(at(driver, 'spec', 'attachRequired'), at(old, 'spec', 'attachRequired'))
      ? [immutable('spec.attachedRequired', at(driver, 'spec', 'attachRequired'))]
      : []),
    ...unchanged(driver, old, 'spec.volumeLifecycleModes'),
  ],
}

/** A driver has no generation until its spec changes. */
function countChanges(driver: ApiObject, old: ApiObject): void {
  const before = old.metadata.generation ?? 0
  if (before > 0) driver.metadata.generation = before
  if (!jsonEqual(driver['spec'], old['spec'])) driver.metadata.generation = before + 1
}

function lifecycleFaults(modes: Json | undefined): Cause[] {
  const known = ['Persistent', 'Ephemeral']
  return (Array.isArray(modes) ? modes : []).filter((mode) => !known.includes(String(mode)))
    .map((mode) => fault.notSupported('spec.volumeLifecycleModes', mode, known))
}

export const CSI_NODE_RULES: Partial<Rules> = {
  unconditionalUpdate: false,
  validate: (node) => [
    ...checked(node, [
      ['spec.drivers[].name', required(), name('subdomain')],
      ['spec.drivers[].nodeID', required()],
      ['spec.drivers', unique('name')],
    ]),
  ],
}

export const CAPACITY_RULES: Partial<Rules> = {
  unconditionalUpdate: false,
  validate: (capacity, old) => [
    ...checked(capacity, [['storageClassName', className]]),
    ...(amountOf(capacity['capacity']) < 0
      ? [fault.invalid('capacity', capacity['capacity'], 'must be greater than or equal to 0')]
      : []),
    ...unchanged(capacity, old, 'nodeTopology', 'storageClassName'),
  ],
}

export const ATTACHMENT_RULES: Partial<Rules> = {
  unconditionalUpdate: false,
  validate(attachment, old) {
    const spec = (attachment['spec'] ?? {}) as JsonObject
    const source = (isObject(spec['source']) ? spec['source'] : {}) as JsonObject
    const shown = {
      Attacher: spec['attacher'],
      Source: {
        PersistentVolumeName: source['persistentVolumeName'] ?? null,
        InlineVolumeSpec: source['inlineVolumeSpec'] ?? null,
      },
      NodeName: spec['nodeName'],
    }
    const hasOneSource = (source['persistentVolumeName'] === undefined) !== (source['inlineVolumeSpec'] === undefined)
    return [
      ...checked(spec, [['attacher', required(), name('subdomain')]], 'spec'),
      ...(hasOneSource ? [] : [
        fault.required('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'),
      ]),
      ...checked(spec, [['nodeName', className]], 'spec'),
      ...(old && !jsonEqual(spec, old['spec']) ? [immutable('spec', shown)] : []),
    ]
  },
}
