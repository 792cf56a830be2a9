/** Defaults and validation of a pod's spec, in pods and in pod templates. */
import { isObject, type Json, type JsonObject } from '../json.ts'
import { nameProblems } from '../storage/names.ts'
import { type Cause, fault } from '../http/status.ts'

/** Sets the defaults of a pod's spec, in place. */
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

/** Returns whether an image has no tag, or the tag `latest`. */
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

export function podSpecFaults(
  spec: JsonObject,
  path: string,
  restartPolicies: readonly string[] = ['Always', 'OnFailure', 'Never'],
): Cause[] {
  const faults: Cause[] = []
  const containers = objects(spec['containers'])
  const volumes = objects(spec['volumes']).map((volume) => String(volume['name'] ?? ''))
  if (containers.length === 0) faults.push(fault.required(`${path}.containers`))
  const seen = new Set<string>()
  for (const list of ['containers', 'initContainers']) {
    for (const [index, container] of objects(spec[list]).entries()) {
      faults.push(...containerFaults(container, `${path}.${list}[${index}]`, seen, volumes))
    }
  }
  const restartPolicy = String(spec['restartPolicy'] ?? 'Always')
  if (!restartPolicies.includes(restartPolicy)) {
    faults.push(fault.notSupported(`${path}.restartPolicy`, restartPolicy, restartPolicies))
  }
  for (const [index, volume] of objects(spec['volumes']).entries()) {
    if (!volume['name']) faults.push(fault.required(`${path}.volumes[${index}].name`))
    else {faults.push(
        ...nameProblems(String(volume['name']), 'label').map(
          (message) => fault.invalid(`${path}.volumes[${index}].name`, volume['name'], message),
        ),
      )}
  }
  return faults
}

function containerFaults(container: JsonObject, path: string, seen: Set<string>, volumes: readonly string[]): Cause[] {
  const faults: Cause[] = []
  const name = String(container['name'] ?? '')
  if (!name) faults.push(fault.required(`${path}.name`))
  else if (seen.has(name)) faults.push(fault.duplicate(`${path}.name`, name))
  else faults.push(...nameProblems(name, 'label').map((message) => fault.invalid(`${path}.name`, name, message)))
  seen.add(name)
  if (!container['image']) faults.push(fault.required(`${path}.image`))
  const policy = container['imagePullPolicy']
  if (policy !== undefined && !['Always', 'IfNotPresent', 'Never'].includes(String(policy))) {
    faults.push(fault.notSupported(`${path}.imagePullPolicy`, policy, ['Always', 'IfNotPresent', 'Never']))
  }
  for (const [index, port] of objects(container['ports']).entries()) {
    faults.push(...portFaults(port, `${path}.ports[${index}]`))
  }
  for (const [index, env] of objects(container['env']).entries()) {
    if (!env['name']) {
      faults.push(
        fault.required(`${path}.env[${index}].name`),
      )
    }
  }
  for (const [index, mount] of objects(container['volumeMounts']).entries()) {
    const mountPath = `${path}.volumeMounts[${index}]`
    if (!mount['name']) faults.push(fault.required(`${mountPath}.name`))
    else if (!volumes.includes(String(mount['name']))) {
      faults.push(
        {
          reason: 'FieldValueNotFound',
          field: `${mountPath}.name`,
          message: `Not found: ${JSON.stringify(mount['name'])}`,
        },
      )
    }
    if (!mount['mountPath']) faults.push(fault.required(`${mountPath}.mountPath`))
  }
  return faults
}

function portFaults(port: JsonObject, path: string): Cause[] {
  const number = port['containerPort']
  if (!number) return [fault.required(`${path}.containerPort`)]
  if (Number(number) < 1 || Number(number) > 65535) {
    return [
      fault.invalid(`${path}.containerPort`, number, 'must be between 1 and 65535, inclusive'),
    ]
  }
  const protocol = String(port['protocol'] ?? 'TCP')
  return ['TCP', 'UDP', 'SCTP'].includes(protocol)
    ? []
    : [fault.notSupported(`${path}.protocol`, protocol, ['SCTP', 'TCP', 'UDP'])]
}
