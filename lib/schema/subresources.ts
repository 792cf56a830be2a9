/** Checks the paths of the scale subresource against the schema: the server does not. */
import type { JsonSchema, ScaleSubresource } from '../core/resource.ts'

/** The fields of the scale subresource, as JSON paths from the object's root. */
export interface ScaleDefinition {
  /**
   * The wanted number of replicas: an integer of the spec, such as `.spec.replicas`. Give it a default: the server
   * answers a read of the scale with 500 while an object has none, and no autoscaler works.
   */
  readonly specReplicas: string
  /** The observed number of replicas: an integer of the status, such as `.status.replicas`. */
  readonly statusReplicas: string
  /**
   * The label selector of the pods as text: a string of the spec or the status, such as `.status.selector`. A
   * HorizontalPodAutoscaler needs it. Default: none.
   */
  readonly labelSelector?: string
}

/** Returns the scale subresource. Throws a TypeError if a field is missing, or is not where the server needs it. */
export function scaleOf(scale: ScaleDefinition, root: JsonSchema, kind: string): ScaleSubresource {
  const pathOf = (option: keyof ScaleDefinition, type: string, parts: readonly string[]): string => {
    const path = scale[option]
    const [first, ...names] = String(path).split('.')
    const field = names.reduce<JsonSchema | undefined>(
      (schema, name) => (schema?.['properties'] as Readonly<Record<string, JsonSchema>> | undefined)?.[name],
      root,
    )
    if (path && first === '' && parts.includes(names[0]!) && field?.['type'] === type) return path
    const must = `must be a field of type ${type} below .${parts.join(' or .')}`
    throw new TypeError(`Cannot define resource "${kind}": scale.${option} is "${path}", and ${must}`)
  }
  return {
    specReplicasPath: pathOf('specReplicas', 'integer', ['spec']),
    statusReplicasPath: pathOf('statusReplicas', 'integer', ['status']),
    ...(scale.labelSelector !== undefined &&
      { labelSelectorPath: pathOf('labelSelector', 'string', ['spec', 'status']) }),
  }
}
