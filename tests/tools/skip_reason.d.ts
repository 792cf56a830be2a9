import type { ReportedTest } from './junit.js'

/** Undefined where the source skips nothing. */
export function skipReason(
  test: Pick<ReportedTest, 'name' | 'line'>,
  source: string,
  others: readonly string[],
): string | undefined
