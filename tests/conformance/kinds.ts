/** Cases of built-in kinds. */
import type { Case } from './api.ts'
import { casesOf } from './kinds/recorded.ts'
import { SCENARIOS } from './kinds/scenarios.ts'

export const KIND_CASES: readonly Case[] = casesOf(SCENARIOS)
