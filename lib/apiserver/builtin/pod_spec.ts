/** The defaults of a pod's spec, in templates and in pods. */
import { isObject, type Json, type JsonObject } from '../json.ts'

/** Fills in what a pod's spec leaves out, in place. */
export function podSpecDefaults(spec: JsonObject): void {
  spec['restartPolicy'] ??= 'Always'
  spec['terminationGracePeriodSeconds'] ??= 30
  spec['dnsPolicy'] ??= 'ClusterFirst'
  spec['securityContext'] ??= {}
  spec['schedulerName'] ??= 'default-scheduler'
  if (spec['serviceAccountName'] !== undefined) spec['serviceAccount'] ??= spec['serviceAccountName']
  if (spec['hostNetwork'] === true) hostPorts(spec)
  for (
    const name of [
      'initContainers',
      'containers',
      'ephemeralContainers',
    ]
  ) for (const container of objects(spec[name])) containerDefaults(container)
  for (const volume of objects(spec['volumes'])) volumeDefaults(volume)
}

/** In a pod, not in a template: what is limited is requested. In place. */
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

function hostPorts(spec: JsonObject): void {
  for (const container of objects(spec['containers'])) {
    for (const port of objects(container['ports'])) port['hostPort'] ??= port['containerPort']!
  }
}

function containerDefaults(container: JsonObject): void {
  container['terminationMessagePath'] ??= '/dev/termination-log'
  container['terminationMessagePolicy'] ??= 'File'
  container['imagePullPolicy'] ??= isLatest(String(container['image'] ?? '')) ? 'Always' : 'IfNotPresent'
  for (const port of objects(container['ports'])) port['protocol'] ??= 'TCP'
  for (const env of objects(container['env'])) {
    const from = env['valueFrom']
    if (isObject(from) && isObject(from['fieldRef'])) from['fieldRef']['apiVersion'] ??= 'v1'
    if (isObject(from) && isObject(from['resourceFieldRef'])) from['resourceFieldRef']['divisor'] ??= '0'
  }
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    if (isObject(container[name])) probeDefaults(container[name])
  }
}

/** Whether an image has no tag, or the tag `latest`. */
function isLatest(image: string): boolean {
  if (image.includes('@')) return false
  const tag = /:([^/:]+)$/.exec(image)?.[1]
  return image !== '' && (tag === undefined || tag === 'latest')
}

function probeDefaults(probe: JsonObject): void {
  probe['timeoutSeconds'] ??= 1
  probe['periodSeconds'] ??= 10
  probe['successThreshold'] ??= 1
  probe['failureThreshold'] ??= 3
  const { httpGet, grpc } = probe
  if (isObject(httpGet)) {
    httpGet['path'] ??= '/'
    httpGet['scheme'] ??= 'HTTP'
  }
  if (isObject(grpc)) grpc['service'] ??= ''
}

const FILE_MODE = 0o644

function volumeDefaults(volume: JsonObject): void {
  for (
    const name of [
      'secret',
      'configMap',
      'downwardAPI',
      'projected',
    ]
  ) if (isObject(volume[name])) volume[name]['defaultMode'] ??= FILE_MODE
  if (isObject(volume['hostPath'])) volume['hostPath']['type'] ??= ''
  if (Object.keys(volume).every((name) => name === 'name')) volume['emptyDir'] = {}
  const projected = volume['projected']
  for (const source of isObject(projected) ? objects(projected['sources']) : []) {
    if (isObject(source['serviceAccountToken'])) source['serviceAccountToken']['expirationSeconds'] ??= 3600
  }
}
