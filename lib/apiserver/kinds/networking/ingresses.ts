/** The rules of ingresses. */
import { type Cause, fault } from '../../model/status.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { PrepareContext, Rules } from '../../model/kinds.ts'
import { nameProblems } from '../../model/names.ts'
import { type Check, checked, fields, ifSet, isIp, name, oneOf, port, required } from '../common/checks.ts'
import { str } from '../common/columns.ts'

export const INGRESS_RULES: Partial<Rules> = {
  generation: true,
  prepareCreate: setDefaultClass,
  warnings: (ingress, old) =>
    !old && ingress.metadata.annotations?.[CLASS] !== undefined && at(ingress, 'spec', 'ingressClassName') === undefined
      ? [`annotation '${CLASS}' is deprecated, please use 'spec.ingressClassName' instead`]
      : [],
  validate: (ingress, old) => [...ingressFaults(ingress), ...(old ? [] : classFaults(ingress))],
}

const CLASS = 'kubernetes.io/ingress.class'
const DEFAULT_CLASS = 'ingressclass.kubernetes.io/is-default-class'

/** Sets the default class of ingresses, in place. */
function setDefaultClass(ingress: ApiObject, { all }: PrepareContext): void {
  const spec = ingress['spec'] as JsonObject
  if (spec['ingressClassName'] !== undefined) return
  if (ingress.metadata.annotations?.[CLASS] !== undefined) return
  const classes = all('ingressclasses.networking.k8s.io')
    .filter(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true')
    .sort((a, b) => (String(a.metadata.creationTimestamp) < String(b.metadata.creationTimestamp) ? 1 : -1))
  if (classes[0]) spec['ingressClassName'] = classes[0].metadata.name!
}

/** The annotation and the field name the same class. */
function classFaults({ metadata, spec }: ApiObject): Cause[] {
  const [old, own] = [metadata.annotations?.[CLASS], at(spec, 'ingressClassName')]
  if (old === undefined || own === undefined || old === own) return []
  return [fault.invalid(`annotations.${CLASS}`, old, 'must match `ingressClassName` when both are specified')]
}

function ingressFaults(ingress: ApiObject): Cause[] {
  const spec = (ingress['spec'] ?? {}) as JsonObject
  const { rules, defaultBackend } = spec
  const hasRules = Array.isArray(rules) && rules.length > 0
  return [
    ...(hasRules || isObject(defaultBackend) ? [] : [
      fault.invalid('spec', null, 'either `defaultBackend` or `rules` must be specified'),
    ]),
    ...checked(spec, [
      ['tls[]', fields([['hosts[]', host], ['secretName', ifSet(name('subdomain'))]])],
      [
        'rules[]',
        fields([['host', ifSet(host)], ['http.paths', required()], [
          'http.paths[]',
          fields([
            ['path', path],
            ['pathType', pathType],
            ['backend', (value, place, { pathType: type }) => type ? backend(value, place) : []],
          ]),
        ]]),
      ],
      ['defaultBackend', backend],
      ['ingressClassName', name('subdomain')],
    ], 'spec'),
  ]
}

const WILDCARD = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must " +
  "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character " +
  "(e.g. '*.example.com', regex used for validation is " +
  "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

function host(value: Json | undefined, place: string): readonly Cause[] {
  const text = String(value)
  if (isIp(text)) return [fault.invalid(place, value, 'must be a DNS name, not an IP address')]
  if (!text.includes('*')) return nameProblems(text, 'subdomain').map((each) => fault.invalid(place, value, each))
  const isValid = text.startsWith('*.') && nameProblems(text.slice(2), 'subdomain').length === 0
  return isValid ? [] : [fault.invalid(place, value, WILDCARD)]
}

const TYPES = ['Exact', 'ImplementationSpecific', 'Prefix']
const INVALID_SEQUENCES = ['//', '/./', '/../', '%2f', '%2F']
const INVALID_ENDS = ['/..', '/.']

const pathType: Check = (value, place) =>
  value === undefined || value === null
    ? [fault.required(place, 'pathType must be specified')]
    : oneOf(...TYPES)(value, place, {})

function path(value: Json | undefined, place: string, parent: JsonObject): readonly Cause[] {
  const text = String(value ?? '')
  const type = parent['pathType']
  if (type === 'ImplementationSpecific') {
    return text === '' || text.startsWith('/') ? [] : [fault.invalid(place, value, 'must be an absolute path')]
  }
  if (type !== 'Exact' && type !== 'Prefix') return []
  if (!text.startsWith('/')) return [fault.invalid(place, value ?? '', 'must be an absolute path')]
  return [
    ...INVALID_SEQUENCES.filter((each) => text.includes(each)).map((each) => `must not contain '${each}'`),
    ...INVALID_ENDS.filter((each) => text.endsWith(each)).map((each) => `cannot end with '${each}'`),
  ].map((detail) => fault.invalid(place, value, detail))
}

function backend(value: Json | undefined, place: string): readonly Cause[] {
  if (!isObject(value)) return []
  const { service, resource } = value
  if (isObject(service) && isObject(resource)) {
    return [fault.invalid(place, '', 'cannot set both resource and service backends')]
  }
  if (!isObject(service) && !isObject(resource)) {
    return [fault.invalid(place, '', 'resource or service backend is required')]
  }
  if (!isObject(service)) return checked(value, [['resource.kind', required()], ['resource.name', required()]], place)
  const [portName, number] = [str(service, 'port', 'name'), at(service, 'port', 'number') ?? 0]
  const faults = checked(service, [['name', required(), name('label')]], `${place}.service`)
  if (portName && number !== 0) faults.push(fault.invalid(place, '', 'cannot set both port name & port number'))
  else if (portName) faults.push(...port(portName, `${place}.service.port.name`, service))
  else if (number === 0) faults.push(fault.required(place, 'port name or number is required'))
  else faults.push(...port(number, `${place}.service.port.number`, service))
  return faults
}
