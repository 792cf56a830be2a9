/** What the handler of an admission needs. */
import type { PartEnvironment } from '../../observe/environment.ts'
import type { Client } from '../../client/client.ts'

/** What a handler needs beside the functions. */
export interface AdmissionDependencies extends PartEnvironment {
  /** Returns the client for one call, whose signal ends the client's requests. */
  readonly client: (call: { readonly signal: AbortSignal }) => Client
  /** Called with each error of a function that is answered with 500, which is also logged. Must not throw. */
  readonly onFailure?: (error: unknown) => void
  /** Whether to freeze `old` and the objects that `validate` gets. Default: false. */
  readonly freeze?: boolean
}
