/** Patches as they are sent. */
import type { Patch } from './client.ts'
import type { PatchType } from './requests.ts'

/**
 * The format and body of a patch. A version is put into what the patch makes of the object: the server compares it with what
 * it has, as it does for an update, and answers Conflict. (A `test` operation would fail as Invalid.)
 */
export function patchBody(patch: Patch, resourceVersion?: string): readonly [PatchType, unknown] {
  if ('json' in patch) {
    const atVersion = { op: 'add', path: '/metadata/resourceVersion', value: resourceVersion }
    return ['json', resourceVersion === undefined ? patch.json : [...patch.json, atVersion]]
  }
  const [type, body] = 'merge' in patch ? (['merge', patch.merge] as const) : (['strategic', patch.strategic] as const)
  if (resourceVersion === undefined) return [type, body]
  const { metadata } = body as { readonly metadata?: object }
  return [type, { ...body, metadata: { ...metadata, resourceVersion } }]
}
