/** Decodes protobuf request bodies: the envelope, then the object by its apiVersion and kind. */
import { badRequest } from '../../model/status.ts'
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
 * @throws StatusError 400 if the bytes are no object, or one of another kind.
 */
export function decodeBody(bytes: Uint8Array, expected: BodyKind | undefined): JsonObject {
  const { kind, raw } = openEnvelope(bytes, expected ?? NO_KIND)
  const given = apiVersionOf(kind)
  const apiVersion = expected ? ACCEPTED[`${given} ${kind.kind}`] ?? given : given
  if (expected && (kind.kind !== expected.kind || apiVersion !== apiVersionOf(expected))) {
    throw badRequest(`the body must be a ${expected.kind} of ${apiVersionOf(expected)}, not a ${kind.kind} of ${given}`)
  }
  return { apiVersion, kind: kind.kind, ...decodeKnown(apiVersion, kind.kind, raw) }
}

const OPTIONS: BodyKind = { group: 'meta.k8s.io', version: 'v1', kind: 'DeleteOptions' }

/** Decodes the DeleteOptions of a delete, at any apiVersion: clients send that of the deleted object. Throws 400. */
export function decodeOptions(bytes: Uint8Array): JsonObject {
  const { kind, raw } = openEnvelope(bytes, OPTIONS)
  if (kind.kind !== OPTIONS.kind) throw badRequest(unregistered(kind.kind, apiVersionOf(kind)))
  return decodeKnown(apiVersionOf(OPTIONS), OPTIONS.kind, raw)
}

function decodeKnown(apiVersion: string, kind: string, raw: Uint8Array): JsonObject {
  const message = messageOfKind(apiVersion, kind)
  if (!message) throw badRequest(unregistered(kind, apiVersion))
  return within(() => decodeObject(message, raw))
}

/** Returns the JSON of a message, without apiVersion and kind. Throws a WireError. */
export function decodeObject(message: Message, raw: Uint8Array): JsonObject {
  const decoded = new Decoded()
  decodeMessage(new WireReader(raw), message, raw.byteLength, decoded)
  // Go's zero values are on the wire; the schema has what JSON leaves out of them.
  return decodeTyped(message.schema!, renderMessage(message, decoded) as JsonObject).object
}

function within<T>(decode: () => T): T {
  try {
    return decode()
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause
    const error = badRequest(cause.message)
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
  return within(() => readEnvelope(bytes, defaults))
}

function readEnvelope(bytes: Uint8Array, defaults: BodyKind): ReturnType<typeof openEnvelope> {
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
