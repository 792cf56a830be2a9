/** Validation of volumes, of pods and persistent ones. */
import { between, type Check, checked, type Checks, must, name, oneOf, required } from '../../model/checks.ts'
import { isObject, type JsonObject, list, str } from '../../model/json.ts'
import { type Cause, fault } from '../../model/status.ts'

const mode: Check = between(0, 0o777, 'must be a number between 0 and 0777 (octal), both inclusive')

const noBackSteps: Check = must((value) => !String(value).split('/').includes('..'), "must not contain '..'")

export const relative: Check = must((value) => !String(value).startsWith('/'), 'must be a relative path')

const HOST_PATH_TYPES = [
  ...['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'],
]

const items = (source: string): Checks => [
  [`${source}.items[].key`, required()],
  [`${source}.items[].path`, required(), relative, noBackSteps],
  [`${source}.items[].mode`, mode],
]

/** The checks of the sources that operators use. */
export const SOURCE_CHECKS: Checks = [
  ['hostPath.path', required(), noBackSteps],
  ['hostPath.type', oneOf(...HOST_PATH_TYPES)],
  ['secret.secretName', required()],
  ['secret.defaultMode', mode],
  ...items('secret'),
  ['configMap.name', required()],
  ['configMap.defaultMode', mode],
  ...items('configMap'),
  ['persistentVolumeClaim.claimName', required()],
  ['nfs.server', required()],
  ['nfs.path', required(), must((path) => String(path).startsWith('/'), 'must be an absolute path')],
  ['csi.driver', required(), name('subdomain')],
  ['projected.defaultMode', mode],
  ['downwardAPI.defaultMode', mode],
]

/** Returns the faults of the name of a container or a volume, which is unique among `seen`. */
export function ownNameFaults(given: JsonObject, path: string, seen: Set<string>): Cause[] {
  const own = str(given, 'name')
  const isKnown = seen.has(own)
  seen.add(own)
  if (own && isKnown) return [fault.duplicate(`${path}.name`, own)]
  return checked(given, [['name', required(), name('label')]], path)
}

/** The sources of volumes, in the order in which the server looks at them. */
const SOURCES = ('emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs ' +
  'persistentVolumeClaim rbd cinder cephfs downwardAPI fc flexVolume configMap azureFile ' +
  'vsphereVolume azureDisk storageos projected scaleIO csi ephemeral image').split(' ')

/** Returns the faults of volumes, and the names of those without: only these can be mounted. */
export function volumesFaults(spec: JsonObject, path: string): { faults: readonly Cause[]; names: readonly string[] } {
  const seen = new Set<string>()
  const names: string[] = []
  const faults = list(spec, 'volumes').flatMap((volume, index) => {
    const place = `${path}.volumes[${index}]`
    const own = [
      ...SOURCES.filter((source) => isObject(volume[source])).slice(1)
        .map((source) => fault.forbidden(`${place}.${source}`, 'may not specify more than 1 volume type')),
      ...checked(volume, SOURCE_CHECKS, place),
      ...ownNameFaults(volume, place, seen),
    ]
    if (own.length === 0) names.push(str(volume, 'name'))
    return own
  })
  return { faults, names }
}
