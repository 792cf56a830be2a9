export interface ReportedTest {
  /** With the names of the suites around it before it, joined by ` > `. */
  readonly name: string
  readonly result: 'passed' | 'failed' | 'skipped'
  /** 0 when the runtime does not say. */
  readonly line: number
  /** Why it was skipped; Node alone says it. */
  readonly reason: string | undefined
}

export function readReport(xml: string): ReportedTest[]
