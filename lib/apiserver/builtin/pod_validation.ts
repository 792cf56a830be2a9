/** The most common mistakes in a pod's spec, refused as the API server refuses them. */
import { isObject, type Json, type JsonObject } from '../json.ts'
import { nameProblems } from '../storage/names.ts'
import { type Cause, fault } from '../http/status.ts'

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

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
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
