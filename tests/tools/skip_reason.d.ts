import type { ReportedTest } from './junit.js'

/** Undefined if the source does not skip the test. */
export function skipReason(
  test: Pick<ReportedTest, 'name' | 'line'>,
  source: string,
  others: readonly string[],
): string | undefined
