/** The rules of CertificateSigningRequests: who asked, approval, and the certificate in the status. */
import { jsonEqual } from '../../core/equal.ts'
import { type ApiObject, at, clone, isObject, type Json, type JsonObject, putAt } from '../model/json.ts'
import type { GuardedWrite, PrepareContext, Rules } from '../model/kinds.ts'
import { type Cause, fault, forbidden } from '../model/status.ts'
import { isSubdomain } from '../model/names.ts'
import type { Rights } from '../model/rights.ts'
import { resourceAttributes } from '../model/attributes.ts'

const GROUP = 'certificates.k8s.io'
const PLURAL = 'certificatesigningrequests'

export const CERTIFICATE_RULES: Partial<Rules> = {
  nameRule: 'path',
  prepareCreate: setRequester,
  prepareUpdate(request, old) {
    restore(request, old, 'spec')
    restore(request, old, 'status')
  },
  validate: (request, old) => [...requestFaults(request), ...statusFaults(request, old, '')],
  prepareStatus(request, old, context) {
    restore(request, old, 'spec')
    keepConditions(request, old)
    setTimes(request, old, context.nowIso())
  },
  validateStatus: (request, old) => [...requestFaults(request), ...statusFaults(request, old, 'status')],
  parts: {
    approval: {
      prepare(request, old, context) {
        restore(request, old, 'spec')
        putAt(request, ['status', 'certificate'], at(old, 'status', 'certificate'))
        setTimes(request, old, context.nowIso())
      },
      validate: (request, old) => [...requestFaults(request), ...statusFaults(request, old, 'approval')],
    },
  },
  guard: guardSigner,
  fields: (request) => ({ 'spec.signerName': String(at(request, 'spec', 'signerName') ?? '') }),
}

/** Sets the caller as the requester, in place, and drops a stated requester and a stated approval. */
function setRequester(request: ApiObject, { user }: PrepareContext): void {
  const spec = isObject(request['spec']) ? { ...request['spec'] } : {}
  for (const field of ['username', 'uid', 'groups', 'extra']) delete spec[field]
  request['spec'] = { ...spec, ...user }
  request['status'] = {}
}

function restore(request: ApiObject, old: ApiObject, field: string): void {
  if (old[field] === undefined) delete request[field]
  else request[field] = clone(old[field])
}

const APPROVALS: readonly string[] = ['Approved', 'Denied']
const TRUE_ONLY: readonly string[] = [...APPROVALS, 'Failed']

function conditions(request: ApiObject): JsonObject[] {
  const list = at(request, 'status', 'conditions')
  return Array.isArray(list) ? (list as Json[]).filter(isObject) : []
}

function ofType(request: ApiObject, type: string): JsonObject[] {
  return conditions(request).filter((each) => each['type'] === type)
}

/** Restores the conditions of approval, unless some were added or removed, in place. */
function keepConditions(request: ApiObject, old: ApiObject): void {
  for (const type of APPROVALS) {
    const before = ofType(old, type)
    if (before.length !== ofType(request, type).length) continue
    let next = 0
    const kept = conditions(request).map((each) => (each['type'] === type ? clone(before[next++]!) : each))
    if (kept.length > 0) putAt(request, ['status', 'conditions'], kept)
  }
}

/** Sets the missing times of conditions, in place. */
function setTimes(request: ApiObject, old: ApiObject, nowIso: string): void {
  const list = conditions(request)
  if (list.length === 0) return
  const next = list.map((each) => {
    const before = conditions(old).find((other) => other['type'] === each['type'] && other['status'] === each['status'])
    return {
      ...each,
      lastUpdateTime: each['lastUpdateTime'] || nowIso,
      lastTransitionTime: each['lastTransitionTime'] || before?.['lastTransitionTime'] || nowIso,
    }
  })
  putAt(request, ['status', 'conditions'], next)
}

const USAGES: readonly string[] = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]

const MIN_SECONDS = 600

/** Returns the faults of the spec. The signature of the request is not verified. */
function requestFaults({ spec }: ApiObject): Cause[] {
  const faults: Cause[] = []
  const request = at(spec, 'request') ?? null
  if (pemTypes(String(request ?? ''))[0] !== 'CERTIFICATE REQUEST') {
    faults.push(fault.invalid('spec.request', request, 'PEM block type must be CERTIFICATE REQUEST'))
  }
  const list = at(spec, 'usages')
  const usages = Array.isArray(list) ? list.map(String) : []
  if (usages.length === 0) faults.push(fault.required('spec.usages'))
  for (const [index, usage] of usages.entries()) {
    if (!USAGES.includes(usage)) faults.push(fault.notSupported(`spec.usages[${index}]`, usage, USAGES))
  }
  for (const [index, usage] of usages.entries()) {
    if (usages.indexOf(usage) < index) faults.push(fault.duplicate(`spec.usages[${index}]`, usage))
  }
  faults.push(...signerFaults(String(at(spec, 'signerName') ?? '')))
  const seconds = at(spec, 'expirationSeconds')
  if (typeof seconds === 'number' && seconds < MIN_SECONDS) {
    const problem = 'may not specify a duration less than 600 seconds (10 minutes)'
    faults.push(fault.invalid('spec.expirationSeconds', seconds, problem))
  }
  return faults
}

