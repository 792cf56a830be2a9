/**
 * Decides whether a Namespace belongs to a selection by labels, without I/O. To the watch, a Namespace that has lost
 * the labels is the same as a deleted one, so the server is asked which it was: only a deletion deletes its objects.
 */

/**
 * `out`: not selected. `in`: selected. `doubted`: it is missing in the watch, and the server is asked whether it
 * exists. `deleted`: it was deleted, and the deletions of its objects may not have been reported.
 */
export type NamespacePhase = 'out' | 'in' | 'doubted' | 'deleted'

/**
 * `seen`: the watch has it. `missed`: the watch has it no longer. `exists`, `gone`: the answers of the server.
 * `reported`: the deletions of its objects were reported.
 */
export type NamespaceInput = 'seen' | 'missed' | 'exists' | 'gone' | 'reported'

/**
 * What to do on the way to a phase. `join`: begin to watch its objects. `ask`: ask the server whether it exists.
 * `report`: wait for the deletions of its objects. `leave`: end the watches, and drop the keys. `end`: end the watches.
 */
export type NamespaceEffect = 'join' | 'ask' | 'report' | 'leave' | 'end'

type Row = { readonly [input in NamespaceInput]?: readonly [NamespacePhase, NamespaceEffect?] }

// An input that a row lacks changes nothing: it answers a question of an earlier phase.
const TABLE: Readonly<Record<NamespacePhase, Row>> = {
  out: { seen: ['in', 'join'] },
  in: { missed: ['doubted', 'ask'] },
  doubted: { seen: ['in'], exists: ['out', 'leave'], gone: ['deleted', 'report'] },
  // A Namespace of the same name was created: the watches of its objects go on.
  deleted: { seen: ['in'], reported: ['out', 'end'] },
}

/** Returns the next phase, and what to do on the way. */
export function namespaceStep(
  phase: NamespacePhase,
  input: NamespaceInput,
): readonly [NamespacePhase, NamespaceEffect?] {
  return TABLE[phase][input] ?? [phase]
}
