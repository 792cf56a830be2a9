/** What a reconcile is given, and what the builder of a controller takes: the words of an operator file. */
import type { Duration } from '../core/duration.ts'
import type { KubeObject, ObjectKey, Ref } from '../core/objects.ts'
import type { AnyResource, Resource } from '../core/resource.ts'
import type { Log } from '../observe/log.ts'
import type { Client } from '../client/client.ts'
import type { Predicate } from '../controller/predicate.ts'
import type { Result } from '../controller/result.ts'

export interface Context {
  readonly key: ObjectKey
  /** Bound to this run: its calls end with it, so that an abandoned reconcile cannot write on. */
  readonly client: Client
  /** Every line has the controller, the key and the run's number. */
  readonly log: Log
  /** Aborted when the run times out, has ended, or is abandoned at the end of the grace period. */
  readonly signal: AbortSignal
  /** 1 at first, and one more after each failure in a row. */
  readonly attempt: number
}

export interface ControllerOptions<T extends KubeObject> {
  /** In logs and metrics; unique within the operator. Default: the kind in lower case. */
  name?: string
  /** How many keys are worked on at once. Default: 1. */
  concurrency?: number
  /** Which changes of the controller's own kind are worth a reconcile. Default: all. */
  when?: Predicate<T>
  /** Aborts a run's signal, and with it its client. Default: none. */
  timeout?: Duration
  /** Run also where this replica does not lead. Default: false. */
  everyReplica?: boolean
  /** How long a failing key waits: `first`, doubled each time, at most `most`. Default: 5 ms … 1000 s. */
  backoff?: { first?: Duration; most?: Duration }
}

/** What a map function is given beside the object. */
export interface MapContext {
  readonly client: Client
}

export interface ControllerBuilder<T extends KubeObject, Operator> {
  /** Reconciles the owner when an object of this kind, controlled by it, changes. */
  owns(resource: AnyResource): this
  /** Reconciles what `map` answers when an object of this kind changes. A map function that throws is tried again. */
  watches<W extends KubeObject>(
    // deno-lint-ignore no-explicit-any -- watching does not depend on what is written
    resource: Resource<W, any>,
    map: (object: W, context: MapContext) => Iterable<Ref<T>> | Promise<Iterable<Ref<T>>>,
    options?: { when?: Predicate<W> },
  ): this
  /** Ends the sentence. Called for objects that exist; throw to be called again with back-off. */
  reconcile(step: (object: T, context: Context) => Promise<Result>): Operator
  /** As reconcile, by key only: also called when the object is gone. */
  reconcileKey(step: (key: ObjectKey, context: Context) => Promise<Result>): Operator
}
