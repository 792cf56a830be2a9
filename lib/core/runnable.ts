/** What a manager runs. */

export interface Runnable {
  /** How it is called in logs and errors. */
  readonly name: string
  /** Works until the signal is aborted; settles when all that it began has ended. A rejection stops the manager. */
  start(signal: AbortSignal): Promise<void>
  /** Settles when it is of use to others. Default: at once. */
  ready?(signal: AbortSignal): Promise<void>
}
