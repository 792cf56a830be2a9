/** Cases of verbs: lists, watches, writes and their errors. */
import type { Case } from './api.ts'
import { casesOf } from './transcript.ts'
import { APPLY_SCRIPTS } from './verbs_applies.ts'
import { FOUND_SCRIPTS } from './verbs_found.ts'
import { KIND_SCRIPTS } from './verbs_kinds.ts'
import { LIST_SCRIPTS } from './verbs_lists.ts'
import { PATCH_SCRIPTS } from './verbs_patches.ts'
import { RATCHETING_SCRIPTS } from './verbs_ratcheting.ts'
import { WRITE_SCRIPTS } from './verbs_writes.ts'

export const VERB_CASES: readonly Case[] = [
  ...casesOf('verbs_lists', LIST_SCRIPTS),
  ...casesOf('verbs_writes', WRITE_SCRIPTS),
  ...casesOf('verbs_patches', PATCH_SCRIPTS),
  ...casesOf('verbs_applies', APPLY_SCRIPTS),
  ...casesOf('verbs_found', FOUND_SCRIPTS),
  ...casesOf('verbs_ratcheting', RATCHETING_SCRIPTS),
  ...casesOf('verbs_kinds', KIND_SCRIPTS),
]
