/**
 * One Event of events.k8s.io/v1: what is recorded, what of it is sent, and what makes two of them the same.
 *
 * The limits are the API server's (pkg/apis/core/validation/events.go). Nothing of an object but its reference gets into an
 * Event; the note is the caller's.
 */

import { microTime } from '../core/micro_time.ts'
import { isDomainName, isLabelText } from '../core/names.ts'
import type { EventOptions, EventType, Regarding } from './recorder.ts'

/** What was told to the recorder, checked. */
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

/** The Event to create, without its series. Only metadata and series of an Event may ever change. */
export interface EventBody {
  readonly metadata: { readonly name: string; readonly namespace: string }
  /** When it was recorded first. */
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

/** How often an Event occurred, from the second time on. */
export interface EventSeries {
  readonly count: number
  readonly lastObservedTime: string
}

/** The server allows any reason of 128 bytes; this is the form that a condition's reason has, which is fit for a program. */
const REASON = /^[A-Za-z](?:[\w,:]*\w)?$/
const NAME_BYTES = 128
const NOTE_BYTES = 1024

/**
 * Checks what was told. A note that is too long is cut at a character and ends with "…".
 *
 * @throws TypeError for what the API server would refuse each time: a mistake in the program.
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
    fail(`the reason ${JSON.stringify(reason)} is no word such as "ScaledUp" of at most ${NAME_BYTES} characters`)
  }
  if (typeof action !== 'string' || action === '' || byteLength(action) > NAME_BYTES) {
    fail(`the action ${JSON.stringify(action)} is empty or longer than ${NAME_BYTES} bytes`)
  }
  if (typeof note !== 'string') fail('the note is no text')
  for (const object of related ? [regarding, related] : [regarding]) {
    if (!object?.apiVersion || !object.kind || !object.metadata?.name) {
      fail('the object lacks apiVersion, kind or metadata.name')
    }
  }
  return { type, reason, action, note: cutNote(note), regarding, related, controller }
}

/** At most 1024 bytes of UTF-8, whole characters, with "…" for what is left out. */
export function cutNote(note: string): string {
  return cut(note, NOTE_BYTES, '…')
}

/** A reporting instance, such as `my-operator-host-7`, at most 128 bytes. */
export function cutInstance(instance: string): string {
  return cut(instance, NAME_BYTES, '')
}

function cut(text: string, max: number, ending: string): string {
  // No character takes more than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= max || byteLength(text) <= max) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max - byteLength(ending)))
  return text.slice(0, read) + ending
}

/** A long text is not measured beyond what is asked about: it is over any limit here. */
function byteLength(text: string): number {
  return text.length > NOTE_BYTES ? text.length : new TextEncoder().encode(text).length
}

const LONGEST_NAME = 253

/** Whether a name may be a `reportingController`: a qualified name, such as `foo-controller` or `example.dev/foo-controller`. */
export function isControllerName(name: string): boolean {
  const slash = name.indexOf('/')
  return isLabelText(name.slice(slash + 1)) && (slash < 0 || isDomainName(name.slice(0, slash)))
}

/**
 * Equal for occurrences that become one Event with a count. The note is part of it, so that no note is lost in another's
 * series; the object's resourceVersion is not, or nothing would ever be equal about an object that changes.
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

/** Equal for occurrences that share an allowance of different notes. */
export function topicOf({ type, reason, regarding, controller }: Occurrence): string {
  return JSON.stringify([type, reason, controller, ...names(regarding)])
}

function names({ apiVersion, kind, metadata }: Regarding): (string | undefined)[] {
  return [apiVersion, kind, metadata.namespace, metadata.name, metadata.uid]
}

/** Where Events about an object live; the API server wants those about cluster-scoped ones in `default`. */
export function namespaceOf({ metadata }: Regarding): string {
  return metadata.namespace || 'default'
}

/** The Event of what occurred. `serial` makes its name unique: nanoseconds since 1970, as client-go has it. */
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

/** `<object>.<serial in hex>`. An object whose name can be no Event's, such as a ClusterRole `system:node`, goes by its kind. */
function eventName({ kind, metadata: { name } }: Regarding, serial: bigint): string {
  const end = `.${serial.toString(16)}`
  const base = isDomainName(name) ? name : kind.toLowerCase().replace(/[^a-z\d]/g, '') || 'event'
  return base.slice(0, LONGEST_NAME - end.length).replace(/[-.]+$/, '') + end
}

/** The name for another try, where one is taken. */
export function nextName(name: string): string {
  const dot = name.lastIndexOf('.')
  return `${name.slice(0, dot)}.${(BigInt(`0x${name.slice(dot + 1)}`) + 1n).toString(16)}`
}
