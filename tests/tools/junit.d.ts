export interface ReportedTest {
  /** The names of its suites and its own, joined by ` > `. */
  readonly name: string
  /** Undefined if the runtime does not report it. */
  readonly file: string | undefined
  readonly result: 'passed' | 'failed' | 'skipped'
  /** The reason of a skip. Only Node reports it. */
  readonly reason: string | undefined
}

export function readReport(xml: string): ReportedTest[]
