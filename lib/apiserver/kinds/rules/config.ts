/** The rules of ConfigMaps and Secrets. */
import { encodeBase64 } from '../../../core/base64.ts'
import { jsonEqual } from '../../../core/equal.ts'
import { type ApiObject, at, isObject, type Json, type JsonObject } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { type Cause, fault, immutable } from '../../model/status.ts'

export const CONFIG_MAP_RULES: Partial<Rules> = { validate: configMapFaults }

export const SECRET_RULES: Partial<Rules> = {
  defaults(secret) {
    secret['type'] ??= 'Opaque'
    mergeStringData(secret)
  },
  validate: secretFaults,
  warnings: tlsWarnings,
  fields: (secret) => ({ type: String(secret['type'] ?? '') }),
}

const KEY = /^[-._a-zA-Z0-9]+$/
const KEY_MESSAGE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', " +
  "regex used for validation is '[-._a-zA-Z0-9]+')"
/** The maximum size of all values together, without their keys. */
const MAX_BYTES = 1024 * 1024

const MAX_KEY_LENGTH = 253

function dataKeyFaults(data: Json | undefined, path: string): Cause[] {
  return Object.keys(isObject(data) ? data : {}).sort().flatMap((key) =>
    keyProblems(key).map((problem) => fault.invalid(`${path}[${key}]`, key, problem))
  )
}

function keyProblems(key: string): string[] {
  if (key.length > MAX_KEY_LENGTH) return [`must be no more than ${MAX_KEY_LENGTH} characters`]
  if (!KEY.test(key)) return [KEY_MESSAGE]
  if (key === '.') return ["must not be '.'"]
  if (key === '..') return ["must not be '..'"]
  return key.startsWith('..') ? ["must not start with '..'"] : []
}

function configMapFaults(map: ApiObject, old: ApiObject | undefined): Cause[] {
  const binary = isObject(map['binaryData']) ? map['binaryData'] : {}
  const faults = [
    ...dataKeyFaults(map['data'], 'data'),
    ...Object.keys(isObject(map['data']) ? map['data'] : {}).filter((key) => Object.hasOwn(binary, key))
      .map((key) => fault.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData')),
    ...dataKeyFaults(map['binaryData'], 'binaryData'),
  ]
  if (sizeOf(map['data'], textSize) + sizeOf(map['binaryData'], base64Size) > MAX_BYTES) {
    faults.push(fault.tooLong('[]', MAX_BYTES))
  }
  if (old?.['immutable'] === true) faults.push(...immutableDataFaults(map, old, ['data', 'binaryData']))
  return faults
}

function immutableDataFaults(object: ApiObject, old: ApiObject, fields: readonly string[]): Cause[] {
  const faults = object['immutable'] === true
    ? []
    : [fault.forbidden('immutable', 'field is immutable when `immutable` is set')]
  for (const name of fields) {
    if (!jsonEqual(object[name], old[name])) {
      faults.push(fault.forbidden(name, 'field is immutable when `immutable` is set'))
    }
  }
  return faults
}

function sizeOf(data: Json | undefined, size: (value: string) => number): number {
  return Object.values(isObject(data) ? data : {}).reduce<number>((sum, value) => sum + size(String(value)), 0)
}

const textSize = (text: string): number => new TextEncoder().encode(text).length
const base64Size = (text: string): number => Math.floor(text.replace(/[=\r\n]/g, '').length * 3 / 4)

/** Moves `stringData`, which is write-only, into `data`. */
function mergeStringData(secret: ApiObject): void {
  const texts = secret['stringData']
  if (!isObject(texts)) return
  const data: JsonObject = isObject(secret['data']) ? { ...secret['data'] } : {}
  for (const [key, value] of Object.entries(texts)) data[key] = encodeBase64(String(value))
  secret['data'] = data
  delete secret['stringData']
}

function secretFaults(secret: ApiObject, old: ApiObject | undefined): Cause[] {
  const faults = dataKeyFaults(secret['data'], 'data')
  if (sizeOf(secret['data'], base64Size) > MAX_BYTES) faults.push(fault.tooLong('data', MAX_BYTES))
  if (old && secret['type'] !== old['type']) faults.push(immutable('type', secret['type']))
  if (old?.['immutable'] === true) faults.push(...immutableDataFaults(secret, old, ['data']))
  faults.push(...typedFaults(secret))
  return faults
}

/** The keys that a Secret of a type must have. */
const REQUIRED_KEYS: ReadonlyMap<string, readonly string[]> = new Map(Object.entries({
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
}))

function typedFaults(secret: ApiObject): Cause[] {
  const type = String(secret['type'] ?? '')
  const value = (key: string): Json | undefined => at(secret, 'data', key)
  const missing = (keys: readonly string[]): Cause[] =>
    keys.filter((key) => value(key) === undefined).map((key) => fault.required(`data[${key}]`))
  switch (type) {
    case 'kubernetes.io/service-account-token': {
      const name = 'kubernetes.io/service-account.name'
      return secret.metadata.annotations?.[name] ? [] : [fault.required(`metadata.annotations[${name}]`)]
    }
    case 'kubernetes.io/basic-auth': {
      const keys = ['username', 'password']
      return keys.every((key) => value(key) === undefined) ? missing(keys) : []
    }
    case 'kubernetes.io/dockerconfigjson':
    case 'kubernetes.io/dockercfg': {
      const [key] = REQUIRED_KEYS.get(type)!
      const given = value(key!)
      return typeof given === 'string' ? dockerFaults(given, `data[${key}]`) : missing([key!])
    }
    default:
      return missing(REQUIRED_KEYS.get(type) ?? [])
  }
}

function dockerFaults(encoded: string, path: string): Cause[] {
  const text = new TextDecoder().decode(Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0)))
  try {
    JSON.parse(text)
    return []
  } catch {
    return [fault.invalid(path, '<secret contents redacted>', jsonProblem(text))]
  }
}

/** Returns Go's words for text that is not JSON, for the common cases. */
function jsonProblem(text: string): string {
  const first = text.trimStart()[0]
  if (first === undefined || first === '{' || first === '[' || first === '"') return 'unexpected end of JSON input'
  return `invalid character '${first}' looking for beginning of value`
}

const PEM = /-----BEGIN ([A-Z ]+)-----[^]*-----END \1-----/

/** A certificate or a key without PEM. The real server also warns of a key that is not the certificate's. */
function tlsWarnings(secret: ApiObject): string[] {
  if (secret['type'] !== 'kubernetes.io/tls') return []
  const isPem = (key: string): boolean => PEM.test(atob(String(at(secret, 'data', key) ?? '')))
  const part = isPem('tls.crt') ? isPem('tls.key') ? undefined : 'key' : 'certificate'
  return part ? [`tls: failed to find any PEM data in ${part} input`] : []
}
