/**
 * Where in a definition we are, so that what a CRD cannot say is refused with its path.
 */

/** A place in a schema: the resource's kind and the path of fields from the object's root. */
export interface Place {
  readonly kind: string
  readonly path: string
}

/** The place of a field, of an array's items (`[]`) or of a map's values (`{}`) below another. */
export function below(place: Place, step: string): Place {
  const path = step === '[]' || step === '{}' ? `${place.path}${step}` : place.path ? `${place.path}.${step}` : step
  return { kind: place.kind, path }
}

/** Throws: the schema at this place says something that a CRD schema has no words for. */
export function refuse(place: Place, what: string, advice?: string): never {
  const said = `Cannot define resource "${place.kind}": ${place.path} is ${what}, which a CRD schema cannot express`
  throw new TypeError(advice ? `${said}; ${advice}` : said)
}
