/** From what a controller was described to do to what one run of it does. */
import type { KubeObject } from '../core/objects.ts'
import { Finalizer } from '../controller/finalizer.ts'
import { GONE, type Result } from '../controller/result.ts'
import type { Context } from './context.ts'
import type { ControllerDescription } from './description.ts'

/** Of one start: a finalizer remembers what it has seen end. */
export function stepOf(
  description: ControllerDescription,
  finalizerName: string | undefined,
): (context: Context) => Promise<Result> {
  const { resource, options: { cluster }, finalize } = description
  const step = description.step!
  const finalizer = finalizerName === undefined ? undefined : new Finalizer(resource, finalizerName)
  if (step.kind === 'key' && !finalizer) return (context) => step.reconcile(context.key, context)
  return async (context) => {
    const client = cluster ? context.clientOf(cluster) : context.client
    const reconcile = (object: KubeObject): Promise<Result> =>
      step.kind === 'key' ? step.reconcile(context.key, context) : step.reconcile(object, context)
    const object = await client.get<KubeObject>(resource, context.key as never)
    // Gone: its dependents go by their owner references, and there is nothing to bring about.
    if (!object) return step.kind === 'key' ? await step.reconcile(context.key, context) : GONE
    if (!finalizer || !finalize) return await reconcile(object)
    return await finalizer.run(object, { client, reconcile, cleanup: (deleted) => finalize.cleanup(deleted, context) })
  }
}
