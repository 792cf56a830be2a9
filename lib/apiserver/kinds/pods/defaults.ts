/** Defaults and validation of a pod's spec, in pods and in pod templates. */
import { isObject, type JsonObject, list, objectAt } from '../../model/json.ts'
import { type Defaults, fill, parentsOf } from '../common/fill.ts'
import { isLatest } from './images.ts'
import { containersOf } from './security.ts'

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
  for (const container of containersOf(spec)) containerDefaults(container)
  for (const volume of list(spec, 'volumes')) volumeDefaults(volume)
}

/** Sets the ports of a pod on the network of its host, in place. Applies to pods, not to templates. */
export function hostPortDefaults(spec: JsonObject): void {
  if (spec['hostNetwork'] !== true) return
  for (const field of ['containers[]', 'initContainers[]']) {
    for (const port of parentsOf(spec, [field, 'ports[]'])) port['hostPort'] ??= port['containerPort']!
  }
}

/** Sets missing requests to the limits, in place. Applies to pods, not to templates. */
export function requestDefaults(spec: JsonObject): void {
  for (const field of ['containers[]', 'initContainers[]']) {
    for (const resources of parentsOf(spec, [field, 'resources'])) {
      if (isObject(resources['limits'])) {
        resources['requests'] = { ...resources['limits'], ...objectAt(resources, 'requests') }
      }
    }
  }
}

function containerDefaults(container: JsonObject): void {
  fill(container, CONTAINER_DEFAULTS)
  container['imagePullPolicy'] ??= isLatest(String(container['image'] ?? '')) ? 'Always' : 'IfNotPresent'
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    for (const probe of parentsOf(container, [name])) probeDefaults(probe)
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
  fill(probe, PROBE_DEFAULTS)
}

const PROBE_DEFAULTS: Defaults = { 'httpGet.path': '/', 'httpGet.scheme': 'HTTP', 'grpc.service': '' }

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

function volumeDefaults(volume: JsonObject): void {
  if (Object.keys(volume).every((name) => name === 'name')) volume['emptyDir'] = {}
  fill(volume, VOLUME_DEFAULTS)
  const { image } = volume
  if (isObject(image)) image['pullPolicy'] ??= isLatest(String(image['reference'] ?? '')) ? 'Always' : 'IfNotPresent'
}
