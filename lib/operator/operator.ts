/**
 * The operator: an inert description. Importing a file that makes one connects to nothing; each start assembles its
 * own manager, so that one file can be run, tested, listed and embedded.
 */
import { toMs } from '../core/duration.ts'
import type { ClusterConfig } from '../core/cluster_config.ts'
import { keyOf, type KubeObject, type ObjectKey, type Thawed } from '../core/objects.ts'
import type { AnyResource, Resource } from '../core/resource.ts'
import { callerFrame } from '../observe/stack.ts'
import type { Result } from '../controller/result.ts'
import type { Context, ControllerBuilder, ControllerOptions, MapContext } from './context.ts'
import { checkDescription, type ControllerDescription, type OperatorDescription, type OperatorOptions, type Task } from './description.ts'
import { startOperator, type StartOptions } from './start.ts'
import { runOperator } from './run.ts'

export interface CacheDeclaration<T extends KubeObject> {
  /** A label selector: only these objects are kept, and seen. */
  labels?: string
  /** A field selector, likewise. */
  fields?: string
  /** Takes out of each object what nobody reads, before it is stored. */
  strip?: (draft: Thawed<NoInfer<T>>) => void
}

export interface Operator {
  /** Begins a controller for a kind; `reconcile` or `reconcileKey` ends it. */
  // deno-lint-ignore no-explicit-any -- reconciling does not depend on what is written
  controllerFor<T extends KubeObject>(resource: Resource<T, any>, options?: ControllerOptions<NoInfer<T>>): ControllerBuilder<T, Operator>
  /** What of a kind is kept, for all controllers; makes reads of it cached. */
  // deno-lint-ignore no-explicit-any -- as above
  cache<T extends KubeObject>(resource: Resource<T, any>, options?: CacheDeclaration<T>): Operator
  /** Runs beside the controllers; on the leader only, unless `everyReplica`. */
  add(name: string, task: Task, options?: { everyReplica?: boolean }): Operator
  /**
   * For processes: signals, logging, one line and an exit code instead of a rejection. Never rejects.
   * With `import.meta`, does nothing when the file was imported rather than run.
   */
  run(module?: ImportMeta): Promise<void>
  /** For embedding: settles when all it began has ended; rejects with what ended it. */
  start(signal: AbortSignal, options?: { cluster?: ClusterConfig }): Promise<void>
  /** What was described, for tools. */
  readonly description: OperatorDescription
}

/**
 * Describes an operator.
 *
 * @example
 * ```ts
 * import { operator } from 'kubeloop'
 * import { ConfigMap } from 'kubeloop/kinds'
 *
 * const app = operator({ name: 'greeter' })
 * app.controllerFor(ConfigMap).reconcile(async (map, { log }) => log.info('hello {name}', { name: map.metadata.name }))
 * export default app
 * await app.run(import.meta)
 * ```
 */
export function operator(options: OperatorOptions): Operator {
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(options.name ?? '')) {
    throw new TypeError(`Cannot describe an operator called "${options.name}": the name must be lower-case letters, digits and dashes, as it names a Lease`)
  }
  const description: OperatorDescription = { options, controllers: [], caches: [], tasks: [] }
  const app: Operator = {
    description,
    controllerFor(resource, controllerOptions) {
      const controller = describeController(resource, controllerOptions as ControllerOptions<KubeObject> | undefined)
      description.controllers.push(controller)
      return builderOf(controller, app)
    },
    cache(resource, cacheOptions = {}) {
      description.caches.push({ resource, options: cacheOptions as OperatorDescription['caches'][number]['options'] })
      return app
    },
    add(name, task, { everyReplica = false } = {}) {
      description.tasks.push({ name, task, everyReplica })
      return app
    },
    async start(signal, startOptions: StartOptions = {}) {
      checkDescription(description)
      await startOperator(description, signal, startOptions)
    },
    run: (module) => runOperator(description, module),
  }
  return app
}

function describeController(resource: AnyResource, options: ControllerOptions<KubeObject> = {}): ControllerDescription {
  const { concurrency = 1, timeout, backoff } = options
  if (!Number.isInteger(concurrency) || concurrency < 1) throw new RangeError(`Cannot control ${resource.kind}: concurrency is ${concurrency}, and must be a whole number of at least 1`)
  for (const duration of [timeout, backoff?.first, backoff?.most]) if (duration !== undefined) toMs(duration)
  return { resource, options, owns: [], watches: [], declaredAt: callerFrame(), step: undefined }
}

function builderOf<T extends KubeObject>(controller: ControllerDescription, app: Operator): ControllerBuilder<T, Operator> {
  const end = (step: (context: Context) => Promise<Result>): Operator => {
    if (controller.step) throw new TypeError(`Cannot give the controller for ${controller.resource.kind} a second reconcile`)
    controller.step = step
    return app
  }
  const builder: ControllerBuilder<T, Operator> = {
    owns(resource) {
      controller.owns.push(resource)
      return builder
    },
    watches(resource, map, { when } = {}) {
      controller.watches.push({
        resource,
        map: (object: KubeObject, context: MapContext) => {
          const refs = map(object as never, context)
          return refs instanceof Promise ? refs.then(keysOf) : keysOf(refs)
        },
        when: when as ControllerDescription['watches'][number]['when'],
      })
      return builder
    },
    reconcile: (step) =>
      end(async (context) => {
        const object = await context.client.get(controller.resource, context.key as never)
        // Gone: its dependents go by their owner references, and there is nothing to bring about.
        return object ? await step(object as T, context) : undefined
      }),
    reconcileKey: (step) => end((context) => step(context.key, context)),
  }
  return builder
}

function keysOf(refs: Iterable<unknown>): ObjectKey[] {
  return Array.from(refs, (ref) => keyOf(ref as ObjectKey))
}
