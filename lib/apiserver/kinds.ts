/** What the server knows about a kind that it serves, and how kinds are found by their URLs. */
import type { ApiObject } from './json.ts'
import type { NameRule } from './storage/names.ts'
import type { Schema } from './schema/schema.ts'
import type { Cause } from './http/status.ts'
import type { Column } from './table/columns.ts'

/** A kind at one version. */
export interface Kind {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  readonly schema: Schema
  /** The name of the schema's definition in OpenAPI documents: `apps.v1.Deployment`, or made from the group for custom kinds. */
  readonly definition: string
  /** Whether /status exists: then it alone writes `status`, and the main resource writes everything else. */
  readonly status: boolean
  readonly scale: ScalePaths | undefined
  /** Made by a CustomResourceDefinition. */
  readonly custom: boolean
  /** Where objects are kept: versions of a kind share it. */
  readonly storage: Storage
  readonly rules: Rules
  readonly columns: readonly Column[] | undefined
}

/** Where the objects of a kind are kept, whatever version they are served at. */
export interface Storage {
  /** `plural.group`, or `plural`. */
  readonly id: string
  readonly apiVersion: string
  readonly kind: string
}

/** Where /scale finds its numbers. */
export interface ScalePaths {
  readonly specReplicas: readonly string[]
  readonly statusReplicas: readonly string[]
  /** A path to a label selector, or to its text (custom kinds). */
  readonly selector: readonly string[] | undefined
}

/** How a kind differs from the ordinary. */
export interface Rules {
  readonly nameRule: NameRule
  /** Whether `metadata.generation` counts changes of what is neither metadata nor status. */
  readonly generation: boolean
  /** A PUT of an object that does not exist makes it. */
  readonly createOnUpdate: boolean
  /** A PUT without a resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean
  /** A write to /status does not change labels either. */
  readonly statusKeepsLabels?: boolean
  /** Fills in what the object leaves out, in place. */
  readonly defaults?: (object: ApiObject) => void
  /** Decides fields that the client has no say in, in place. */
  readonly prepareCreate?: (object: ApiObject, context: PrepareContext) => void
  readonly prepareUpdate?: (object: ApiObject, old: ApiObject) => void
  readonly prepareStatus?: (object: ApiObject, old: ApiObject) => void
  readonly validate?: (object: ApiObject, old: ApiObject | undefined) => readonly Cause[]
  readonly validateStatus?: (object: ApiObject, old: ApiObject) => readonly Cause[]
  /** Marks an object whose deletion begins, in place, for what must be done before it goes. */
  readonly beginDelete?: (object: ApiObject, nowIso: string) => void
  /** The seconds a deletion waits for, by the object and the request; 0 is at once. */
  readonly gracePeriod?: (object: ApiObject, requested: number | undefined) => number
  /** The fields beside metadata.name and metadata.namespace that a field selector may name. */
  readonly fields?: (object: ApiObject) => Readonly<Record<string, string>>
  /** Between this version's form and the stored one, for kinds whose versions differ in more than their name. */
  readonly toStored?: (object: ApiObject) => ApiObject
  readonly fromStored?: (object: ApiObject) => ApiObject
}

/** What prepareCreate may draw on. */
export interface PrepareContext {
  random(): number
  nowIso(): string
}

export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group ? `${group}/${version}` : version
}

/** The kinds that are served, by URL. */
export class Kinds {
  readonly #byResource = new Map<string, Kind>()

  set(kind: Kind): void {
    this.#byResource.set(keyOf(kind.group, kind.version, kind.plural), kind)
  }

  delete(kind: Kind): void {
    this.#byResource.delete(keyOf(kind.group, kind.version, kind.plural))
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.#byResource.get(keyOf(group, version, plural))
  }

  all(): readonly Kind[] {
    return [...this.#byResource.values()]
  }

  /** The kinds of a group and version; empty when there is no such group or version. */
  of(group: string, version: string): readonly Kind[] {
    return this.all().filter((kind) => kind.group === group && kind.version === version)
  }

  /** The kinds at their storage version, once for each storage. */
  stored(): readonly Kind[] {
    const byStorage = new Map<string, Kind>()
    for (const kind of this.all()) {
      if (apiVersionOf(kind) === kind.storage.apiVersion || !byStorage.has(kind.storage.id)) {
        byStorage.set(kind.storage.id, kind)
      }
    }
    return [...byStorage.values()]
  }
}

function keyOf(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`
}
