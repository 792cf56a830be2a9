/** Validation of volumes, of pods and persistent ones. */
import { type Cause, fault } from '../../model/status.ts'
import { isObject, type Json, type JsonObject } from '../../model/json.ts'
import { nameProblems } from '../../model/names.ts'
import { type Check, checked, type Checks, ifSet, name, oneOf, required } from '../common/checks.ts'
import { list } from '../common/columns.ts'

const MODE_MESSAGE = 'must be a number between 0 and 0777 (octal), both inclusive'
const mode: Check = (value, path) =>
  typeof value === 'number' && (value < 0 || value > 0o777) ? [fault.invalid(path, value, MODE_MESSAGE)] : []

const noBackSteps: Check = (value, path) =>
  String(value ?? '').split('/').includes('..') ? [fault.invalid(path, value, "must not contain '..'")] : []

const absolute: Check = (value, path) =>
  String(value).startsWith('/') ? [] : [fault.invalid(path, value, 'must be an absolute path')]

export const relative: Check = (value, path) =>
  String(value).startsWith('/') ? [fault.invalid(path, value, 'must be a relative path')] : []

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
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
  ['nfs.path', required(), absolute],
  ['csi.driver', required(), ifSet(name('subdomain'))],
  ['projected.defaultMode', mode],
  ['downwardAPI.defaultMode', mode],
]

/** Returns a fault for each source of a volume but the first one. */
export function sourceFaults(volume: JsonObject, path: string, sources: readonly string[]): Cause[] {
  return sources.filter((source) => isObject(volume[source])).slice(1)
    .map((source) => fault.forbidden(`${path}.${source}`, 'may not specify more than 1 volume type'))
}

/** The sources of volumes, in the order in which the server looks at them. */
const SOURCES = ('emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs ' +
  'persistentVolumeClaim rbd cinder cephfs downwardAPI fc flexVolume configMap azureFile ' +
  'vsphereVolume azureDisk storageos projected scaleIO csi ephemeral image').split(' ')

/** Returns the faults of volumes, and the names of those without: only these can be mounted. */
export function volumesFaults(spec: JsonObject, path: string): { faults: readonly Cause[]; names: readonly string[] } {
  const seen = new Set<Json>()
  const names: string[] = []
  const all = list(spec, 'volumes').flatMap((volume, index) => {
    const place = `${path}.volumes[${index}]`
    const own = volume['name'] ?? ''
    const faults = [...sourceFaults(volume, place, SOURCES), ...checked(volume, SOURCE_CHECKS, place)]
    if (own === '') faults.push(fault.required(`${place}.name`))
    else {
      faults.push(
        ...nameProblems(String(own), 'label').map((problem) => fault.invalid(`${place}.name`, own, problem)),
      )
    }
    if (own !== '' && seen.has(own)) faults.push(fault.duplicate(`${place}.name`, own))
    seen.add(own)
    if (faults.length === 0) names.push(String(own))
    return faults
  })
  return { faults: all, names }
}
