/** Describes the served kinds and finds them by URL. */
import type { ApiObject } from './json.ts'
import type { NameRule } from './storage/names.ts'
import type { Schema } from './schema/schema.ts'
import type { Cause } from './http/status.ts'
import type { Column } from './table.ts'

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
  /** The schema's name in OpenAPI documents, such as `apps.v1.Deployment`; for custom kinds, built from the group. */
  readonly definition: string
  /** Whether /status exists. If so, only /status writes `status`, and the main resource writes the rest. */
  readonly status: boolean
  readonly scale: ScalePaths | undefined
  /** Whether a CustomResourceDefinition defines the kind. */
  readonly custom: boolean
  /** Shared by all versions of a kind. */
  readonly storage: Storage
  readonly rules: Rules
  readonly columns: readonly Column[] | undefined
}

/** Where the objects of a kind are stored, for all its served versions. */
interface Storage {
  /** `plural.group`, or `plural`. */
  readonly id: string
  readonly apiVersion: string
  readonly kind: string
}

/** The fields that /scale reads and writes. */
export interface ScalePaths {
  readonly specReplicas: readonly string[]
  readonly statusReplicas: readonly string[]
  /** Path of a label selector object, or of its text form (custom kinds). */
  readonly selector: readonly string[] | undefined
}

/** The behaviour of a kind that differs between kinds. */
export interface Rules {
  readonly nameRule: NameRule
  /** Whether `metadata.generation` counts changes outside metadata and status. */
  readonly generation: boolean
  /** Whether PUT creates a missing object. */
  readonly createOnUpdate: boolean
  /** Whether PUT without a resourceVersion overwrites the object. */
  readonly unconditionalUpdate: boolean
  /** Whether /status leaves labels unchanged. */
  readonly statusKeepsLabels?: boolean
  /** Sets the default values, in place. */
  readonly defaults?: (object: ApiObject) => void
  /** Sets the fields that only the server controls, in place. */
  readonly prepareCreate?: (object: ApiObject, context: PrepareContext) => void
  readonly prepareUpdate?: (object: ApiObject, old: ApiObject) => void
  readonly prepareStatus?: (object: ApiObject, old: ApiObject) => void
  readonly validate?: (object: ApiObject, old: ApiObject | undefined) => readonly Cause[]
  readonly validateStatus?: (object: ApiObject, old: ApiObject) => readonly Cause[]
  /** Marks an object at the start of its deletion, in place, so that it stays until its contents are deleted. */
  readonly beginDelete?: (object: ApiObject, nowIso: string) => void
  /** Returns the grace period of a deletion in seconds; 0 deletes at once. */
  readonly gracePeriod?: (object: ApiObject, requested: number | undefined) => number
  /** Returns the fields for field selectors, in addition to metadata.name and metadata.namespace. */
  readonly fields?: (object: ApiObject) => Readonly<Record<string, string>>
  /** Convert to and from the storage version, for kinds whose versions differ in more than apiVersion. */
  readonly toStored?: (object: ApiObject) => ApiObject
  readonly fromStored?: (object: ApiObject) => ApiObject
  /** Converts objects by the conversion webhook, for kinds that have one. */
  readonly convert?: (objects: readonly ApiObject[], apiVersion: string) => Promise<readonly ApiObject[]>
  /** Converts stored objects together, before `fromStored` is called for each of them. */
  readonly prepare?: (stored: readonly ApiObject[]) => void
}

/** The inputs of prepareCreate. */
export interface PrepareContext {
  random(): number
  nowIso(): string
}

export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group ? `${group}/${version}` : version
}

/** The served kinds by URL. */
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

  /** Returns the kinds of a group and version; empty if it is not served. */
  of(group: string, version: string): readonly Kind[] {
    return this.all().filter((kind) => kind.group === group && kind.version === version)
  }

  /** Returns one kind per storage, at the storage version if it is served. */
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
