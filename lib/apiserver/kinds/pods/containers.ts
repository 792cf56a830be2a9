/** Validation of the containers of a pod. */
import { type Cause, fault } from '../../model/status.ts'
import { at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import { nameProblems } from '../../model/names.ts'
import {
  atLeast,
  between,
  type Check,
  checked,
  type Checks,
  fields,
  ifSet,
  name,
  nonZero,
  oneOf,
  port,
  portNumber,
  required,
} from '../common/checks.ts'
import { list, str } from '../common/columns.ts'
import { resourceFaults } from '../common/resources.ts'
import { relative } from './volumes.ts'

const MAX_INT = 2 ** 31 - 1

const ENV_MESSAGE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
const envName: Check = (value, path) =>
  /^[ -<>-~]+$/.test(String(value)) ? [] : [fault.invalid(path, value, ENV_MESSAGE)]

const FIELDS: readonly string[] =
  ('metadata.name metadata.namespace metadata.uid metadata.labels metadata.annotations ' +
    'spec.nodeName spec.serviceAccountName status.hostIP status.hostIPs status.podIP status.podIPs').split(' ')

const fieldPath: Check = (value, path) => {
  const field = String(value ?? '').replace(/\['.*'\]$/, '')
  if (!field) return [fault.required(path)]
  if (FIELDS.includes(field)) return []
  return [fault.invalid(path, value, `error converting fieldPath: field label not supported: ${field}`)]
}

/** A variable has either a value or one source. */
const oneValue: Check = (value, path, parent) => {
  if (!isObject(value)) return []
  const sources = Object.values(value).filter((source) => source !== undefined).length
  if (sources === 1 && !parent['value']) return []
  return [fault.invalid(path, '', 'must have one source, and no `value` beside it')]
}

const RESOURCES = ['limits', 'requests'].flatMap((kind) =>
  ['cpu', 'ephemeral-storage', 'memory'].map((resource) => `${kind}.${resource}`)
)

/** Huge pages have a size in their name. */
const containerResource: Check = (value, path, parent) =>
  /^(?:limits|requests)\.hugepages-/.test(String(value)) ? [] : oneOf(...RESOURCES)(value, path, parent)

const selectors = ['configMapKeyRef', 'secretKeyRef']

const CHECKS: Checks = [
  [
    'ports[]',
    fields([
      ['name', ifSet(portName)],
      ['containerPort', nonZero, portNumber],
      ['hostPort', ifSet(portNumber)],
      ['protocol', required(), oneOf('SCTP', 'TCP', 'UDP')],
    ]),
  ],
  [
    'env[]',
    fields([
      ['name', required(), envName],
      ['valueFrom', oneValue],
      ['valueFrom.fieldRef.fieldPath', fieldPath],
      ['valueFrom.resourceFieldRef.resource', required(), containerResource],
      ...selectors.flatMap((each): Checks => [
        [`valueFrom.${each}.name`, (value, path) => name('subdomain')(value ?? '', path, {})],
        [`valueFrom.${each}.key`, required()],
      ]),
    ]),
  ],
  [
    'envFrom[]',
    fields([
      ['prefix', ifSet(envName)],
      ['configMapRef.name', required(), name('subdomain')],
      ['secretRef.name', required(), name('subdomain')],
    ]),
  ],
]

const LATER_CHECKS: Checks = [
  ['terminationMessagePolicy', ifSet(oneOf('File', 'FallbackToLogsOnError'))],
  ['imagePullPolicy', oneOf('Always', 'IfNotPresent', 'Never')],
]

const USER_CHECKS: Checks = [
  ['securityContext.runAsUser', between(0, MAX_INT)],
  ['securityContext.runAsGroup', between(0, MAX_INT)],
]

function portName(value: Json | undefined, path: string): readonly Cause[] {
  return port(String(value), path, {})
}

/** Returns the faults of all containers of a pod's spec. */
export function containersFaults(spec: JsonObject, path: string, volumes: readonly string[]): Cause[] {
  const seen = new Set<string>()
  const containers = list(spec, 'containers')
  if (containers.length === 0) return [fault.required(`${path}.containers`)]
  return [
    ...containers.flatMap((each, index) => containerFaults(each, `${path}.containers[${index}]`, seen, volumes)),
    ...list(spec, 'initContainers').flatMap((each, index) =>
      initContainerFaults(each, `${path}.initContainers[${index}]`, seen, volumes)
    ),
  ]
}

function initContainerFaults(
  container: JsonObject,
  path: string,
  seen: Set<string>,
  volumes: readonly string[],
): Cause[] {
  const faults = containerFaults(container, path, seen, volumes)
  if (container['restartPolicy'] === 'Always') return faults
  for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']) {
    if (!isObject(container[field])) continue
    faults.push(fault.forbidden(`${path}.${field}`, 'may not be set for init containers without restartPolicy=Always'))
  }
  return faults
}

