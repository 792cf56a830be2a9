/**
 * One Event of events.k8s.io/v1: its checks, its body and its identity.
 *
 * The limits are those of the API server (pkg/apis/core/validation/events.go). Of an object only its reference gets
 * into an Event; the note comes from the caller.
 */
import { microTime } from '../core/duration.ts'
import { isDomainName, labelKeyProblem } from '../core/names.ts'

export type EventType = 'Normal' | 'Warning'

/** The object of an Event: a whole object, or only the fields that identify it. */
export interface Regarding {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string | undefined
    readonly uid?: string | undefined
    readonly resourceVersion?: string | undefined
  }
}

/** What an Event says besides its type, reason and message. */
export interface EventOptions {
  /** What was done or tried, at most 128 bytes. Default: the reason, because the API requires an action. */
  readonly action?: string | undefined
  /** A second object, such as a created one. */
  readonly related?: Regarding | undefined
}

/** A recorded event, after the checks. */
export interface Occurrence {
  readonly type: EventType
  readonly reason: string
  readonly action: string
  /** At most 1024 bytes. */
  readonly note: string
  readonly regarding: Regarding
  readonly related: Regarding | undefined
  readonly controller: string
}

interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
}

/** The Event to create, without its series. Only the metadata and the series of an Event can be changed later. */
export interface EventBody {
  readonly metadata: { readonly name: string; readonly namespace: string }
  /** When it was first recorded. */
  readonly eventTime: string
  readonly type: EventType
  readonly reason: string
  readonly action: string
  readonly note: string
  readonly regarding: ObjectReference
  readonly related?: ObjectReference | undefined
  readonly reportingController: string
  readonly reportingInstance: string
}

/** How often an Event occurred; only from the second time on. */
export interface EventSeries {
  readonly count: number
  readonly lastObservedTime: string
}

/** The form of a condition's reason, which programs can compare. The server allows any reason of 128 bytes. */
const REASON = /^[A-Za-z](?:[\w,:]*\w)?$/
const NAME_BYTES = 128
const NOTE_BYTES = 1024

/**
 * Checks an event. A note that is too long is cut between characters and ends with "…".
 *
 * @throws TypeError if the API server would refuse the event every time, which is a mistake in the program.
 */
export function occurrence(
  type: EventType,
  regarding: Regarding,
  reason: string,
  note: string,
  options: EventOptions & { controller: string },
): Occurrence {
  const { action = reason, related, controller } = options
  const fail = (what: string): never => {
    throw new TypeError(`Cannot record an event: ${what}`)
  }
  if (typeof reason !== 'string' || reason.length > NAME_BYTES || !REASON.test(reason)) {
    fail(`the reason ${JSON.stringify(reason)} must be a word such as "ScaledUp" of at most ${NAME_BYTES} characters`)
  }
  if (typeof action !== 'string' || action === '' || byteLength(action) > NAME_BYTES) {
    fail(`the action ${JSON.stringify(action)} must have 1 to ${NAME_BYTES} bytes`)
  }
  if (typeof note !== 'string') fail('the note must be a string')
  for (const object of related ? [regarding, related] : [regarding]) {
    if (!object?.apiVersion || !object.kind || !object.metadata?.name) {
      fail('the object lacks apiVersion, kind or metadata.name')
    }
  }
  return { type, reason, action, note: cutNote(note), regarding, related, controller }
}

/** Cuts a note to at most 1024 bytes of UTF-8, between characters, with "…" at the end. */
export function cutNote(note: string): string {
  return cut(note, NOTE_BYTES, '…')
}

/** Cuts a reporting instance, such as `my-operator-host-7`, to at most 128 bytes. */
export function cutInstance(instance: string): string {
  return cut(instance, NAME_BYTES, '')
}

function cut(text: string, max: number, ending: string): string {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= max || byteLength(text) <= max) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max - byteLength(ending)))
  return text.slice(0, read) + ending
}

/** Returns the length in UTF-8. A text above all limits here is not encoded. */
function byteLength(text: string): number {
  return text.length > NOTE_BYTES ? text.length : new TextEncoder().encode(text).length
}

const MAX_NAME_LENGTH = 253

/** Returns whether a name is a valid `reportingController`: a qualified name, such as `foo` or `example.dev/foo`. */
export function isControllerName(name: string): boolean {
  return labelKeyProblem(name) === undefined
}

/**
 * Returns a key that is equal for occurrences of one Event. The note is part of it, so that each note has its own
 * Event; the object's resourceVersion is not, because it changes with every write.
 */
export function identityOf({ type, reason, action, note, regarding, related, controller }: Occurrence): string {
  return JSON.stringify([
    type,
    reason,
    action,
    note,
    controller,
    ...names(regarding),
    ...(related ? names(related) : []),
  ])
}

/** Returns a key that is equal for occurrences that share one limit of the spam filter. */
export function topicOf({ type, reason, regarding, controller }: Occurrence): string {
  return JSON.stringify([type, reason, controller, ...names(regarding)])
}

function names({ apiVersion, kind, metadata }: Regarding): (string | undefined)[] {
  return [apiVersion, kind, metadata.namespace, metadata.name, metadata.uid]
}

/** Returns the namespace for the Events of an object. The API server requires `default` for cluster-scoped objects. */
export function namespaceOf({ metadata }: Regarding): string {
  return metadata.namespace || 'default'
}

/** Returns the Event of an occurrence. `serial` makes its name unique: nanoseconds since 1970, as in client-go. */
export function eventOf(what: Occurrence, of: { instance: string; wallMs: number; serial: bigint }): EventBody {
  const { type, reason, action, note, regarding, related, controller } = what
  return {
    metadata: { name: eventName(regarding, of.serial), namespace: namespaceOf(regarding) },
    eventTime: microTime(of.wallMs),
    type,
    reason,
    action,
    note,
    regarding: referenceTo(regarding),
    ...(related ? { related: referenceTo(related) } : {}),
    reportingController: controller,
    reportingInstance: of.instance,
  }
}

function referenceTo(
  { apiVersion, kind, metadata: { namespace, name, uid, resourceVersion } }: Regarding,
): ObjectReference {
  return { apiVersion, kind, namespace: namespace || undefined, name, uid, resourceVersion }
}

/**
 * Returns `<object>.<serial in hex>`. If the object's name is not valid for an Event (`system:node`), its kind is used.
 */
function eventName({ kind, metadata: { name } }: Regarding, serial: bigint): string {
  const end = `.${serial.toString(16)}`
  const base = isDomainName(name) ? name : kind.toLowerCase().replace(/[^a-z\d]/g, '') || 'event'
  return base.slice(0, MAX_NAME_LENGTH - end.length).replace(/[-.]+$/, '') + end
}

/** Returns the name for the next try if a name is already used. */
export function nextName(name: string): string {
  const dot = name.lastIndexOf('.')
  return `${name.slice(0, dot)}.${(BigInt(`0x${name.slice(dot + 1)}`) + 1n).toString(16)}`
}
