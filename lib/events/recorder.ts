/** The words for telling about an object: what a reconcile is given. */

export type EventType = 'Normal' | 'Warning'

/** What an Event is about: an object that was read, or as much of it as names it. */
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
  /** What was done or tried, at most 128 bytes. Default: the reason; the API demands something. */
  readonly action?: string | undefined
  /** A second object, such as the one that was made. */
  readonly related?: Regarding | undefined
}

/**
 * Takes what there is to tell about an object. Nothing waits, and nothing fails but a call that is a mistake.
 *
 * Equal calls (type, reason, action, note, object) within six minutes of each other become one Event with a count; another
 * note is another Event. There may be 25 different ones about one object for one reason at once, and another every 5 minutes.
 */
export interface Recorder {
  /**
   * Tells of something ordinary. `reason` is a word for programs, such as `ScaledUp`; `note` a sentence for people, cut at 1024
   * bytes. Whoever may read events will read both.
   *
   * @throws TypeError for a reason, an action or an object that the API server would never take.
   */
  normal(about: Regarding, reason: string, note: string, options?: EventOptions): void
  /** The same for what went wrong. */
  warning(about: Regarding, reason: string, note: string, options?: EventOptions): void
}
