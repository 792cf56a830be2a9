/** The rules of persistent volumes and their claims. */
import { jsonEqual } from '../../../core/equal.ts'
import { type Cause, fault, immutable } from '../../model/status.ts'
import { type ApiObject, at, type JsonObject } from '../../model/json.ts'
import type { PrepareContext, Rules } from '../../model/kinds.ts'
import { defaultClass, fill } from '../common/fill.ts'
import { amountOf } from '../common/resources.ts'
import { SOURCE_CHECKS } from '../pods/volumes.ts'
import {
  type Check,
  checked,
  type Checks,
  ifSet,
  labelSelector,
  must,
  name,
  oneOf,
  required,
} from '../../model/checks.ts'

export const VOLUME_RULES: Partial<Rules> = {
  defaults(volume) {
    fill(volume, {
      'spec.persistentVolumeReclaimPolicy': 'Retain',
      'spec.volumeMode': 'Filesystem',
      'spec.hostPath.type': '',
      'spec.iscsi.iscsiInterface': 'default',
      'spec.rbd.pool': 'rbd',
      'spec.rbd.user': 'admin',
      'spec.rbd.keyring': '/etc/ceph/keyring',
      'spec.azureDisk.cachingMode': 'ReadWrite',
      'spec.azureDisk.fsType': 'ext4',
      'spec.azureDisk.readOnly': false,
      'spec.azureDisk.kind': 'Shared',
      'spec.scaleIO.storageMode': 'ThinProvisioned',
      'spec.scaleIO.fsType': 'xfs',
    })
  },
  prepareCreate: (volume, { nowIso }) =>
    void (volume['status'] = { phase: 'Pending', lastPhaseTransitionTime: nowIso() }),
  validate: volumeFaults,
}

export const CLAIM_RULES: Partial<Rules> = {
  defaults: (claim) => fill(claim, { 'spec.volumeMode': 'Filesystem' }),
  prepareCreate(claim, context) {
    claim['status'] = { phase: 'Pending' }
    setDefaultClass(claim, context)
  },
  validate: claimFaults,
}

/** Sets the default storage class, in place. */
function setDefaultClass(claim: ApiObject, context: PrepareContext): void {
  const spec = claim['spec'] as JsonObject
  if (spec['storageClassName'] !== undefined) return
  if (claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] !== undefined) return
  const name = defaultClass(context, 'storageclasses.storage.k8s.io', 'storageclass.kubernetes.io/is-default-class')
  if (name) spec['storageClassName'] = name
}

const MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']

const modes: Check = (value, path) => {
  const all = Array.isArray(value) ? value.map(String) : []
  const wrong = all.filter((mode) => !MODES.includes(mode)).map((mode) => fault.notSupported(path, mode, MODES))
  if (wrong.length > 0 || all.length < 2 || !all.includes('ReadWriteOncePod')) return wrong
  return [fault.forbidden(path, 'may not use ReadWriteOncePod with other access modes')]
}

const CLASS_AND_MODE: Checks = [
  ['storageClassName', ifSet(name('subdomain'))],
  ['volumeMode', oneOf('Block', 'Filesystem')],
]

const STORAGE: Check = must((storage) => amountOf(storage) > 0, 'must be greater than zero')

/** Returns the faults of a claim's spec at a path. */
export function claimSpecFaults(spec: JsonObject, path: string): Cause[] {
  const storage = at(spec, 'resources', 'requests', 'storage')
  return [
    ...checked(spec, [['accessModes', required(), modes], ['selector', labelSelector], ...CLASS_AND_MODE], path),
    ...checked({ storage }, [['storage', required()], ['storage', STORAGE]], '').map((each) => ({
      ...each,
      field: `${path}.resources[storage]`,
    })),
  ]
}

const IMMUTABLE_CLAIM =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'

function claimFaults(claim: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = (claim['spec'] ?? {}) as JsonObject
  const faults = claimSpecFaults(spec, 'spec')
  if (!old) return faults
  const before = (old['spec'] ?? {}) as JsonObject
  if (!jsonEqual(fixedClaim(spec, before, old), fixedClaim(before, before, old))) {
    faults.push(fault.forbidden('spec', IMMUTABLE_CLAIM))
  }
  const [wanted, had] = [spec, before].map((each) => amountOf(at(each, 'resources', 'requests', 'storage')))
  if (isBound(old) && wanted! < had! && wanted! < amountOf(at(old, 'status', 'capacity', 'storage'))) {
    faults.push(fault.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'))
  }
  return [...faults, ...volumeModeFaults(spec, before)]
}

function volumeModeFaults({ volumeMode }: JsonObject, before: JsonObject): Cause[] {
  return volumeMode === before['volumeMode'] ? [] : [immutable('volumeMode', volumeMode)]
}

const isBound = (claim: ApiObject): boolean => at(claim, 'status', 'phase') === 'Bound'

/** Returns the part of a spec that an update must not change. A volume and a class may be set once. */
function fixedClaim(spec: JsonObject, before: JsonObject, old: ApiObject): JsonObject {
  const { volumeName, storageClassName, resources, volumeAttributesClassName, ...rest } = spec
  return {
    ...rest,
    ...(before['volumeName'] && { volumeName: volumeName ?? '' }),
    ...(before['storageClassName'] !== undefined && { storageClassName: storageClassName ?? null }),
    ...(!isBound(old) && { resources, volumeAttributesClassName }),
  }
}

/** The fields of a spec that are no sources. */
const NO_SOURCES = ('accessModes capacity claimRef mountOptions nodeAffinity persistentVolumeReclaimPolicy ' +
  'storageClassName volumeAttributesClassName volumeMode').split(' ')

const VOLUME: Checks = [
  ['accessModes', required(), modes],
  ['capacity', required()],
  ['capacity', (value, path) => at(value, 'storage') ? [] : [fault.notSupported(path, value, ['storage'])]],
  ['persistentVolumeReclaimPolicy', oneOf('Delete', 'Recycle', 'Retain')],
  ...SOURCE_CHECKS,
  ['csi.volumeHandle', required()],
  ...CLASS_AND_MODE,
]

function volumeFaults(volume: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = (volume['spec'] ?? {}) as JsonObject
  const sources = Object.keys(spec).filter((field) => !NO_SOURCES.includes(field))
  const faults = [
    ...checked(spec, VOLUME, 'spec'),
    ...sources.slice(1).map((source) => fault.forbidden(`spec.${source}`, 'may not specify more than 1 volume type')),
    ...(sources.length === 0 ? [fault.required('spec', 'must specify a volume type')] : []),
    ...(spec['local'] && !spec['nodeAffinity'] ? [fault.required('spec.nodeAffinity')] : []),
  ]
  if (!old) return faults
  const before = (old['spec'] ?? {}) as JsonObject
  const path = 'spec.persistentvolumesource'
  const isChanged = [...sources, ...Object.keys(before)].some((field) =>
    !NO_SOURCES.includes(field) && !jsonEqual(spec[field], before[field])
  )
  return [
    ...faults,
    ...(isChanged ? [fault.forbidden(path, `${path} is immutable after creation`)] : []),
    ...volumeModeFaults(spec, before),
  ]
}
