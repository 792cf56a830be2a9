/** The interface with which a reconcile records events about objects. */
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

/**
 * Records Events about objects, in the background: calls return at once, and throw only for invalid arguments.
 *
 * Equal calls (type, reason, action, note, object) within six minutes of each other become one Event with a count;
 * another note makes another Event. For one object and reason, 25 different Events are allowed at once, and one more
 * every 5 minutes.
 */
export interface Recorder {
  /**
   * Records a normal event. `reason` is a word for programs, such as `ScaledUp`; `note` is a sentence for people, cut
   * at 1024 bytes. Both are visible to all users with the right to read events.
   *
   * @throws TypeError if the API server would refuse the reason, the action or the object every time.
   */
  normal(about: Regarding, reason: string, note: string, options?: EventOptions): void
  /** Records a warning; see {@link normal}. */
  warning(about: Regarding, reason: string, note: string, options?: EventOptions): void
}
