/** Defaults and validation of a pod's spec, in pods and in pod templates. */
import { isObject, type Json, type JsonObject } from '../../model/json.ts'
import { type Defaults, fill } from '../common/fill.ts'
import { isLatest } from './images.ts'

/** Sets the defaults of a pod's spec, in place. */
export function podSpecDefaults(spec: JsonObject): void {
  spec['restartPolicy'] ??= 'Always'
  spec['terminationGracePeriodSeconds'] ??= 30
  spec['dnsPolicy'] ??= 'ClusterFirst'
  spec['securityContext'] ??= {}
  spec['schedulerName'] ??= 'default-scheduler'
  // The older name is an alias.
  const account = spec['serviceAccountName'] || spec['serviceAccount']
  if (account !== undefined) Object.assign(spec, { serviceAccountName: account, serviceAccount: account })
  for (
    const name of ['initContainers', 'containers', 'ephemeralContainers']
  ) for (const container of objects(spec[name])) containerDefaults(container)
  for (const volume of objects(spec['volumes'])) volumeDefaults(volume)
}

/** Sets the ports of a pod on the network of its host, in place. Applies to pods, not to templates. */
export function hostPortDefaults(spec: JsonObject): void {
  if (spec['hostNetwork'] !== true) return
  for (const container of [...objects(spec['containers']), ...objects(spec['initContainers'])]) {
    for (const port of objects(container['ports'])) port['hostPort'] ??= port['containerPort']!
  }
}

/** Sets missing requests to the limits, in place. Applies to pods, not to templates. */
export function requestDefaults(spec: JsonObject): void {
  for (const container of [...objects(spec['containers']), ...objects(spec['initContainers'])]) {
    const resources = container['resources']
    if (!isObject(resources) || !isObject(resources['limits'])) continue
    const requests = isObject(resources['requests']) ? resources['requests'] : {}
    for (const [name, value] of Object.entries(resources['limits'])) requests[name] ??= value
    resources['requests'] = requests
  }
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function containerDefaults(container: JsonObject): void {
  fill(container, CONTAINER_DEFAULTS)
  container['imagePullPolicy'] ??= isLatest(String(container['image'] ?? '')) ? 'Always' : 'IfNotPresent'
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    if (isObject(container[name])) probeDefaults(container[name])
  }
}

const CONTAINER_DEFAULTS: Defaults = {
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  'ports[].protocol': 'TCP',
  'env[].valueFrom.fieldRef.apiVersion': 'v1',
  'env[].valueFrom.resourceFieldRef.divisor': '0',
  'lifecycle.postStart.httpGet.path': '/',
  'lifecycle.postStart.httpGet.scheme': 'HTTP',
  'lifecycle.preStop.httpGet.path': '/',
  'lifecycle.preStop.httpGet.scheme': 'HTTP',
}

function probeDefaults(probe: JsonObject): void {
  probe['timeoutSeconds'] ||= 1
  probe['periodSeconds'] ||= 10
  probe['successThreshold'] ||= 1
  probe['failureThreshold'] ||= 3
  const { httpGet, grpc } = probe
  if (isObject(httpGet)) {
    httpGet['path'] ??= '/'
    httpGet['scheme'] ??= 'HTTP'
  }
  if (isObject(grpc)) grpc['service'] ??= ''
}

const FILE_MODE = 0o644

const VOLUME_DEFAULTS: Defaults = {
  'secret.defaultMode': FILE_MODE,
  'configMap.defaultMode': FILE_MODE,
  'downwardAPI.defaultMode': FILE_MODE,
  'downwardAPI.items[].fieldRef.apiVersion': 'v1',
  'downwardAPI.items[].resourceFieldRef.divisor': '0',
  'projected.defaultMode': FILE_MODE,
  'projected.sources[].serviceAccountToken.expirationSeconds': 3600,
  'projected.sources[].downwardAPI.items[].fieldRef.apiVersion': 'v1',
  'projected.sources[].downwardAPI.items[].resourceFieldRef.divisor': '0',
  'hostPath.type': '',
  'iscsi.iscsiInterface': 'default',
  'rbd.pool': 'rbd',
  'rbd.user': 'admin',
  'rbd.keyring': '/etc/ceph/keyring',
  'azureDisk.cachingMode': 'ReadWrite',
  'azureDisk.fsType': 'ext4',
  'azureDisk.readOnly': false,
  'azureDisk.kind': 'Shared',
  'scaleIO.storageMode': 'ThinProvisioned',
  'scaleIO.fsType': 'xfs',
  'ephemeral.volumeClaimTemplate.spec.volumeMode': 'Filesystem',
}

/** Sets the defaults of a volume of a pod or of a PersistentVolume's spec, in place. */
function volumeDefaults(volume: JsonObject): void {
  if (Object.keys(volume).every((name) => name === 'name')) volume['emptyDir'] = {}
  fill(volume, VOLUME_DEFAULTS)
  const { image } = volume
  if (isObject(image)) image['pullPolicy'] ??= isLatest(String(image['reference'] ?? '')) ? 'Always' : 'IfNotPresent'
}
