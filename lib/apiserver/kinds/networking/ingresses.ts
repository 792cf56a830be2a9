/** The rules of ingresses. */
import type { PrepareContext, Rules } from '../../model/kinds.ts'
import {
  type Check,
  checked,
  type Checks,
  fields,
  ifSet,
  isIp,
  must,
  name,
  oneOf,
  port,
  required,
} from '../../model/checks.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject, list, objectAt } from '../../model/json.ts'
import { type Cause, fault } from '../../model/status.ts'
import { defaultClass } from '../common/fill.ts'

export const INGRESS_RULES: Partial<Rules> = {
  generation: true,
  prepareCreate: setDefaultClass,
  warnings: (ingress, old) =>
    !old && ingress.metadata.annotations?.[CLASS] !== undefined && at(ingress, 'spec', 'ingressClassName') === undefined
      ? [`annotation '${CLASS}' is deprecated, please use 'spec.ingressClassName' instead`]
      : [],
  validate: ({ spec }) => [...emptyFaults(spec), ...checked(objectAt(spec), INGRESS, 'spec')],
}

const CLASS = 'kubernetes.io/ingress.class'

/** Sets the default class of ingresses, in place. */
function setDefaultClass(ingress: ApiObject, context: PrepareContext): void {
  const spec = ingress['spec'] as JsonObject
  if (spec['ingressClassName'] !== undefined || ingress.metadata.annotations?.[CLASS] !== undefined) return
  const name = defaultClass(context, 'ingressclasses.networking.k8s.io', 'ingressclass.kubernetes.io/is-default-class')
  if (name) spec['ingressClassName'] = name
}

function emptyFaults(spec: Json | undefined): Cause[] {
  if (isObject(at(spec, 'defaultBackend')) || list(spec, 'rules').length > 0) return []
  return [fault.invalid('spec', null, 'either `defaultBackend` or `rules` must be specified')]
}

const host: Check = (value, place, parent) => {
  const text = String(value)
  if (isIp(text)) return [fault.invalid(place, value, 'must be a DNS name, not an IP address')]
  return name('subdomain')(text.replace(/^\*\./, ''), place, parent)
}

const TYPES = ['Exact', 'ImplementationSpecific', 'Prefix']
const INVALID_PARTS = /\/\/|\/\.\/|\/\.\.\/|%2f|\/\.{1,2}$/i

/** A path of an implementation may be missing, and have any parts. */
const path: Check = (value, place, parent) => {
  const { pathType: type } = parent
  if (!TYPES.includes(String(type)) || (type === 'ImplementationSpecific' && !value)) return []
  return must(
    (text) => String(text).startsWith('/') && (type === 'ImplementationSpecific' || !INVALID_PARTS.test(String(text))),
    'must be an absolute path without `//`, `.`, `..` and `%2f`',
  )(value ?? '', place, parent)
}

const backend: Check = (value, place) => {
  if (!isObject(value)) return []
  const { service, resource } = value
  if (isObject(service) === isObject(resource)) {
    return [fault.invalid(place, '', 'must have either a resource or a service')]
  }
  if (!isObject(service)) return checked(value, [['resource.kind', required()], ['resource.name', required()]], place)
  const { name: portName, number } = objectAt(service, 'port')
  const problems = portName && number
    ? [fault.invalid(place, '', 'cannot set both port name & port number')]
    : portName
    ? port(portName, `${place}.service.port.name`, {})
    : number
    ? port(number, `${place}.service.port.number`, {})
    : [fault.required(place, 'port name or number is required')]
  return [...checked(service, [['name', required(), name('label')]], `${place}.service`), ...problems]
}

const PATH: Checks = [
  ['path', path],
  ['pathType', required(), oneOf(...TYPES)],
  ['backend', (value, place, parent) => parent['pathType'] ? backend(value, place, parent) : []],
]

const INGRESS: Checks = [
  ['tls[]', fields([['hosts[]', host], ['secretName', ifSet(name('subdomain'))]])],
  ['rules[]', fields([['host', ifSet(host)], ['http.paths', required()], ['http.paths[]', fields(PATH)]])],
  ['defaultBackend', backend],
  ['ingressClassName', name('subdomain')],
]
