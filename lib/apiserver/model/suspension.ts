/** Lets a synchronous request wait: it ends, and runs again when what it lacks is there. */

/** Thrown by a request that needs an answer. `work` gets it; then the request runs again from its start. */
export class Suspension {
  readonly work: () => Promise<void>

  constructor(work: () => Promise<void>) {
    this.work = work
  }
}