function signerFaults(name: string): Cause[] {
  if (!name) return [fault.required('spec.signerName')]
  const [domain, path, ...rest] = name.split('/')
  if (path && rest.length === 0 && isSubdomain(domain!) && domain!.includes('.')) return []
  const problem = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
  return [fault.invalid('spec.signerName', name, problem)]
}

/** Returns the types of the PEM blocks in a base64 text. */
function pemTypes(base64: string): string[] {
  try {
    return [...atob(base64).matchAll(/-----BEGIN ([^-]+)-----[\s\S]*?-----END \1-----/g)].map((match) => match[1]!)
  } catch {
    return []
  }
}

/** Returns the faults of the status. `way` is the subresource of the write. */
function statusFaults(request: ApiObject, old: ApiObject | undefined, way: '' | 'status' | 'approval'): Cause[] {
  const faults = [...conditionFaults(request), ...certificateFaults(String(at(request, 'status', 'certificate') ?? ''))]
  if (!old) return faults
  const path = 'status.conditions'
  for (const type of TRUE_ONLY) {
    if (ofType(request, type).length < ofType(old, type).length) {
      faults.push(fault.forbidden(path, `updates may not remove a condition of type ${JSON.stringify(type)}`))
    }
  }
  if (way !== 'approval') {
    for (const type of APPROVALS) {
      if (ofType(request, type).length > ofType(old, type).length) {
        faults.push(fault.forbidden(path, `updates may not add a condition of type ${JSON.stringify(type)}`))
      }
    }
  }
  const before = at(old, 'status', 'certificate')
  if (way === 'status' && before && !jsonEqual(at(request, 'status', 'certificate'), before)) {
    faults.push(fault.forbidden('status.certificate', 'updates may not modify existing certificate content'))
  }
  return faults
}

function conditionFaults(request: ApiObject): Cause[] {
  const faults: Cause[] = []
  const seen = new Set<string>()
  for (const [index, { type = '', status = '' }] of conditions(request).entries()) {
    const path = `status.conditions[${index}]`
    const allowed = TRUE_ONLY.includes(String(type)) ? ['True'] : ['False', 'True', 'Unknown']
    if (!type) faults.push(fault.required(`${path}.type`))
    if (!status) faults.push(fault.required(`${path}.status`))
    else if (!allowed.includes(String(status))) faults.push(fault.notSupported(`${path}.status`, status, allowed))
    if (APPROVALS.some((other) => other !== type && APPROVALS.includes(String(type)) && seen.has(other))) {
      faults.push(fault.invalid('status.conditions', type, 'Approved and Denied conditions are mutually exclusive'))
    }
    if (seen.has(String(type))) faults.push(fault.duplicate(`${path}.type`, type))
    seen.add(String(type))
  }
  return faults
}

function certificateFaults(certificate: string): Cause[] {
  if (!certificate) return []
  const types = pemTypes(certificate)
  const other = types.find((type) => type !== 'CERTIFICATE')
  if (types.length > 0 && other === undefined) return []
  const problem = other === undefined
    ? 'must contain at least one CERTIFICATE PEM block'
    : `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(other)}`
  return [fault.invalid('status.certificate', '<certificate data>', problem)]
}

/** Requires the right to approve or sign for the signer. */
function guardSigner({ object, old, subresource, request }: GuardedWrite, rights: Rights): void {
  if (!old) return
  const signer = String(at(old, 'spec', 'signerName') ?? '')
  const isSigning = subresource === 'status' &&
    !jsonEqual(at(object, 'status', 'certificate') ?? '', at(old, 'status', 'certificate') ?? '')
  const verb = subresource === 'approval' ? 'approve' : isSigning ? 'sign' : undefined
  if (!verb) return
  const isAllowed = (name: string): boolean =>
    rights.decide(
      resourceAttributes({ user: request.user, verb, group: GROUP, version: '*', resource: 'signers', name }),
    )
      .allowed
  if (isAllowed(signer) || isAllowed(`${signer.split('/')[0]}/*`)) return
  throw forbidden(
    { group: GROUP, plural: PLURAL },
    old.metadata.name!,
    `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`,
  )
}
