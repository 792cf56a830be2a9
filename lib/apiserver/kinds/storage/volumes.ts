/** The rules of persistent volumes and their claims. */
import { jsonEqual } from '../../../core/equal.ts'
import { type Cause, fault, immutable } from '../../model/status.ts'
import { type ApiObject, at, isObject, type JsonObject } from '../../model/json.ts'
import type { PrepareContext, Rules } from '../../model/kinds.ts'
import { type Check, checked, ifSet, labelSelector, name, oneOf, required } from '../common/checks.ts'
import { fill } from '../common/fill.ts'
import { amountOf } from '../common/resources.ts'
import { SOURCE_CHECKS, sourceFaults } from '../pods/volumes.ts'

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

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'

/** Sets the default storage class, the newest one if there are several, in place. */
function setDefaultClass(claim: ApiObject, { all }: PrepareContext): void {
  const spec = claim['spec'] as JsonObject
  if (spec['storageClassName'] !== undefined) return
  if (claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] !== undefined) return
  const classes = all('storageclasses.storage.k8s.io')
    .filter(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true')
    .sort((a, b) => (String(a.metadata.creationTimestamp) < String(b.metadata.creationTimestamp) ? 1 : -1))
  if (classes[0]) spec['storageClassName'] = classes[0].metadata.name!
}

const MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']

const modes: Check = (value, path) => {
  const all = Array.isArray(value) ? value : []
  const wrong = all.filter((mode) => !MODES.includes(String(mode))).map((mode) => fault.notSupported(path, mode, MODES))
  if (wrong.length > 0 || all.length < 2 || !all.includes('ReadWriteOncePod')) return wrong
  return [fault.forbidden(path, 'may not use ReadWriteOncePod with other access modes')]
}

const VOLUME_MODES = oneOf('Block', 'Filesystem')

/** Returns the faults of a claim's spec at a path. */
export function claimSpecFaults(spec: JsonObject, path: string): Cause[] {
  const storage = at(spec, 'resources', 'requests', 'storage')
  const place = `${path}.resources[storage]`
  return [
    ...checked(spec, [
      ['accessModes', required('at least 1 access mode is required'), modes],
      ['selector', labelSelector],
    ], path),
    ...(storage === undefined
      ? [fault.required(place)]
      : amountOf(storage) <= 0
      ? [fault.invalid(place, storage, 'must be greater than zero')]
      : []),
    ...checked(spec, [['storageClassName', ifSet(name('subdomain'))], ['volumeMode', VOLUME_MODES]], path),
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
  if (!jsonEqual(spec['volumeMode'], before['volumeMode'])) faults.push(immutable('volumeMode', spec['volumeMode']))
  const [wanted, had] = [spec, before].map((each) => amountOf(at(each, 'resources', 'requests', 'storage')))
  if (isBound(old) && wanted! < had!) {
    const [path, detail] = ['spec.resources.requests.storage', 'field can not be less than status.capacity']
    if (wanted! < amountOf(at(old, 'status', 'capacity', 'storage'))) faults.push(fault.forbidden(path, detail))
  }
  return faults
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

/** The sources of persistent volumes, in the order in which the server looks at them. */
const SOURCES = ('hostPath gcePersistentDisk awsElasticBlockStore glusterfs flocker nfs rbd quobyte cephfs iscsi ' +
  'cinder fc flexVolume azureFile vsphereVolume photonPersistentDisk portworxVolume azureDisk ' +
  'scaleIO local storageos csi').split(' ')

function volumeFaults(volume: ApiObject, old: ApiObject | undefined): Cause[] {
  const spec = (volume['spec'] ?? {}) as JsonObject
  const sources = SOURCES.filter((source) => isObject(spec[source]))
  const faults = [
    ...checked(spec, [['accessModes', required(), modes]], 'spec'),
    ...checked(spec, [['capacity', required()]], 'spec'),
    ...(at(spec, 'capacity', 'storage') === undefined
      ? [fault.notSupported('spec.capacity', spec['capacity'] ?? null, ['storage'])]
      : []),
    ...checked(spec, [['persistentVolumeReclaimPolicy', oneOf('Delete', 'Recycle', 'Retain')]], 'spec'),
    ...sourceFaults(spec, 'spec', SOURCES),
    ...checked(spec, SOURCE_CHECKS.filter(([path]) => !path.startsWith('csi')), 'spec'),
    ...(isObject(spec['csi'])
      ? checked(spec, [['csi.driver', required(), name('subdomain')], ['csi.volumeHandle', required()]], 'spec')
      : []),
    ...(isObject(spec['local']) && !isObject(spec['nodeAffinity'])
      ? [fault.required('spec.nodeAffinity', 'Local volume requires node affinity')]
      : []),
    ...(sources.length === 0 ? [fault.required('spec', 'must specify a volume type')] : []),
    ...checked(spec, [['storageClassName', ifSet(name('subdomain'))], ['volumeMode', VOLUME_MODES]], 'spec'),
  ]
  if (!old) return faults
  const before = (old['spec'] ?? {}) as JsonObject
  if (SOURCES.some((source) => !jsonEqual(spec[source], before[source]))) {
    const path = 'spec.persistentvolumesource'
    faults.push(fault.forbidden(path, `${path} is immutable after creation`))
  }
  if (!jsonEqual(spec['volumeMode'], before['volumeMode'])) faults.push(immutable('volumeMode', spec['volumeMode']))
  return faults
}
