/** All cases of the client. */
import type { Case } from './case_bench.ts'
import { CLIENT_CASES } from './client_cases.ts'
import { DRAFT_CASES } from './draft_cases.ts'
import { LIST_CASES } from './list_cases.ts'
import { STATUS_CASES } from './status_cases.ts'
import { SUBRESOURCE_CASES } from './subresource_cases.ts'
import { VERB_CASES } from './verb_cases.ts'
import { WRAPPER_CASES } from './wrapper_cases.ts'

export const CASES: readonly Case[] = [
  ...CLIENT_CASES,
  ...LIST_CASES,
  ...DRAFT_CASES,
  ...STATUS_CASES,
  ...SUBRESOURCE_CASES,
  ...VERB_CASES,
  ...WRAPPER_CASES,
]
