/** Implements `controllerFor`: checks a controller's options and fills in its description. */
import { toMs } from '../../core/duration.ts'
import { isFinalizerName, isLabelText } from '../../core/names.ts'
import { keyOf, type KubeObject, type ObjectKey } from '../../core/objects.ts'
import type { AnyResource } from '../../core/resource.ts'
import { callerFrame } from '../../observe/stack.ts'
import { isThenable } from '../../controller/bounded_call.ts'
import type { Predicate } from '../../controller/predicates.ts'
import type { ControllerBuilder, ControllerDefaults, ControllerOptions } from './context.ts'
import { checkShape, CONTROLLER_SHAPE, FINALIZE_SHAPE, OWNED_RIGHTS, OWNS_SHAPE, WATCHES_SHAPE } from './checks.ts'
import type { ControllerDescription, FinalizeDescription, StepDescription } from './description.ts'

/** @throws TypeError if an option is invalid. */
export function describeController(
  resource: AnyResource,
  own: ControllerOptions<KubeObject> = {},
  defaults: ControllerDefaults = {},
): ControllerDescription {
  const cannot = checked('control', resource)
  checkShape(cannot, own, CONTROLLER_SHAPE)
  const stated = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
  const { backoff: common, ...others } = defaults
  const options: ControllerOptions<KubeObject> = {
    ...others,
    ...(common && !own.limiter && { backoff: common }),
    ...stated,
  }
  const { name, backoff, limiter, fieldManager, cluster, clusters } = options
  if (name !== undefined && !isLabelText(name)) {
    throw new TypeError(`${cannot} as "${name}": a name has at most 63 letters, digits, dashes, dots and underscores`)
  }
  if (fieldManager !== undefined && !isFieldManager(fieldManager)) {
    throw new TypeError(
      `${cannot}: its fieldManager is "${fieldManager}", and must be 1 to 128 bytes of printable text`,
    )
  }
  const several = clusters && ('provider' in clusters ? [clusters] : clusters)
  if (several && (cluster || several.length === 0 || new Set(several).size < several.length)) {
    throw new TypeError(`${cannot}: clusters must be different clusters, at least one, and excludes cluster`)
  }
  if (backoff && limiter) {
    throw new TypeError(`${cannot}: backoff and limiter exclude each other; give one of them`)
  }
  return { resource, options, sources: [], declaredAt: callerFrame(), finalize: undefined, step: undefined }
}

/** The API server's rule: what Go prints is letters, marks, numbers, punctuation, symbols and the ASCII space. */
function isFieldManager(text: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(text) && new TextEncoder().encode(text).length <= 128
}

/**
 * Returns the beginning of an error's text. Throws a TypeError if `resource` is not a kind, or one of `calls` is not a
 * function: JavaScript checks no types.
 */
function checked(verb: string, resource: AnyResource, ...calls: readonly unknown[]): string {
  if (!resource?.plural) {
    throw new TypeError(`Cannot ${verb} ${resource}: it is not a kind, such as Pod of kubeloop/kinds`)
  }
  const cannot = `Cannot ${verb} ${resource.kind}`
  if (calls.some((call) => typeof call !== 'function')) {
    throw new TypeError(`${cannot}: it needs a function`)
  }
  return cannot
}

export function builderOf<T extends KubeObject, App>(
  controller: ControllerDescription,
  app: App,
): ControllerBuilder<T, App> {
  const { resource, sources } = controller
  const finish = (step: StepDescription): App => {
    const cannot = checked('reconcile', resource, step.reconcile)
    if (controller.step) throw new TypeError(`${cannot}: its controller has a reconcile already`)
    controller.step = step
    return app
  }
  const builder: ControllerBuilder<T, App> = {
    owns(owned, options = {}) {
      const cannot = checked('own', owned)
      checkShape(cannot, options, OWNS_SHAPE)
      const { when, queue, anyOwner = false, optional, rights = [] } = options
      for (const right of rights) checkShape(cannot, { rights: right }, OWNED_RIGHTS)
      const filters = { when: when as Predicate | undefined, queue: queue as ControllerOptions<KubeObject>['queue'] }
      sources.push({ kind: 'owns', resource: owned, anyOwner, rights, optional, ...filters })
      return builder
    },
    watches(watched, map, options = {}) {
      checkShape(checked('watch', watched, map), options, WATCHES_SHAPE)
      const { when, queue, cluster, optional } = options
      sources.push({
        kind: 'watches',
        resource: watched,
        map: (object, context) => keysOf(map(object as never, context as never)),
        when: when as Predicate | undefined,
        queue: queue as ControllerOptions<KubeObject>['queue'],
        cluster: cluster === 'own' ? undefined : cluster,
        isOwn: cluster === 'own',
        optional,
      })
      return builder
    },
    from(name, open) {
      sources.push({ kind: 'from', name, open: open as never })
      return builder
    },
    every(interval, keys) {
      const ms = toMs(interval)
      if (ms <= 0) throw new RangeError(`Cannot reconcile every ${interval}: the interval must be more than 0`)
      sources.push({ kind: 'every', ms, keys: keys && ((context) => keysOf(keys(context))) })
      return builder
    },
    finalize(cleanup, options = {}) {
      const cannot = checked('finalize', resource, cleanup)
      checkShape(cannot, options, FINALIZE_SHAPE)
      const { finalizer } = options
      if (controller.finalize) throw new TypeError(`${cannot}: its controller has a cleanup already`)
      if (finalizer !== undefined && !isFinalizerName(finalizer)) {
        const rule = 'a finalizer is a domain and a name, such as "example.dev/cleanup"'
        throw new TypeError(`${cannot} by "${finalizer}": ${rule}`)
      }
      controller.finalize = { cleanup: cleanup as FinalizeDescription['cleanup'], finalizer }
      return builder
    },
    reconcile: (reconcile) => finish({ kind: 'object', reconcile: reconcile as never }),
    reconcileKey: (reconcile) => finish({ kind: 'key', reconcile: reconcile as never }),
  }
  return builder
}

/** Returns the keys of keys or objects. Throws for a text, and for a single key, which cannot be iterated. */
function keysOf(refs: Iterable<unknown> | Promise<Iterable<unknown>>): ObjectKey[] | Promise<ObjectKey[]> {
  const all = (known: Iterable<unknown>): ObjectKey[] =>
    (typeof known === 'string' ? [known] : [...known]).map((ref) => {
      const { cluster } = ref as { readonly cluster?: string }
      return cluster === undefined ? keyOf(ref as ObjectKey) : { ...keyOf(ref as ObjectKey), cluster }
    })
  return isThenable(refs) ? Promise.resolve(refs).then(all) : all(refs)
}
