/** What kubeloop's own commands and test worlds use of the embedded API. */
import type { HttpResponse } from '../core/transport.ts'
import { faultsOfVersions, objectCheckOf } from './crd/offline_check.ts'
import { type Json, type JsonObject, newUid } from './model/json.ts'
import { jsonPatch } from './patch/json_patch.ts'
import { answerJson } from './wire/respond.ts'

/** Parts of the server without a server. They may change in any release. */
export interface Internals {
  answerJson(status: number, text: string, warnings: readonly string[]): HttpResponse
  /** Resolves with what a server would refuse in the versions of a new definition. */
  faultsOfVersions(spec: JsonObject): Promise<readonly { readonly field: string; readonly message: string }[]>
  /** Applies a JSON Patch to a copy of a document. */
  jsonPatch(document: Json, patch: Json): Json
  newUid(random: () => number): string
  /** Resolves with a function that returns what is wrong with an object, by a version of a definition. */
  objectCheckOf(version: JsonObject): Promise<(object: JsonObject) => readonly string[]>
}

/** What kubeloop's own commands and test worlds use. */
export const internals: Internals = { answerJson, faultsOfVersions, jsonPatch, newUid, objectCheckOf }
