/** Cases of users, reviews, rights, and subresources. */
import { CERTIFICATE_CASES } from './access/certificates.ts'
import { ESCALATION_CASES } from './access/escalation.ts'
import { EVICTION_CASES } from './access/evictions.ts'
import { IMPERSONATION_CASES } from './access/impersonation.ts'
import { POD_CASES } from './access/pods.ts'
import { REVIEW_CASES } from './access/reviews.ts'
import { ACCESS_WEBHOOK_CASES } from './access/webhooks.ts'
import { RIGHT_CASES } from './access/rights.ts'
import { TOKEN_CASES } from './access/tokens.ts'
import type { Case } from './api.ts'
import { casesOf } from './transcript.ts'

export const ACCESS_CASES: readonly Case[] = casesOf('access', [
  ...REVIEW_CASES,
  ...IMPERSONATION_CASES,
  ...RIGHT_CASES,
  ...ESCALATION_CASES,
  ...TOKEN_CASES,
  ...EVICTION_CASES,
  ...POD_CASES,
  ...CERTIFICATE_CASES,
  ...ACCESS_WEBHOOK_CASES,
])
