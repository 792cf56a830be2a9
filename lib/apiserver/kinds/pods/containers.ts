/** Validation of the containers of a pod. */
import { ownNameFaults, relative } from './volumes.ts'
import {
  atLeast,
  between,
  type Check,
  checked,
  type Checks,
  fields,
  ifSet,
  must,
  name,
  nonZero,
  oneOf,
  port,
  portNumber,
  required,
  unset,
} from '../../model/checks.ts'
import { at, isObject, type Json, type JsonObject, list, objectAt, str } from '../../model/json.ts'
import { type Cause, fault } from '../../model/status.ts'
import { resourceFaults } from '../common/resources.ts'

const MAX_INT = 2 ** 31 - 1

const envName: Check = must(
  (value) => /^[ -<>-~]+$/.test(String(value)),
  "must consist only of printable ASCII characters other than '='",
)

const FIELDS: readonly string[] =
  ('metadata.name metadata.namespace metadata.uid metadata.labels metadata.annotations ' +
    'spec.nodeName spec.serviceAccountName status.hostIP status.hostIPs status.podIP status.podIPs').split(' ')

const fieldPath: Check = must(
  (value) => FIELDS.includes(String(value).replace(/\['.*'\]$/, '')),
  'is not a field that a container can refer to',
)

/** A variable has either a value or one source. */
const oneValue: Check = must(
  (value, parent) => Object.keys(objectAt(value)).length === 1 && !parent['value'],
  'must have one source, and no `value` beside it',
)

const RESOURCES = ['limits', 'requests'].flatMap((kind) =>
  ['cpu', 'ephemeral-storage', 'memory'].map((resource) => `${kind}.${resource}`)
)

/** Huge pages have a size in their name. */
const containerResource: Check = (value, path, parent) =>
  /^(?:limits|requests)\.hugepages-/.test(String(value)) ? [] : oneOf(...RESOURCES)(value, path, parent)

const CHECKS: Checks = [
  [
    'ports[]',
    fields([
      ['name', ifSet(port)],
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
      ['valueFrom.fieldRef.fieldPath', required(), fieldPath],
      ['valueFrom.resourceFieldRef.resource', required(), containerResource],
      ...['configMapKeyRef', 'secretKeyRef'].flatMap((each): Checks => [
        [`valueFrom.${each}.name`, (value, path, parent) => name('subdomain')(value ?? '', path, parent)],
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
  ['terminationMessagePolicy', ifSet(oneOf('File', 'FallbackToLogsOnError'))],
  ['imagePullPolicy', oneOf('Always', 'IfNotPresent', 'Never')],
  ['resources', (value, path) => resourceFaults(value, path)],
  ['securityContext.runAsUser', between(0, MAX_INT)],
  ['securityContext.runAsGroup', between(0, MAX_INT)],
  [
    'securityContext',
    must(
      (context) => at(context, 'allowPrivilegeEscalation') !== false || at(context, 'privileged') !== true,
      'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
    ),
  ],
]

/** Returns the faults of all containers of a pod's spec. */
export function containersFaults(spec: JsonObject, path: string, volumes: readonly string[]): Cause[] {
  const seen = new Set<string>()
  const containers = list(spec, 'containers')
  if (containers.length === 0) return [fault.required(`${path}.containers`)]
  return [
    ...containers.flatMap((each, index) => containerFaults(each, `${path}.containers[${index}]`, seen, volumes)),
    ...list(spec, 'initContainers').flatMap((each, index) => {
      const place = `${path}.initContainers[${index}]`
      const faults = containerFaults(each, place, seen, volumes)
      return each['restartPolicy'] === 'Always' ? faults : [...faults, ...checked(each, ONLY_SIDECARS, place)]
    }),
  ]
}

const ONLY_SIDECARS: Checks = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'].map((field) =>
  [field, unset('may not be set for init containers without restartPolicy=Always')] as const
)

function containerFaults(container: JsonObject, path: string, seen: Set<string>, volumes: readonly string[]): Cause[] {
  return [
    ...ownNameFaults(container, path, seen),
    ...checked(container, [['image', required(), must((image) => String(image).trim() === image, 'has blanks')]], path),
    ...handlerFaults(container, path),
    ...portNameFaults(container, path),
    ...checked(container, CHECKS, path),
    ...mountFaults(container, path, volumes),
  ]
}

function portNameFaults(container: JsonObject, path: string): Cause[] {
  const names = list(container, 'ports').map((each) => str(each, 'name'))
  return names.flatMap((own, index) =>
    own && names.indexOf(own) < index ? [fault.duplicate(`${path}.ports[${index}].name`, own)] : []
  )
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

const handler: Check = (value, path) => {
  if (!isObject(value)) return []
  const [first, ...others] = HANDLERS.filter((each) => isObject(value[each]))
  if (first === undefined) return [fault.required(path, 'must specify a handler type')]
  return [
    ...checked({ [first]: value[first]! }, HANDLER_CHECKS, path),
    ...others.map((each) => fault.forbidden(`${path}.${each}`, 'may not specify more than 1 handler type')),
  ]
}

const PROBE_CHECKS: Checks = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
].map((field) => [field, atLeast(0)] as const)

function handlerFaults(container: JsonObject, path: string): Cause[] {
  return [
    ...checked(container, [['lifecycle.postStart', handler], ['lifecycle.preStop', handler]], path),
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].flatMap((each) =>
      checked(container, [
        [each, handler],
        [each, fields(PROBE_CHECKS)],
        [`${each}.successThreshold`, must((times) => each === 'readinessProbe' || Number(times) <= 1, 'must be 1')],
      ], path)
    ),
  ]
}

function mountFaults(container: JsonObject, path: string, volumes: readonly string[]): Cause[] {
  const places = new Set<Json | undefined>()
  return list(container, 'volumeMounts').flatMap((mount, index) => {
    const isKnown = places.has(mount['mountPath'])
    places.add(mount['mountPath'])
    return [
      ...checked(mount, [
        ['name', required(), (value, at) => volumes.includes(String(value)) ? [] : [fault.notFound(at, value)]],
        ['mountPath', required()],
        ['mountPath', must(() => !isKnown, 'must be unique')],
      ], `${path}.volumeMounts[${index}]`),
      // The index is missing in the real server's path too.
      ...checked(mount, [['subPath', relative]], `${path}.volumeMounts`),
    ]
  })
}