function containerFaults(container: JsonObject, path: string, seen: Set<string>, volumes: readonly string[]): Cause[] {
  const own = str(container, 'name')
  const faults: Cause[] = []
  if (!own) faults.push(fault.required(`${path}.name`))
  else if (seen.has(own)) faults.push(fault.duplicate(`${path}.name`, own))
  else faults.push(...nameProblems(own, 'label').map((message) => fault.invalid(`${path}.name`, own, message)))
  seen.add(own)
  const image = str(container, 'image')
  if (!image) faults.push(fault.required(`${path}.image`))
  else if (image.trim() !== image) {
    faults.push(fault.invalid(`${path}.image`, image, 'must not have leading or trailing whitespace'))
  }
  return [
    ...faults,
    ...handlerFaults(container, path),
    ...checked(container, LATER_CHECKS.slice(0, 1), path),
    ...portNameFaults(container, path),
    ...checked(container, CHECKS, path),
    ...mountFaults(container, path, volumes),
    ...checked(container, LATER_CHECKS.slice(1), path),
    ...resourceFaults(at(container, 'resources'), `${path}.resources`),
    ...checked(container, USER_CHECKS, path),
    ...privilegeFaults(container['securityContext'], path),
  ]
}

function portNameFaults(container: JsonObject, path: string): Cause[] {
  const seen = new Set<string>()
  return list(container, 'ports').flatMap((each, index) => {
    const own = str(each, 'name')
    const isKnown = own !== '' && seen.has(own)
    seen.add(own)
    return isKnown ? [fault.duplicate(`${path}.ports[${index}].name`, own)] : []
  })
}

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep']

const HANDLER_CHECKS: Checks = [
  ['exec.command', required()],
  ['httpGet.path', required()],
  ['httpGet.port', port],
  ['httpGet.scheme', ifSet(oneOf('HTTP', 'HTTPS'))],
  ['tcpSocket.port', port],
  ['grpc.port', portNumber],
]

const PROBE_CHECKS: Checks = [
  ['initialDelaySeconds', atLeast(0)],
  ['timeoutSeconds', atLeast(0)],
  ['periodSeconds', atLeast(0)],
  ['successThreshold', atLeast(0)],
  ['failureThreshold', atLeast(0)],
]

function handlerFaults(container: JsonObject, path: string): Cause[] {
  const hooks = ['postStart', 'preStop'].flatMap((each) =>
    oneHandler(at(container, 'lifecycle', each), `${path}.lifecycle.${each}`)
  )
  const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'].flatMap((each) => {
    const probe = container[each]
    if (!isObject(probe)) return []
    const place = `${path}.${each}`
    const isOnce = each !== 'readinessProbe' && Number(probe['successThreshold'] ?? 1) > 1
    return [
      ...oneHandler(probe, place),
      ...checked(probe, PROBE_CHECKS, place),
      ...(isOnce ? [fault.invalid(`${place}.successThreshold`, probe['successThreshold'], 'must be 1')] : []),
    ]
  })
  return [...hooks, ...probes]
}

function oneHandler(value: Json | undefined, path: string): Cause[] {
  if (!isObject(value)) return []
  const [first, ...others] = HANDLERS.filter((each) => isObject(value[each]))
  if (first === undefined) return [fault.required(path, 'must specify a handler type')]
  return [
    ...checked({ [first]: value[first]! }, HANDLER_CHECKS, path),
    ...others.map((each) => fault.forbidden(`${path}.${each}`, 'may not specify more than 1 handler type')),
  ]
}

function mountFaults(container: JsonObject, path: string, volumes: readonly string[]): Cause[] {
  const seen = new Set<Json | undefined>()
  return list(container, 'volumeMounts').flatMap((mount, index) => {
    const place = `${path}.volumeMounts[${index}]`
    const own = str(mount, 'name')
    const faults: Cause[] = []
    if (!own) faults.push(fault.required(`${place}.name`))
    else if (!volumes.includes(own)) {
      faults.push({
        reason: 'FieldValueNotFound',
        field: `${place}.name`,
        message: `Not found: ${JSON.stringify(own)}`,
      })
    }
    if (!mount['mountPath']) faults.push(fault.required(`${place}.mountPath`))
    if (seen.has(mount['mountPath'])) {
      faults.push(fault.invalid(`${place}.mountPath`, mount['mountPath'], 'must be unique'))
    }
    seen.add(mount['mountPath'])
    // The index is missing in the real server's path too.
    if (mount['subPath']) faults.push(...relative(mount['subPath'], `${path}.volumeMounts.subPath`, mount))
    return faults
  })
}

function privilegeFaults(context: Json | undefined, path: string): Cause[] {
  if (!isObject(context) || context['allowPrivilegeEscalation'] !== false || context['privileged'] !== true) return []
  const detail = 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'
  return [fault.invalid(`${path}.securityContext`, context, detail)]
}
