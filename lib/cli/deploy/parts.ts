/** Finds and replaces the parts of an operator's objects that a kustomize overlay or Helm's values set. */
import type { AnyObject } from './files.ts'

/** The part of a Deployment that is read here. */
export interface Workload extends AnyObject {
  readonly spec: {
    readonly replicas: number
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> }
      readonly spec: { readonly containers: readonly Container[] }
    }
  }
}

export interface Container {
  readonly image: string
  readonly resources: object
  readonly [field: string]: unknown
}

/** Returns the Deployment of the operator. */
export function workloadOf(objects: readonly AnyObject[]): Workload {
  return objects.find(({ kind }) => kind === 'Deployment') as Workload
}

/** Returns the image of the operator's container, which is the first. */
export function imageOf(objects: readonly AnyObject[]): string {
  return workloadOf(objects).spec.template.spec.containers[0]!.image
}

/** Returns the objects with another image of the operator's container. */
export function withImage(objects: readonly AnyObject[], image: string): AnyObject[] {
  const workload = workloadOf(objects)
  return objects.map((each) =>
    each === workload ? withContainer(workload, (container) => ({ ...container, image })) : each
  )
}

/** Returns the Deployment with another container of the operator. */
export function withContainer(workload: Workload, change: (container: Container) => object): AnyObject {
  const { spec } = workload
  const { template } = spec
  const [container, ...others] = template.spec.containers
  const containers = [change(container!), ...others]
  return { ...workload, spec: { ...spec, template: { ...template, spec: { ...template.spec, containers } } } }
}

/** Returns the namespaces of objects beside the operator's own, sorted. */
export function placedElsewhere(objects: readonly AnyObject[]): string[] {
  const { metadata: { namespace: own } } = workloadOf(objects)
  const places = objects.flatMap(({ metadata: { namespace } }) => namespace === undefined ? [] : [namespace])
  return [...new Set(places)].filter((place) => place !== own).sort()
}
