/** The rules of ConfigMaps and Secrets. */
import { encodeBase64 } from '../../../core/base64.ts'
import { jsonEqual } from '../../../core/equal.ts'
import { type ApiObject, isObject, type Json, type JsonObject, objectAt, str } from '../../model/json.ts'
import type { Rules } from '../../model/kinds.ts'
import { type Cause, fault } from '../../model/status.ts'
import { unchanged } from '../../model/checks.ts'
import { selectable } from '../../model/selectors.ts'

export const CONFIG_MAP_RULES: Partial<Rules> = { validate: configMapFaults }

export const SECRET_RULES: Partial<Rules> = {
  defaults(secret) {
    secret['type'] ??= 'Opaque'
    mergeStringData(secret)
  },
  validate: secretFaults,
  fields: selectable('type'),
}

const KEY = /^[-._a-zA-Z0-9]{1,253}$/
const KEY_MESSAGE = "a valid config key must consist of at most 253 alphanumeric characters, '-', '_' or '.' " +
  "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name'), and must not be '.' or begin with '..'"
/** The maximum size of all values together, without their keys. */
const MAX_BYTES = 1024 * 1024

function dataKeyFaults(data: Json | undefined, path: string): Cause[] {
  return Object.keys(objectAt(data)).filter((key) => !KEY.test(key) || key === '.' || key.startsWith('..'))
    .map((key) => fault.invalid(`${path}[${key}]`, key, KEY_MESSAGE))
}

function configMapFaults(map: ApiObject, old: ApiObject | undefined): Cause[] {
  const [texts, binary] = [objectAt(map['data']), objectAt(map['binaryData'])]
  const isLong = sizeOf(texts, textSize) + sizeOf(binary, base64Size) > MAX_BYTES
  return [
    ...dataKeyFaults(texts, 'data'),
    ...dataKeyFaults(binary, 'binaryData'),
    ...Object.keys(texts).filter((key) => Object.hasOwn(binary, key))
      .map((key) => fault.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData')),
    ...(isLong ? [fault.tooLong('[]', MAX_BYTES)] : []),
    ...immutableDataFaults(map, old, ['data', 'binaryData']),
  ]
}

function immutableDataFaults(object: ApiObject, old: ApiObject | undefined, fields: readonly string[]): Cause[] {
  if (old?.['immutable'] !== true) return []
  return ['immutable', ...fields].filter((field) => !jsonEqual(object[field], old[field]))
    .map((field) => fault.forbidden(field, 'field is immutable when `immutable` is set'))
}

function sizeOf(data: JsonObject, size: (value: string) => number): number {
  return Object.values(data).reduce<number>((sum, value) => sum + size(String(value)), 0)
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
  const data = objectAt(secret['data'])
  return [
    ...dataKeyFaults(data, 'data'),
    ...(sizeOf(data, base64Size) > MAX_BYTES ? [fault.tooLong('data', MAX_BYTES)] : []),
    ...unchanged(secret, old, 'type'),
    ...immutableDataFaults(secret, old, ['data']),
    ...typedFaults(secret, data),
  ]
}

/** The keys that a Secret of a type must have. */
const REQUIRED_KEYS: ReadonlyMap<string, readonly string[]> = new Map(Object.entries({
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/basic-auth': ['username', 'password'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
}))

function typedFaults(secret: ApiObject, data: JsonObject): Cause[] {
  const type = str(secret, 'type')
  const missing = (REQUIRED_KEYS.get(type) ?? []).filter((key) => data[key] === undefined)
  if (type === 'kubernetes.io/service-account-token') {
    const name = 'kubernetes.io/service-account.name'
    return secret.metadata.annotations?.[name] ? [] : [fault.required(`metadata.annotations[${name}]`)]
  }
  // A password needs no name, and a name no password.
  if (type === 'kubernetes.io/basic-auth' && missing.length < 2) return []
  const docker = type.startsWith('kubernetes.io/docker')
    ? REQUIRED_KEYS.get(type)!.filter((key) => data[key] !== undefined && !isJson(atob(str(data, key))))
    : []
  return [
    ...missing.map((key) => fault.required(`data[${key}]`)),
    ...docker.map((key) => fault.invalid(`data[${key}]`, '<secret contents redacted>', 'is not JSON')),
  ]
}

function isJson(text: string): boolean {
  try {
    return JSON.parse(text) !== undefined
  } catch {
    return false
  }
}
