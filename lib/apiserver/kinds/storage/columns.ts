/** The columns of persistent volumes and their claims. */
import { type ApiObject, at, type Json, str } from '../../model/json.ts'
import type { Column } from '../../model/columns.ts'
import { AGE, NAME, text, wide } from '../common/columns.ts'

const MODES: readonly (readonly [string, string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]

function modesText(modes: Json | undefined): string {
  const given = Array.isArray(modes) ? modes : []
  return MODES.filter(([mode]) => given.includes(mode)).map(([, short]) => short).join(',')
}

/** Returns the class of a volume or a claim. The annotation, older than the field, wins. */
function className(object: ApiObject): string {
  return object.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ??
    str(object, 'spec', 'storageClassName')
}

const phase = (object: ApiObject): string =>
  object.metadata.deletionTimestamp ? 'Terminating' : str(object, 'status', 'phase')

const CLASS_COLUMNS = [
  text('StorageClass', className),
  text('VolumeAttributesClass', 'spec.volumeAttributesClassName', '<unset>'),
]

const MODE_COLUMN = wide(text('VolumeMode', 'spec.volumeMode', '<unset>'))

export const PERSISTENT_VOLUME_CLAIM_COLUMNS: readonly Column[] = [
  NAME,
  text('Status', phase),
  text('Volume', 'spec.volumeName'),
  text(
    'Capacity',
    (claim) => str(claim, 'spec', 'volumeName') ? str(claim, 'status', 'capacity', 'storage') || '0' : '',
  ),
  text(
    'Access Modes',
    (claim) => str(claim, 'spec', 'volumeName') ? modesText(at(claim, 'status', 'accessModes')) : '',
  ),
  ...CLASS_COLUMNS,
  AGE,
  MODE_COLUMN,
]

export const PERSISTENT_VOLUME_COLUMNS: readonly Column[] = [
  NAME,
  text('Capacity', 'spec.capacity.storage', '0'),
  text('Access Modes', (volume) => modesText(at(volume, 'spec', 'accessModes'))),
  text('Reclaim Policy', 'spec.persistentVolumeReclaimPolicy'),
  text('Status', phase),
  text('Claim', (volume) => {
    const claim = at(volume, 'spec', 'claimRef')
    return claim ? `${str(claim, 'namespace')}/${str(claim, 'name')}` : ''
  }),
  ...CLASS_COLUMNS,
  text('Reason', 'status.reason'),
  AGE,
  MODE_COLUMN,
]
