/** Cases of verbs: lists, watches, writes and their errors. */
import type { Case } from './api.ts'
import { type Script, scriptCase } from './transcript.ts'
import { APPLY_SCRIPTS } from './verbs_applies.ts'
import { DECODING_SCRIPTS } from './verbs_decoding.ts'
import { DELETE_SCRIPTS } from './verbs_deletes.ts'
import { FOUND_SCRIPTS } from './verbs_found.ts'
import { KIND_SCRIPTS } from './verbs_kinds.ts'
import { LIST_SCRIPTS } from './verbs_lists.ts'
import { PATCH_SCRIPTS } from './verbs_patches.ts'
import { RATCHETING_SCRIPTS } from './verbs_ratcheting.ts'
import { WATCH_SCRIPTS } from './verbs_watches.ts'
import { WRITE_SCRIPTS } from './verbs_writes.ts'

const SCRIPTS: readonly Script[] = [
  ...LIST_SCRIPTS,
  ...WRITE_SCRIPTS,
  ...DECODING_SCRIPTS,
  ...PATCH_SCRIPTS,
  ...DELETE_SCRIPTS,
  ...APPLY_SCRIPTS,
  ...WATCH_SCRIPTS,
  ...FOUND_SCRIPTS,
  ...RATCHETING_SCRIPTS,
  ...KIND_SCRIPTS,
]

export const VERB_CASES: readonly Case[] = SCRIPTS.map(scriptCase)
