/** Decodes protobuf request bodies: the envelope, then the object by its apiVersion and kind. */
import { badRequest, type StatusError } from '../../model/status.ts'
import { unregistered } from '../../model/go_text.ts'
import type { JsonObject } from '../../model/json.ts'
import { apiVersionOf } from '../../../core/resource.ts'
import type { Kind } from '../../model/kinds.ts'
import { decodeTyped } from '../../schema/decode.ts'
import { Decoded, decodeMessage } from './decode.ts'
import { envelope, type Message, messageOfKind } from './messages.ts'
import { renderMessage } from './render.ts'
import { WireError, WireReader } from './wire.ts'

/** What a body must be, or is. */
export type BodyKind = Pick<Kind, 'group' | 'version' | 'kind'>

/**
 * Decodes the body of a create or update to JSON with apiVersion and kind, which are those of `expected` if the body
 * has none. Without `expected`, it may be of any kind. Unknown fields are skipped, whatever the fieldValidation.
 *
 * @throws StatusError 400 with the real server's message if the bytes are no object, or one of another kind.
 */
export function decodeBody(bytes: Uint8Array, expected: BodyKind | undefined): JsonObject {
  const { kind, raw } = within(
    () => openEnvelope(bytes, expected ?? NO_KIND),
    (reason) => unrecognized(expected, reason),
  )
  const refused = (reason: string): StatusError => cannotHandle(kind, expected, reason)
  const apiVersion = apiVersionOf(kind)
  const accepted = ACCEPTED[`${apiVersion} ${kind.kind}`]
  const message = isSameScheme(kind, expected) ? messageOfKind(accepted ?? apiVersion, kind.kind) : undefined
  if (!message) {
    throw refused(isKnownList(kind) ? conversion(kind, expected) : unregistered(kind.kind, apiVersionOf(kind)))
  }
  const object = within(() => decodeObject(message, raw), refused)
  if (!expected || isSame(kind, expected)) return { apiVersion, kind: kind.kind, ...object }
  const wanted = apiVersionOf(expected)
  if (kind.kind !== expected.kind || internalPackage(kind) !== internalPackage(expected)) {
    throw refused(conversion(kind, expected))
  }
  if (accepted === wanted) return { apiVersion: wanted, kind: kind.kind, ...object }
  throw badRequest(`the API version in the data (${apiVersion}) does not match the expected API version (${wanted})`)
}

const OPTIONS: BodyKind = { group: 'meta.k8s.io', version: 'v1', kind: 'DeleteOptions' }

/** Decodes the DeleteOptions of a delete, at any apiVersion: clients send that of the deleted object. Throws 400. */
export function decodeOptions(bytes: Uint8Array): JsonObject {
  const { kind, raw } = within(() => openEnvelope(bytes, OPTIONS), badRequest)
  if (kind.kind !== OPTIONS.kind) throw badRequest(unregistered(kind.kind, apiVersionOf(kind)))
  return within(() => decodeObject(messageOfKind(apiVersionOf(OPTIONS), OPTIONS.kind)!, raw), badRequest)
}

/** Returns the JSON of a message, without apiVersion and kind. Throws a WireError. */
export function decodeObject(message: Message, raw: Uint8Array): JsonObject {
  const decoded = new Decoded()
  decodeMessage(new WireReader(raw), message, raw.byteLength, decoded)
  // Go's zero values are on the wire; the schema has what JSON leaves out of them.
  return decodeTyped(message.schema!, renderMessage(message, decoded) as JsonObject).object
}

function within<T>(decode: () => T, refuse: (reason: string) => StatusError): T {
  try {
    return decode()
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause
    const error = refuse(cause.message)
    error.cause = cause
    throw error
  }
}

const NO_KIND: BodyKind = { group: '', version: '', kind: '' }

/** Other versions that an endpoint accepts. */
const ACCEPTED: Readonly<Record<string, string>> = { 'policy/v1beta1 Eviction': 'policy/v1' }

/** The first bytes of every body: `k8s` and a zero. */
const PREFIX: readonly number[] = [0x6b, 0x38, 0x73, 0x00]

function openEnvelope(bytes: Uint8Array, defaults: BodyKind): { readonly kind: BodyKind; readonly raw: Uint8Array } {
  if (bytes.length === 0) throw new WireError('empty data')
  if (PREFIX.some((byte, index) => bytes[index] !== byte)) {
    const prefix = `[${PREFIX.join(' ')}]`
    throw new WireError(`provided data does not appear to be a protobuf message, expected prefix ${prefix}`)
  }
  if (bytes.length === PREFIX.length) throw new WireError('empty body')
  const content = bytes.subarray(PREFIX.length)
  const decoded = new Decoded()
  decodeMessage(new WireReader(content), envelope(), content.byteLength, decoded)
  const [raw = new Uint8Array(0), type] = decoded.slots as [Uint8Array?, Decoded?]
  const [apiVersion = '', kind = ''] = (type?.slots ?? []) as (string | undefined)[]
  return { kind: kindOf(apiVersion, kind, defaults), raw }
}

/** Splits an apiVersion, and fills in what is missing. One with several slashes is ignored, as Go does. */
function kindOf(apiVersion: string, kind: string, defaults: BodyKind): BodyKind {
  const parts = apiVersion.split('/')
  const [group, version] = parts.length === 1 ? ['', parts[0]] : parts.length === 2 ? parts : []
  return { group: version ? group! : defaults.group, version: version || defaults.version, kind: kind || defaults.kind }
}

function isSame(a: BodyKind, b: BodyKind): boolean {
  return a.kind === b.kind && a.group === b.group && a.version === b.version
}

/** Returns whether a kind is a list of known kinds. No request has one as its body. */
function isKnownList({ group, version, kind }: BodyKind): boolean {
  return kind.endsWith('List') &&
    messageOfKind(apiVersionOf({ group, version }), kind.slice(0, -'List'.length)) !== undefined
}

/** The groups whose servers, inside kube-apiserver, know no other group. */
const OWN_SCHEMES: readonly string[] = ['apiextensions.k8s.io', 'apiregistration.k8s.io']

function isSameScheme({ group }: BodyKind, expected: BodyKind | undefined): boolean {
  return !expected || group === expected.group ||
    (!OWN_SCHEMES.includes(group) && !OWN_SCHEMES.includes(expected.group))
}

/** Returns the Go package of a group's internal types. Events of both groups are one type. */
function internalPackage({ group }: BodyKind): string {
  const first = group.split('.')[0]!
  return first === '' || first === 'events' ? 'core' : first
}

function cannotHandle(given: BodyKind, expected: BodyKind | undefined, reason: string): StatusError {
  if (!expected) return badRequest(reason)
  const version = JSON.stringify(given.version)
  return badRequest(`${given.kind} in version ${version} cannot be handled as a ${expected.kind}: ${reason}`)
}

function unrecognized(expected: BodyKind | undefined, reason: string): StatusError {
  if (!expected) return badRequest(reason)
  return badRequest(
    `the object provided is unrecognized (must be of type ${expected.kind}): ${reason}`,
  )
}

function conversion(from: BodyKind, to: BodyKind | undefined): string {
  if (!to) return `a ${from.kind} cannot be the body of a request`
  return `converting (${from.version}.${from.kind}) to (${internalPackage(to)}.${to.kind}): unknown conversion`
}
