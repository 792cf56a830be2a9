/** What the handler of an admission needs. */
import type { Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Client } from '../client/client.ts'

/** What a handler needs beside the functions. */
export interface AdmissionDependencies {
  /** Returns the client for one call, whose signal ends the client's requests. */
  readonly client: (call: { readonly signal: AbortSignal }) => Client
  readonly clock: Clock
  readonly log: Log
  /** Called with each error of a function that is answered with 500, which is also logged. Must not throw. */
  readonly onFailure?: (error: unknown) => void
  /** Whether to freeze `old` and the objects that `validate` gets. Default: false. */
  readonly freeze?: boolean
}
