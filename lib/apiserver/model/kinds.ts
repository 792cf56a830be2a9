/** Describes the served kinds. */
import type { ApiObject, JsonObject } from './json.ts'
import type { NameRule } from './names.ts'
import type { Schema } from './schema.ts'
import type { Cause } from './status.ts'
import type { Column } from './columns.ts'
import type { Rights } from './rights.ts'
import type { Attributes } from './attributes.ts'

/** A kind at one version. */
export interface Kind {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  /** `group/version`, or `version` in the core group. */
  readonly apiVersion: string
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
  /** The verbs of the objects, in the order of discovery. */
  readonly verbs: readonly string[]
  /** In the order of discovery. */
  readonly subresources: readonly Subresource[]
  /** Whether /status exists. If so, only /status writes `status`, and the main resource writes the rest. */
  readonly status: boolean
  readonly scale: ScalePaths | undefined
  /** Whether a CustomResourceDefinition defines the kind. */
  readonly custom: boolean
  /** What of the definition ends watches when it changes. */
  readonly origin?: JsonObject
  /** Whether objects are stored. If not, the server only answers requests: reviews, bindings, component statuses. */
  readonly stored: boolean
  /** Shared by all versions of a kind. */
  readonly storage: Storage
  readonly rules: Rules
  readonly columns: readonly Column[] | undefined
  /** Returns the conditions of an object's row in a table. */
  readonly rowConditions?: (object: ApiObject) => JsonObject[]
  /** The warning in each response, for a deprecated version. */
  readonly deprecation?: string
}

/** A path below an object, such as /status. */
export interface Subresource {
  readonly name: string
  /** The kind of its bodies. */
  readonly kind: string
  /** The group and version of that kind. Default: those of the object. */
  readonly group?: string
  readonly version?: string
  /** In the order of discovery. */
  readonly verbs: readonly string[]
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
  /** Path of a label selector object, of its text form (custom kinds), or of a map of labels. */
  readonly selector: readonly string[] | undefined
}

/** The behaviour of a kind that differs between kinds. */
export interface Rules {
  readonly nameRule: NameRule
  /** Why objects cannot be created, if so. */
  readonly noCreate?: string
  /** Whether `metadata.generation` counts changes outside metadata and status. */
  readonly generation: boolean
  /** Whether it counts changes of the annotations too. */
  readonly generationCountsAnnotations?: boolean
  /** The same for labels. */
  readonly generationCountsLabels?: boolean
  /** Whether PUT creates a missing object. */
  readonly createOnUpdate: boolean
  /** Whether PUT without a resourceVersion overwrites the object. */
  readonly unconditionalUpdate: boolean
  /** Whether a create keeps the given status. Default: the status of a new object is empty. */
  readonly keepsStatus?: boolean
  /** The field of the metadata that /status leaves unchanged. */
  readonly statusKeeps?: 'labels' | 'ownerReferences'
  /** Sets the default values, in place. */
  readonly defaults?: (object: ApiObject) => void
  /** Sets the fields that only the server controls, in place. */
  readonly prepareCreate?: (object: ApiObject, context: PrepareContext) => void
  readonly prepareUpdate?: (object: ApiObject, old: ApiObject, context: PrepareContext) => void
  readonly prepareStatus?: (object: ApiObject, old: ApiObject, context: PrepareContext) => void
  /** Suspends a write whose rules need code that is not loaded. Called before anything else of the write. */
  readonly prepareRules?: (object: ApiObject) => void
  readonly validate?: (object: ApiObject, old: ApiObject | undefined) => readonly Cause[]
  /** Returns the warnings of a valid object, in the response. `old`: before an update. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => readonly string[]
  readonly validateStatus?: (object: ApiObject, old: ApiObject) => readonly Cause[]
  /** The rules of subresources, other than /status, that write a part of the object. */
  readonly parts?: Readonly<Record<string, PartRules>>
  /** Throws 403 if the user of a request lacks a right that the object requires. Called if rights are checked. */
  readonly guard?: (write: GuardedWrite, rights: Rights) => void
  /** Marks an object at the start of its deletion, in place, so that it stays until its contents are deleted. */
  readonly beginDelete?: (object: ApiObject, nowIso: string) => void
  /** Returns whether an object in deletion stays although its metadata has no finalizers. */
  readonly isHeld?: (object: ApiObject) => boolean
  /** Whether the answer to a deletion is the deleted object, and not a Status. */
  readonly returnsDeleted?: boolean
  /** Whether a deletion that states no propagation policy keeps the dependents. */
  readonly keepsDependents?: boolean
  /** The warnings of such a deletion. */
  readonly deleteWarnings?: readonly string[]
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

/** The inputs of prepareCreate and prepareUpdate. */
export interface PrepareContext {
  random(): number
  nowIso(): string
  /** Returns a stored object by the id of its storage and its key (`namespace/name`, or `name`). */
  find(storage: string, key: string): ApiObject | undefined
  /** Returns all stored objects of a storage. */
  all(storage: string): readonly ApiObject[]
  /** The caller. */
  readonly user: JsonObject
}

/** The rules of a subresource that writes a part of an object. */
export interface PartRules {
  /** Restores what the subresource does not write, in place. */
  readonly prepare: (object: ApiObject, old: ApiObject, context: PrepareContext) => void
  readonly validate: (object: ApiObject, old: ApiObject) => readonly Cause[]
}

/** A write whose user may need a right for its content. */
export interface GuardedWrite {
  readonly object: ApiObject
  /** Undefined for a creation. */
  readonly old: ApiObject | undefined
  readonly subresource: string
  /** What the request does. */
  readonly request: Attributes
}
