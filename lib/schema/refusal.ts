/** Errors for what a CRD schema cannot express, with the path of the field. */

/** A place in a schema: the resource's kind and the path of fields from the object's root. */
export interface Place {
  readonly kind: string
  readonly path: string
}

/** Returns the place of a field, of an array's items (`[]`) or of a map's values (`{}`) below a place. */
export function below(place: Place, step: string): Place {
  const path = step === '[]' || step === '{}' ? `${place.path}${step}` : place.path ? `${place.path}.${step}` : step
  return { kind: place.kind, path }
}

/** Throws a TypeError: a CRD schema cannot express the schema at this place. */
export function refuse(place: Place, what: string, advice?: string): never {
  const problem = `Cannot define resource "${place.kind}": ${place.path} is ${what}, which a CRD schema cannot express`
  throw new TypeError(advice ? `${problem}; ${advice}` : problem)
}
